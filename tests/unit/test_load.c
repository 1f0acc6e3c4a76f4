/* SPDX-License-Identifier: MIT */
#include "runtime/loader.h"

#include "oom.h"
#include "solo.h"

/* What a watcher asks for; false: no report came of it. */
static bool look(void) {
  unsigned before = S.reports;
  if (mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES) ||
      stage_settle(&S))
    ok(false, "the look ends");
  return S.reports > before;
}

static uint32_t generation(void) {
  return mrpc_runtime_report(S.runtime)->generation;
}

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

static void test_waits(void) {
  begin();
  put("_slow.lua", "rpc.sleep(1) return { v = 7 }");
  put("a.lua", "local s = require '_slow' return function() return s.v end");
  put("b.lua", "local s = require '_slow' return function() return s end");
  put("c.lua", "return function() return 1 end");
  uint64_t start = S.f.now;
  const mrpc_report *report = stage_load(&S, false);
  ok(report->ok && report->files == 4, "files may wait at their top level");
  ok(S.f.now - start < 1500000000 && report->seconds >= 1, "they wait at once");
  calls("a", "7");
  calls("b", "{\"v\":7}");
  put("_slow.lua", "rpc.sleep(1) return { v = 8 }");
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 0.5);
  ok(mrpc_runtime_is_loading(S.runtime), "while it waits");
  calls("a", "7");
  calls("c", "1");
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 0.3);
  ok(mrpc_runtime_is_loading(S.runtime), "a look without changes lets it run");
  stage_pass(&S, 0.25);
  ok(!mrpc_runtime_is_loading(S.runtime), "to its end");
  calls("a", "8");
  stage_close(&S);
}

static void test_newer(void) {
  begin();
  put("a.lua", "rpc.sleep(1) return function() return 1 end");
  mrpc_runtime_reload(S.runtime, false);
  stage_pass(&S, 0.5);
  put("a.lua", "return function() return 2 end");
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 0.01);
  ok(!mrpc_runtime_is_loading(S.runtime), "a newer save ends the older load");
  calls("a", "2");
  ok(generation() == 1 && S.reports == 1, "as if it had never been");
  stage_pass(&S, 2);
  calls("a", "2");
  stage_close(&S);
}

/* A load that is ended to look at what is new must not be taken for one that
 * was tried, when the look itself fails. */
static void test_failed_look(void) {
  begin();
  put("a.lua", "return function() return 1 end");
  stage_load(&S, false);
  put("a.lua", "rpc.sleep(1) return function() return 2 end");
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 0.5);
  ok(mrpc_runtime_is_loading(S.runtime), "a load is under way");
  S.f.list_failures = 1;
  look();
  calls("a", "2");
  ok(generation() == 2, "a look that fails meanwhile loses no change");
  stage_close(&S);
}

/* The machine stood still, or the process was stopped: time that no file has
 * had isn't held against it. */
static void test_standstill(void) {
  begin();
  put("a.lua", "return function() return 1 end");
  mrpc_runtime_reload(S.runtime, false);
  while (S.runtime->loader->phase != MRPC_LOAD_RUN) stage_step(&S);
  S.f.tick = 11000000000;
  stage_step(&S);
  S.f.tick = 0;
  stage_settle(&S);
  faults("", "files that have not begun are not late");
  calls("a", "1");
  put("a.lua", "rpc.sleep(1) return function() return 2 end");
  mrpc_runtime_reload(S.runtime, false);
  stage_pass(&S, 0.5);
  S.f.now += 60000000000;
  stage_settle(&S);
  faults("", "nor those that wait");
  calls("a", "2");
  stage_close(&S);
}

static void test_deadline(void) {
  begin();
  put("a.lua", "return function() return 1 end");
  stage_load(&S, false);
  put("a.lua", "\nrpc.sleep(30)");
  put("b.lua", "\n\nreturn require 'a'");
  stage_load(&S, false);
  faults("a.lua:2: still loading when the time for it was over",
         "a file that waits for too long");
  calls("a", "1");
  stage_close(&S);
}

static void test_endless(void) {
  begin();
  put("a.lua", "return function() return 1 end");
  stage_load(&S, false);
  S.f.tick = 1000000;
  put("a.lua", "\nwhile true do end");
  mrpc_runtime_reload(S.runtime, false);
  unsigned served = 0, wrong = 0;
  uint64_t longest = 0;
  while (mrpc_runtime_is_loading(S.runtime)) {
    uint64_t start = S.f.now;
    stage_step(&S);
    if (S.f.now - start > longest) longest = S.f.now - start;
    served++;
    if (strcmp(stage_call(&S, "a"), "1")) wrong++;
  }
  ok(served > 50 && !wrong, "%u calls were served meanwhile", served);
  ok(longest < 100000000, "slices are short");
  faults("a.lua:2: the load ran longer than 2000 ms", "endless loop");
  put("a.lua", "\nwhile true do pcall(error) end");
  stage_load(&S, false);
  faults("a.lua:2: the load ran longer than 2000 ms", "that catches errors");
  put("a.lua", "return function() return 2 end");
  put("b.lua", "coroutine.wrap(function() while true do end end)()");
  stage_load(&S, false);
  faults("b.lua:1: the load ran longer than 2000 ms", "in a coroutine");
  S.f.tick = 0;
  put("b.lua", "return nil");
  stage_load(&S, false);
  calls("a", "2");
  stage_close(&S);
}

