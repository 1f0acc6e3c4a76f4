/* SPDX-License-Identifier: MIT
 *
 * What is wrong with files, each told with its place, while what served goes
 * on. */
#include "runtime/loader.h"

#include "solo.h"

static void test_faults(void) {
  begin();
  put("a.lua", "return { v = function() return 1 end }");
  put("b.lua", "return { v = function() return 1 end }");
  stage_load(&S, false);
  put("a.lua", "return { v = function() return 2 end }");
  put("b.lua", "local x = 1\nreturn {\n  v = = 2 }");
  ok(look(), "a failure is reported");
  ok(!mrpc_runtime_report(S.runtime)->ok && generation() == 1, "generation 1");
  faults("b.lua:3: unexpected symbol near '='", "file, line and message");
  calls("a.v", "1");
  calls("b.v", "1");
  ok(!look(), "what failed isn't tried again for nothing");
  ok(!stage_load(&S, false)->ok && S.reports == 3, "unless somebody asks");
  put("b.lua", "return { v = function() return 2 end }");
  look();
  calls("a.v", "2");
  calls("b.v", "2");
  ok(generation() == 2, "fixing the file is enough");
  put("b.lua", "local t = nil\n\nreturn t.x");
  look();
  faults("b.lua:3: attempt to index a nil value (local 't')", "runtime error");
  put("b.lua", "return { v = function() return 2 end }");
  ok(look() && mrpc_runtime_report(S.runtime)->ok && generation() == 2,
     "the old content is no new generation, but the fault is gone");
  stage_close(&S);
}

static void test_all_faults(void) {
  begin();
  put("_bad.lua", "\nerror('broken')");
  put("a.lua", "\n\nlocal x = require '_bad'");
  put("b.lua", "return");
  put("c.lua", "x =");
  put("d.lua", "error({ code = 7, message = 'object' })");
  put("e.lua", "\nerror('no place', 0)");
  put("f.lua", "\n\n\nreturn require 'nowhere'");
  put("g.lua", "pcall(require, '_bad')");
  put("h.lua", "local function f() error('deep') end\nf()");
  put("i.lua",
      "error(setmetatable({}, { __tostring = function() error() end }))");
  put("j.lua", "\033Lua");
  stage_load(&S, false);
  faults(
      "_bad.lua:2: broken\n"
      "c.lua:1: unexpected symbol near <eof>\n"
      "d.lua:0: object\n"
      "e.lua:2: no place\n"
      "f.lua:4: module 'nowhere' not found: it is neither a file in the "
      "methods directory nor on package.path or package.cpath\n"
      "h.lua:1: deep\n"
      "i.lua:1: a table value whose __tostring fails\n"
      "j.lua:0: attempt to load a binary chunk (mode is 't')",
      "all faults at once, each once");
  ok(generation() == 0, "generation 0");
  calls("b", "error -32601");
  stage_close(&S);
}

static void test_clashes(void) {
  begin();
  put("a.lua", "return {\n b = function() end }");
  put("a/b.lua", "return function() return 1 end");
  put("c.lua", "rpc.method('c.d', print)\nreturn { d = function() end }");
  put("rpc.lua", "return { x = function() end, y = {} }");
  put("init.lua", "return function() end");
  put("d.lua", "return { ['\\xff'] = function() end }");
  stage_load(&S, false);
  faults(
      "d.lua:1: a method's name isn't valid UTF-8\n"
      "init.lua:1: init.lua of the top directory can't be a method: it has "
      "no name\n"
      "rpc.lua:1: names that begin with 'rpc.' belong to the host",
      "names that can't be");
  fake_remove(&S.f, "d.lua");
  fake_remove(&S.f, "init.lua");
  fake_remove(&S.f, "rpc.lua");
  look();
  const char *text = stage_faults(mrpc_runtime_report(S.runtime));
  ok(strstr(text, "'a.b' is defined in a") && strstr(text, "'c.d' is defined"),
     "names that clash");
  fake_remove(&S.f, "a/b.lua");
  put("c.lua", "return nil");
  look();
  ok(generation() == 1, "loads without them");
  put("z.lua", "\nrpc.method('a.b', function() end)");
  look();
  faults("z.lua:2: 'a.b' is defined in a.lua:2 too", "the new one is told of");
  stage_close(&S);
}

static void native(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_call_reply(call, "1", 1);
}

static void test_native(void) {
  begin();
  mrpc_dispatch_add(S.dispatch, "a.b", native, NULL);
  put("a.lua", "return { b = function() return 2 end }");
  stage_load(&S, false);
  faults("a.lua:1: 'a.b' is defined by the host too", "a native name");
  stage_close(&S);
}

static void test_cycle(void) {
  begin();
  put("a.lua", "local b = require 'b'");
  put("b.lua", "\nlocal c = require 'c'");
  put("c.lua", "\n\nlocal a = require 'a'");
  put("d.lua", "require 'd'");
  stage_load(&S, false);
  faults(
      "c.lua:3: files require each other: c.lua -> a.lua -> b.lua -> c.lua\n"
      "d.lua:1: files require each other: d.lua -> d.lua",
      "cycles name the chain");
  stage_close(&S);
}

static void test_strict(void) {
  S = (stage){.strict = true};
  if (stage_open(&S, NULL)) abort();
  put("a.lua", "return nil");
  put("_unused.lua", "error 'never run'");
  put("_lib/broken.lua", "\nreturn (");
  put("b.lua", "return x y");
  stage_load(&S, false);
  faults(
      "_lib/broken.lua:2: unexpected symbol near <eof>\n"
      "b.lua:1: <eof> expected near 'y'",
      "what nobody requires is compiled");
  stage_close(&S);
}

static void test_long_path(void) {
  static const char path[] =
      "a_directory_with_quite_a_long_name/and_another_one_below/it/file.lua";
  begin();
  put(path, "\n\nerror 'here'");
  put("a.lua", "x =");
  stage_load(&S, false);
  faults(
      "a.lua:1: unexpected symbol near <eof>\n"
      "a_directory_with_quite_a_long_name/and_another_one_below/it/file.lua"
      ":3: here",
      "a path that Lua shortens is told in full");
  put(path, "\n\n)");
  put("a.lua", "return nil");
  look();
  faults(
      "a_directory_with_quite_a_long_name/and_another_one_below/it/file.lua"
      ":3: unexpected symbol near ')'",
      "of a syntax error too");
  stage_close(&S);
}

static void test_foreign(void) {
  begin();
  put("data.lua", "return function() error('inst.lua:3: boo', 0) end");
  put("a.lua", "local f = require 'data'\n\nf()");
  stage_load(&S, false);
  faults("a.lua:3: inst.lua:3: boo",
         "a place elsewhere, and where we got there");
  stage_close(&S);
}

int main(void) {
  test_faults();
  test_all_faults();
  test_clashes();
  test_native();
  test_cycle();
  test_strict();
  test_long_path();
  test_foreign();
  return tap_finish();
}
