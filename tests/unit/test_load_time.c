/* SPDX-License-Identifier: MIT
 *
 * Loads that take time: files that wait or run long, what is saved meanwhile,
 * and the calls that are served. */
#include "runtime/loader.h"

#include "solo.h"

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

int main(void) {
  test_waits();
  test_newer();
  test_failed_look();
  test_standstill();
  test_deadline();
  test_endless();
  test_sum();
  test_fairness();
  test_late();
  return tap_finish();
}