/* Each of them is within the limit. */
static void test_sum(void) {
  static char paths[20][24];
  begin();
  for (int i = 0; i < 20; i++) {
    snprintf(paths[i], sizeof paths[i], "f%d.lua", i);
    put(paths[i], "rpc.sleep(1)\nfor i = 1, 3000000 do end\nrpc.sleep(1)");
  }
  S.f.tick = 1000000;
  stage_load(&S, false);
  const char *text = stage_faults(mrpc_runtime_report(S.runtime));
  ok(strstr(text, ".lua:2: the load ran longer than 2000 ms"),
     "run times add up: %s", text);
  S.f.tick = 0;
  stage_close(&S);
}

/* Loads that run long take turns with each other and with all that waits. */
static void test_fairness(void) {
  static char paths[20][24];
  begin();
  put("a.lua", "return function() rpc.sleep(0.1) return 1 end");
  stage_load(&S, false);
  for (int i = 0; i < 20; i++) {
    snprintf(paths[i], sizeof paths[i], "f%d.lua", i);
    put(paths[i], "rpc.sleep(1) for i = 1, 300000 do end");
  }
  S.f.tick = 1000000;
  mrpc_runtime_reload(S.runtime, false);
  stage_pass(&S, 1.1);
  ok(mrpc_runtime_is_loading(S.runtime), "20 files run long");
  calls("a", "");
  uint64_t longest = 0, start = S.f.now, answered = 0;
  while (mrpc_runtime_is_loading(S.runtime)) {
    uint64_t before = S.f.now;
    stage_step(&S);
    if (S.f.now - before > longest) longest = S.f.now - before;
    if (!answered && stage_heard(&S)[0]) answered = S.f.now - start;
  }
  ok(longest < 30000000, "no turn takes long: %d ms", (int)(longest / 1000000));
  ok(answered && answered < 200000000, "a call that waits goes on: %d ms",
     (int)(answered / 1000000));
  faults("", "they all load");
  S.f.tick = 0;
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

/* What a load seeks in vain is bounded, as is what it costs to keep it. */
static void test_seeking(void) {
  begin();
  put("a.lua", "for i = 1, 5000 do pcall(require, 'x' .. i) end");
  ok(stage_load(&S, false)->ok, "5,000 names that aren't there");
  ok(S.runtime->loader->tree.map.count < 2000, "a part of them is noted");
  put("a.lua", "return nil");
  stage_load(&S, false);
  ok(S.runtime->loader->tree.map.count == 1, "and forgotten with the file");
  stage_close(&S);
}

/* A call loads a file, with an old one in it, while a load is under way. */
static void test_late(void) {
  begin();
  put("_base.lua", "return 1");
  put("_mid.lua", "return require '_base'");
  put("a.lua",
      "local b = require '_base' return function() "
      "return require '_mid' end");
  stage_load(&S, false);
  put("_base.lua", "return 2");
  put("b.lua",
      "rpc.sleep(1) local m = require '_mid' return function() "
      "return m end");
  mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES);
  stage_pass(&S, 0.5);
  calls("a", "1");
  stage_pass(&S, 1);
  ok(generation() == 2, "a load");
  calls("b", "2");
  calls("a", "2");
  stage_close(&S);
}

static size_t measure(oom *o) {
  lua_gc(S.runtime->L, LUA_GCCOLLECT);
  lua_gc(S.runtime->L, LUA_GCCOLLECT);
  return o->live;
}

static void test_soak(void) {
  oom o = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
  S = (stage){0};
  if (stage_open(&S, &config)) abort();
  put("a.lua",
      "local l = require '_l' rpc.every(1, print) return { f = print }");
  put("b.lua", "return function() return require '_d' end");
  put("_l.lua", "return 1");
  put("_d.lua", "return 1");
  size_t early = 0;
  for (int i = 0; i < 400; i++) {
    put("_l.lua", i % 2 ? "return 1" : "return 2");
    put("c.lua", i % 4 ? "return {}" : "rpc.spawn(rpc.sleep, 9) error 'no'");
    if (i % 8 == 0) put("n.lua", "return nil");
    if (i % 8 == 4) fake_remove(&S.f, "n.lua");
    stage_load(&S, i % 3 == 0);
    stage_call(&S, "b");
    if (i == 79) early = measure(&o);
  }
  size_t late = measure(&o);
  ok(late == early, "400 loads leave nothing behind: %zu, %zu", early, late);
  stage_close(&S);
  ok(o.live == 0, "and all is freed");
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  S = (stage){0};
  put("_lib.lua", "return { v = 1 }");
  put("a.lua",
      "local l = require '_lib' rpc.every(1, print)\n"
      "return { v = function() return l.v end, t = { u = print } }");
  put("b.lua", "error('no')");
  if (stage_open(&S, &config) == MRPC_OK) {
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
    put("b.lua", "rpc.method('b', print) rpc.sleep(1) require 'a'");
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
    put("_lib.lua", "return { v = 2 }");
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
  }
  stage_close(&S);
}

int main(void) {
  test_first();
  test_empty();
  test_change();
  test_dependents();
  test_sought();
  test_faults();
  test_all_faults();
  test_clashes();
  test_native();
  test_cycle();
  test_waits();
  test_newer();
  test_failed_look();
  test_standstill();
  test_deadline();
  test_endless();
  test_sum();
  test_fairness();
  test_in_flight();
  test_resources();
  test_environment();
  test_being_written();
  test_source();
  test_moving();
  test_strict();
  test_long_path();
  test_foreign();
  test_seeking();
  test_late();
  test_soak();
  oom_each("load", scenario, false);
  oom_each("load, all from one on", scenario, true);
  return tap_finish();
}
