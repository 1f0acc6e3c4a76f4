/* SPDX-License-Identifier: MIT
 *
 * What a load finds, runs and swaps: changes, and all that depends on them. */
#include "runtime/loader.h"

#include "solo.h"

static void test_first(void) {
  begin();
  calls("a.x", "error -32601");
  put("a.lua", "return { x = function() return 1 end }");
  put("b.lua", "return function() return 'b' end");
  const mrpc_report *report = stage_load(&S, false);
  ok(report->ok && report->generation == 1, "generation 1");
  ok(report->files == 2 && report->methods == 2, "two files, two methods");
  ok(report->fault_count == 0 && S.reports == 1, "one report, no fault");
  calls("a.x", "1");
  calls("b", "\"b\"");
  ok(!look() && generation() == 1, "nothing changed, nothing happens");
  ok(stage_load(&S, false)->files == 0 && S.reports == 2,
     "who asks for a reload gets a report all the same");
  stage_close(&S);
}

static void test_empty(void) {
  begin();
  const mrpc_report *report = stage_load(&S, false);
  ok(report->ok && report->generation == 1 && !report->methods,
     "an empty directory is a generation too");
  stage_close(&S);
}

static void test_change(void) {
  begin();
  put("a.lua", "local n = 0 return function() n = n + 1 return n end");
  put("b.lua", "return { v = function() return 1 end }");
  stage_load(&S, false);
  calls("a", "1");
  put("b.lua", "return { v = function() return 2 end, w = print }");
  ok(look(), "a change is loaded");
  const mrpc_report *report = mrpc_runtime_report(S.runtime);
  ok(report->ok && report->files == 1 && report->generation == 2 &&
         report->methods == 3,
     "one file, generation 2, three methods");
  calls("b.v", "2");
  calls("a", "2");
  put("b.lua", "return { v = function() return 2 end, w = print }");
  ok(!look() && generation() == 2, "a touch is no change");
  put("c.lua", "return { d = function() return 'd' end }");
  look();
  calls("c.d", "\"d\"");
  fake_remove(&S.f, "c.lua");
  look();
  calls("c.d", "error -32601");
  ok(generation() == 4, "a deletion makes a generation");
  calls("a", "3");
  stage_load(&S, true);
  calls("a", "1");
  ok(mrpc_runtime_report(S.runtime)->files == 2, "everything is everything");
  stage_close(&S);
}

static void test_dependents(void) {
  begin();
  put("_lib/base.lua", "return { v = 1 }");
  put("_lib/util.lua", "return { v = require('_lib.base').v * 10 }");
  put("a.lua",
      "local u = require '_lib.util' "
      "return { v = function() return u.v end }");
  put("b.lua", "local n = 0 return function() n = n + 1 return n end");
  put("c.lua", "local a = require 'a' return { v = a.v }");
  ok(stage_load(&S, false)->files == 5, "private files are loaded on demand");
  calls("a.v", "10");
  calls("b", "1");
  calls("_lib.base.v", "error -32601");
  put("_lib/base.lua", "return { v = 2 }");
  look();
  ok(mrpc_runtime_report(S.runtime)->files == 4, "all that depend on it");
  calls("a.v", "20");
  calls("c.v", "20");
  calls("b", "2");
  put("_lib/unused.lua", "return syntax error");
  ok(!look(), "a private file that nobody needs is no change");
  stage_close(&S);
}

static void test_sought(void) {
  begin();
  put("a.lua",
      "local found, m = pcall(require, '_opt') "
      "return function() return found and m or 'none' end");
  stage_load(&S, false);
  calls("a", "\"none\"");
  put("_opt.lua", "return 'there'");
  ok(look(), "a file that was sought in vain has come");
  calls("a", "\"there\"");
  fake_remove(&S.f, "_opt.lua");
  look();
  calls("a", "\"none\"");
  put("_opt/init.lua", "return 'init'");
  look();
  calls("a", "\"init\"");
  put("_opt.lua", "return 'before init'");
  look();
  calls("a", "\"before init\"");
  stage_close(&S);
}

static void test_in_flight(void) {
  begin();
  put("a.lua", "return function() rpc.sleep(1) return 'old' end");
  stage_load(&S, false);
  calls("a", "");
  put("a.lua", "return function() return 'new' end");
  look();
  calls("a", "\"new\"");
  stage_pass(&S, 2);
  const char *heard = stage_heard(&S);
  is_str(heard, "{\"jsonrpc\":\"2.0\",\"result\":\"old\",\"id\":1}",
         "a call that had begun ends on the old code");
  stage_close(&S);
}

