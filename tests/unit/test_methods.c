/* SPDX-License-Identifier: MIT */
#include "runtime/methods.h"

#include "runtime/loader.h"
#include "stage.h"

static stage S;

static void load(const char *path, const char *text) {
  if (S.runtime) stage_close(&S);
  S = (stage){0};
  if (stage_open(&S, NULL)) abort();
  fake_put(&S.f, path, text);
  stage_load(&S, false);
}

static const mrpc_lua_method *find(const char *name) {
  const mrpc_method *method =
      mrpc_dispatch_find(S.dispatch, name, strlen(name));
  return method ? method->ud : NULL;
}

static unsigned count(void) {
  return mrpc_runtime_report(S.runtime)->methods;
}

static void fault_is(const char *want, const char *name) {
  const char *got = stage_faults(mrpc_runtime_report(S.runtime));
  is_str(got, want, name);
}

static void test_prefix(void) {
  static const char *const cases[][2] = {
      {"a.lua", "a"},
      {"user/admin.lua", "user.admin"},
      {"user/init.lua", "user"},
      {"init.lua", ""},
      {"a/b/init.lua", "a.b"},
      {"my_init.lua", "my_init"},
      {"a.b.lua", "a.b"},
  };
  char out[64];
  size_t len;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int rc = mrpc_methods_prefix(cases[i][0], out, sizeof out, &len);
    ok(rc == MRPC_OK && len == strlen(cases[i][1]) &&
           strcmp(out, cases[i][1]) == 0,
       "%s gives '%s'", cases[i][0], cases[i][1]);
  }
  ok(mrpc_methods_prefix(".lua", out, sizeof out, &len) == MRPC_EINVAL,
     "a name is needed");
  ok(mrpc_methods_prefix("abc.lua", out, 3, &len) == MRPC_ELIMIT &&
         mrpc_methods_prefix("abc.lua", out, 4, &len) == MRPC_OK,
     "room is needed");
}

static void test_names(void) {
  load("user/admin.lua",
       "local t = { list = function() end, _hidden = function() end,\n"
       "  deep = { er = { f = function() end } }, n = 1, s = 'x',\n"
       "  [1] = function() end, [''] = function() end,\n"
       "  ['with space'] = function() end, ['a/b'] = print }\n"
       "t.self = t t.deep.up = t return t");
  ok(count() == 4, "four methods: %u", count());
  ok(find("user.admin.list") && find("user.admin.deep.er.f"), "functions");
  ok(find("user.admin.with space") && find("user.admin.a/b"), "any key");
  ok(!find("user.admin._hidden") && !find("user.admin._private"), "no _");
  load("user/init.lua", "return { x = print }");
  ok(find("user.x") && count() == 1, "init.lua takes its directory's name");
  load("init.lua", "return { x = print, user = { y = print } }");
  ok(find("x") && find("user.y") && count() == 2, "none at the top");
  load("ping.lua", "return function() end");
  ok(find("ping") && count() == 1, "a function is the method");
  load("a/init.lua", "return function() end");
  ok(find("a") && count() == 1, "in an init.lua too");
  load("_lib/x.lua", "return { f = print }");
  ok(count() == 0, "private files have none");
  load("a/_b/x.lua", "return { f = print }");
  ok(count() == 0, "below private directories either");
  load("_a.lua", "return 1");
  ok(mrpc_runtime_report(S.runtime)->ok, "private files return what they like");
  load("a.lua", "return 1");
  fault_is(
      "a.lua:1: a file must return a table, a function or nothing, not a "
      "number",
      "others don't");
  load("a.lua", "return true");
  fault_is(
      "a.lua:1: a file must return a table, a function or nothing, not a "
      "boolean",
      "whatever it is");
  load("a.lua", "");
  ok(mrpc_runtime_report(S.runtime)->ok && count() == 0, "nothing is, too");
}

static void test_declared(void) {
  load("a.lua", "\nrpc.method('', print)");
  fault_is("a.lua:2: a method's name must not be empty", "a name is needed");
  load("a.lua",
       "rpc.method('tools/call', function(name) end)\n"
       "rpc.method('eth_blockNumber', print)\n"
       "return { b = function() end }");
  ok(find("tools/call") && find("eth_blockNumber") && find("a.b"), "declared");
  ok(find("tools/call")->line == 1 && find("a.b")->line == 3, "lines");
  load("a.lua", "rpc.method('rpc.x', print)");
  fault_is("a.lua:1: names that begin with 'rpc.' belong to the host",
           "not the host's names");
  load("a.lua", "\nrpc.method('x')");
  fault_is(
      "a.lua:2: bad argument #2 to 'method' (function expected, got no "
      "value)",
      "a function is needed");
  load("a.lua", "return function() rpc.method('late', print) end");
  is_str(stage_call(&S, "a"), "error -32603", "not in a call");
  ok(!find("late"), "then nothing is declared");
}

static void test_params(void) {
  load("a.lua",
       "return { two = function(minuend, subtrahend) local x end,\n"
       "  none = function() end, any = function(...) end,\n"
       "  some = function(a, ...) end, whole = function(params) end,\n"
       "  more = function(params, x) end, native = math.max }");
  const mrpc_lua_method *m = find("a.two");
  ok(m->param_count == 2 && !m->is_vararg && !m->takes_params, "two");
  is_str(m->params[0], "minuend", "the first");
  is_str(m->params[1], "subtrahend", "the second");
  ok(find("a.none")->param_count == 0 && !find("a.none")->is_vararg, "none");
  ok(find("a.any")->is_vararg && find("a.some")->param_count == 1, "varargs");
  ok(find("a.whole")->takes_params && !find("a.more")->takes_params,
     "a lone `params` is the whole structure");
  ok(find("a.native")->is_vararg, "a C function takes what comes");
  ok(m->generation == 1 && m->base.start == mrpc_lua_method_start,
     "it knows its generation");
}

static void test_limits(void) {
  load("a.lua",
       "local t = {} for i = 1, 16 do t = { a = t, b = t } end\n"
       "for i = 1, 1000 do t.a.a.a.a['f' .. i] = print end return t");
  const char *text = stage_faults(mrpc_runtime_report(S.runtime));
  ok(strstr(text, "nested too deep"), "depth: %.40s", text);
  load("a.lua",
       "local t = {} for i = 1, 1000 do t['f' .. i] = print end\n"
       "for i = 1, 12 do t = { a = t, b = t } end return t");
  fault_is("a.lua:0: more than 10000 methods", "count");
  load("a.lua", "return { [('x'):rep(600)] = print }");
  fault_is("a.lua:0: a method's name is too long", "length");
  load("a.lua",
       "return setmetatable({ x = print }, { __pairs = error, "
       "__index = error })");
  ok(find("a.x") != NULL, "no metamethod is asked");
}

int main(void) {
  test_prefix();
  test_names();
  test_declared();
  test_params();
  test_limits();
  stage_close(&S);
  return tap_finish();
}
