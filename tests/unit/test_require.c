/* SPDX-License-Identifier: MIT */
#include "runtime/require.h"

#include <unistd.h>

#include "oom.h"
#include "runtime/loader.h"
#include "solo.h"

static void test_order(void) {
  begin();
  put("string.lua", "return { upper = function() return 'mine' end }");
  put("rpc.lua", "return nil");
  put("cjson.lua", "return nil");
  put("user/admin.lua", "return { v = 'admin' }");
  put("user/init.lua", "return { v = 'user' }");
  put("both.lua", "return { v = 'file' }");
  put("both/init.lua", "return { w = 'init' }");
  put("nothing.lua", "local x = 1");
  put("_no.lua", "return false");
  put("a.lua",
      "return function() return { require('string').upper('a'), "
      "require('rpc') == rpc, require('cjson').null == rpc.null, "
      "require('user.admin').v, require('user').v, require('both').v, "
      "require('nothing'), require('_no'), require('user/admin').v } end");
  stage_load(&S, false);
  faults("", "no faults");
  calls("a",
        "[\"A\",true,true,\"admin\",\"user\",\"file\",true,false,"
        "\"admin\"]");
  stage_close(&S);
}

static void test_identity(void) {
  begin();
  put("_m.lua", "return {}");
  put("a.lua",
      "local m = require '_m' return function() "
      "return m == require '_m' end");
  put("b.lua",
      "local m = require '_m' local n = require '_m' "
      "return function() return m == n end");
  stage_load(&S, false);
  calls("a", "true");
  calls("b", "true");
  ok(mrpc_runtime_report(S.runtime)->files == 3, "it was run once");
  stage_close(&S);
}

static void test_names(void) {
  begin();
  put("a.lua",
      "local function try(...) return (pcall(require, ...)) end\n"
      "return function() return { try(''), try('..'), try('a.lua'), "
      "try('/etc/passwd'), try('../a'), try(('x'):rep(5000)), try('a\\0b'), "
      "try({}), try() } end");
  stage_load(&S, false);
  calls("a", "[false,false,false,false,false,false,false,false,false]");
  stage_close(&S);
}

static void test_demand(void) {
  begin();
  put("_lazy.lua",
      "local n = 0 rpc.sleep(1) return { next = function() "
      "n = n + 1 return n end }");
  put("a.lua", "return function() return require('_lazy').next() end");
  put("b.lua", "return {}");
  const mrpc_report *report = stage_load(&S, false);
  ok(report->files == 2, "a file that only calls require isn't loaded");
  calls("a", "");
  calls("a", "");
  stage_pass(&S, 1.1);
  const char *heard = stage_heard(&S);
  ok(strstr(heard, "\"result\":1") && strstr(heard, "\"result\":2"),
     "two calls that require it wait for one loading");
  calls("a", "3");
  put("b.lua", "return { }");
  stage_load(&S, false);
  calls("a", "4");
  put("_lazy.lua", "error 'no'");
  ok(!stage_load(&S, false)->ok, "once loaded it is part of the generation");
  faults("_lazy.lua:1: no", "with its faults");
  calls("a", "5");
  put("_lazy.lua", "return { next = function() return 'new' end }");
  ok(stage_load(&S, false)->files == 2, "and who required it depends on it");
  calls("a", "\"new\"");
  stage_close(&S);
}

static void test_demand_fails(void) {
  begin();
  put("_bad.lua", "\nerror 'broken'");
  put("_slow.lua", "rpc.sleep(1) error 'late'");
  put("_syntax.lua", "return (");
  put("_cycle.lua", "return require '_cycle'");
  put("_declares.lua", "rpc.method('late', print)");
  put("a.lua",
      "return { call = function(params) local ok, e = pcall(require, "
      "params[1]) return e end }");
  stage_load(&S, false);
  static const char *const cases[][2] = {
      {"_bad", "module '_bad' can't be loaded: _bad.lua:2: broken"},
      {"_slow", "module '_slow' can't be loaded: _slow.lua:1: late"},
      {"_syntax",
       "module '_syntax' can't be loaded: _syntax.lua:1: "
       "unexpected symbol near <eof>"},
      {"_cycle",
       "module '_cycle' can't be loaded: _cycle.lua:1: files "
       "require each other: _cycle.lua -> _cycle.lua"},
      {"_declares",
       "module '_declares' can't be loaded: _declares.lua:1: "
       "methods are declared while a file is loaded"},
      {"_nowhere",
       "module '_nowhere' not found: it is neither a file in the "
       "methods directory nor on package.path or package.cpath"},
  };
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      char text[256];
      snprintf(text, sizeof text,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a.call\","
               "\"params\":[\"%s\"]}",
               cases[i][0]);
      stage_say(&S, text);
      stage_pass(&S, 1.1);
      const char *heard = stage_heard(&S);
      ok(strstr(heard, cases[i][1]) != NULL, "%s", cases[i][0]);
    }
  ok(mrpc_runtime_report(S.runtime)->ok, "no report changes");
  put("_bad.lua", "return 'good'");
  ok(mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES) == MRPC_OK &&
         stage_settle(&S) == 0,
     "it is mended");
  stage_say(&S,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a.call\","
            "\"params\":[\"_bad\"]}");
  ok(strstr(stage_heard(&S), "\"good\"") != NULL, "and can be required");
  stage_close(&S);
}