static void test_resources(void) {
  begin();
  put("count.lua",
      "return function() local s = rpc.state('s') "
      "return { s.a, s.t, s.b } end");
  put("a.lua",
      "local s = rpc.state('s')\n"
      "rpc.every(1, function() s.a = (s.a or 0) + 1 end)\n"
      "rpc.spawn(function() while true do rpc.sleep(1) "
      "s.t = (s.t or 0) + 1 end end)");
  stage_load(&S, false);
  stage_pass(&S, 2.5);
  calls("count", "[2,2]");
  put("b.lua",
      "local s = rpc.state('s')\n"
      "rpc.every(1, function() s.b = 1 end) error('no')");
  look();
  stage_pass(&S, 2);
  calls("count", "[4,4]");
  fake_remove(&S.f, "b.lua");
  put("a.lua", "return nil");
  look();
  stage_pass(&S, 3);
  calls("count", "[4,4]");
  stage_close(&S);
}

static void test_environment(void) {
  begin();
  put("a.lua",
      "x = 1 _G.y = 2 string_of = tostring\n"
      "return function() return { x, y, _G.x, string_of(1) } end");
  put("b.lua",
      "return function() return { tostring(x), tostring(y), "
      "tostring(rpc ~= nil) } end");
  put("c.lua",
      "local name, path = ... return function() "
      "return { name, path } end");
  put("d/init.lua",
      "local name, path = ... return function() "
      "return { name, path } end");
  put("e.lua",
      "\xef\xbb\xbf#!/usr/bin/env lua\nreturn function() "
      "return debug.getinfo(1, 'l').currentline end");
  stage_load(&S, false);
  faults("", "no fault");
  calls("a", "[1,2,1,\"1\"]");
  calls("b", "[\"nil\",\"nil\",\"true\"]");
  calls("c", "[\"c\",\"c.lua\"]");
  calls("d", "[\"d\",\"d/init.lua\"]");
  calls("e", "2");
  stage_close(&S);
}

static void test_being_written(void) {
  begin();
  put("a.lua", "return function() return 1 end");
  stage_load(&S, false);
  fake_put(&S.f, "a.lua", "")->age = 0;
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 0.3);
  calls("a", "1");
  put("a.lua", "return function() return 2 end");
  stage_pass(&S, 0.1);
  calls("a", "2");
  ok(generation() == 2, "the empty file was never served");
  fake_put(&S.f, "a.lua", "")->age = 0;
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 1.2);
  calls("a", "error -32601");
  stage_close(&S);
}

static void test_source(void) {
  begin();
  put("a.lua", "return function() return 1 end");
  stage_load(&S, false);
  S.f.list_result = MRPC_ENOTFOUND;
  ok(look() && !mrpc_runtime_report(S.runtime)->ok, "the directory is gone");
  faults(".:0: the methods directory doesn't exist", "it is told");
  calls("a", "1");
  ok(!look(), "once");
  S.f.list_result = MRPC_OK;
  ok(look() && mrpc_runtime_report(S.runtime)->ok && generation() == 1,
     "it is back");
  put("b.lua", NULL);
  look();
  faults("b.lua:0: the file can't be read", "a file that can't be read");
  ok(!look(), "that is told once too");
  fake_find(&S.f, "b.lua")->text = "return nil";
  ok(look() && generation() == 2, "until it can be");
  stage_close(&S);
}

/* The source changes between listing and reading. */
static const char *changing[2] = {"return function() return 1 end",
                                  "return function() return 2 end"};
static int reads;

static int changing_read(void *ud, const char *path, mrpc_text_fn text,
                         void *to) {
  if (++reads == 2) {
    put("a.lua", changing[1]);
    put("b.lua", changing[1]);
  }
  return fake_read(ud, path, text, to);
}

static void test_moving(void) {
  begin();
  S.runtime->loader->tree.source.read = changing_read;
  reads = 0;
  put("a.lua", changing[0]);
  put("b.lua", changing[0]);
  stage_load(&S, false);
  ok(reads >= 4, "what changes while it is read is read again");
  calls("a", "2");
  calls("b", "2");
  stage_close(&S);
}

int main(void) {
  test_first();
  test_empty();
  test_change();
  test_dependents();
  test_sought();
  test_in_flight();
  test_resources();
  test_environment();
  test_being_written();
  test_source();
  test_moving();
  return tap_finish();
}