/* A swap comes while a call loads a file for the generation that goes. */
static void test_demand_across(void) {
  begin();
  put("_base.lua", "return 1");
  put("_lazy.lua", "local b = require '_base' rpc.sleep(1) return b");
  put("a.lua",
      "local b = require '_base' return function() "
      "return require '_lazy' * 10 + b end");
  stage_load(&S, false);
  calls("a", "");
  stage_pass(&S, 0.5);
  put("_base.lua", "return 2");
  ok(stage_load(&S, false)->ok, "a swap while a call loads a file");
  stage_pass(&S, 0.6);
  ok(strstr(stage_heard(&S), "\"result\":11"), "the call ends on old code");
  calls("a", "");
  stage_pass(&S, 1.1);
  ok(strstr(stage_heard(&S), "\"result\":22"), "the next one is all new");
  stage_close(&S);
}

static void test_unneeded(void) {
  begin();
  put("_lib.lua",
      "local s = rpc.state('s') rpc.every(1, function() "
      "s.n = (s.n or 0) + 1 end) return 1");
  put("a.lua",
      "local l = require '_lib' return function() "
      "return rpc.state('s').n end");
  stage_load(&S, false);
  stage_pass(&S, 2.5);
  calls("a", "2");
  put("a.lua", "return function() return rpc.state('s').n end");
  stage_load(&S, false);
  stage_pass(&S, 3);
  calls("a", "2");
  put("_lib.lua", "return (");
  ok(stage_load(&S, false)->ok, "what nobody requires can't fail a load");
  stage_close(&S);
}

static void test_deep(void) {
  static char paths[60][24], texts[60][64];
  begin();
  for (int i = 0; i < 60; i++) {
    snprintf(paths[i], sizeof paths[i], "_m%d.lua", i);
    snprintf(texts[i], sizeof texts[i],
             i < 59 ? "return 1 + require '_m%d'" : "return 1", i + 1);
    put(paths[i], texts[i]);
  }
  put("a.lua", "local n = require '_m0' return function() return n end");
  ok(stage_load(&S, false)->ok, "a chain of 60 files");
  calls("a", "60");
  stage_close(&S);
}

static void test_in_coroutine(void) {
  begin();
  put("_slow.lua", "rpc.sleep(1) return 7");
  put("a.lua",
      "local v = coroutine.wrap(function() return require '_slow' "
      "end)() return function() return v end");
  put("b.lua",
      "local ok, e = pcall(table.sort, { 1, 2 }, function() "
      "require '_slow' end) return function() return e end");
  stage_load(&S, false);
  calls("a", "7");
  const char *said = stage_call(&S, "b");
  ok(strstr(said, "can't wait here"), "a C function between: %s", said);
  stage_close(&S);
}

/* Installed modules. */

static char dir[] = "/tmp/mrpc-require-XXXXXX";

static void install(const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, "w");
  if (!file) abort();
  fputs(text, file);
  fclose(file);
}

static void test_installed(void) {
  char path[256];
  if (!mkdtemp(dir)) abort();
  snprintf(path, sizeof path, "./?.lua;%s/?.lua;./x/?.lua", dir);
  setenv("LUA_PATH_5_4", path, 1);
  setenv("LUA_CPATH_5_4", "./?.so", 1);
  begin();
  unsetenv("LUA_PATH_5_4");
  unsetenv("LUA_CPATH_5_4");
  install("inst.lua",
          "local name, path = ... count = (count or 0) + 1 "
          "return { n = count, name = name, path = path }");
  install("waits.lua", "rpc.sleep(1) return 'waited'");
  install("nothing.lua", "");
  install("_shadowed.lua", "return 'installed'");
  install("fails.lua", "error 'installed badly'");
  put("_shadowed.lua", "return 'ours'");
  put("a.lua",
      "local i = require 'inst' return { x = function() return { i.n, i.name, "
      "require 'inst' == i, require 'nothing', require '_shadowed', "
      "package.loaded.inst == i, select('#', require 'inst'), tostring(count) "
      "} end, p = function() return { package.path:find('%./%?') == nil, "
      "package.path:find('/tmp', 1, true) ~= nil, package.cpath } end }");
  put("b.lua", "local w = require 'waits' return function() return w end");
  stage_load(&S, false);
  faults("", "no faults");
  calls("a.x", "[1,\"inst\",true,true,\"ours\",true,1,\"1\"]");
  calls("a.p", "[true,true,\"\"]");
  calls("b", "\"waited\"");
  stage_load(&S, true);
  calls("a.x", "[1,\"inst\",true,true,\"ours\",true,1,\"1\"]");
  put("c.lua", "\nlocal f = require 'fails'");
  stage_load(&S, false);
  const char *text = stage_faults(mrpc_runtime_report(S.runtime));
  ok(strncmp(text, "c.lua:2: ", 9) == 0 && strstr(text, "installed badly"),
     "the fault of an installed module stands where it is required: %s", text);
  stage_close(&S);
  char command[300];
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (system(command)) abort();
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  S = (stage){0};
  put("_lazy.lua", "rpc.sleep(1) return require '_more'");
  put("_more.lua", "return 5");
  put("_bad.lua", "error 'no'");
  put("a.lua",
      "return function() pcall(require, '_bad') "
      "return require '_lazy' end");
  if (stage_open(&S, &config) == MRPC_OK) {
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
    stage_call(&S, "a");
    stage_call(&S, "a");
    stage_pass(&S, 2);
  }
  stage_close(&S);
}

int main(void) {
  test_order();
  test_identity();
  test_names();
  test_demand();
  test_demand_fails();
  test_demand_across();
  test_unneeded();
  test_deep();
  test_in_coroutine();
  test_installed();
  oom_each("require", scenario, false);
  oom_each("require, all from one on", scenario, true);
  return tap_finish();
}
