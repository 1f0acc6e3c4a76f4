/* SPDX-License-Identifier: MIT
 *
 * Tasks that are spawned, timers, and what is cancelled. */
#include "starve.h"

static const char tasks[] =
    "local M, log, timer, task = {}, {}, nil, nil\n"
    "function M.spawn()\n"
    "  rpc.spawn(function(a) log[1] = a rpc.sleep(1) log[3] = 'c' end, 'a')\n"
    "  log[2] = 'b'\n"
    "  return log\n"
    "end\n"
    "function M.log() return log end\n"
    "function M.clear() log = rpc.array {} end\n"
    "function M.wait_for()\n"
    "  local t = rpc.spawn(function(...) rpc.sleep(1) return ... end, 1, 2)\n"
    "  local before = t:is_done()\n"
    "  local a, b = t:wait()\n"
    "  return {before, a, b, t:is_done(), (t:wait())}\n"
    "end\n"
    "function M.wait_failed()\n"
    "  local t = rpc.spawn(function() rpc.sleep(1) error('lost', 0) end)\n"
    "  return {pcall(t.wait, t)}\n"
    "end\n"
    "function M.wait_late()\n"
    "  rpc.spawn(function() rpc.sleep(9) end):wait(1)\n"
    "end\n"
    "function M.cancel_task()\n"
    "  local t = rpc.spawn(function()\n"
    "    local ok, e = pcall(rpc.sleep, 9)\n"
    "    return e == rpc.cancelled\n"
    "  end)\n"
    "  t:cancel()\n"
    "  return t:wait()\n"
    "end\n"
    "function M.failing() rpc.spawn(function() error('in a task') end) end\n"
    "function M.deep_spawn()\n"
    "  local n = 0\n"
    "  local function go() n = n + 1 if n < 500 then rpc.spawn(go) end end\n"
    "  go() rpc.sleep(1) return n\n"
    "end\n"
    "function M.after()\n"
    "  rpc.after(1, function() log[#log + 1] = 'after' end)\n"
    "  rpc.after(1, function() log[#log + 1] = 'never' end):stop()\n"
    "end\n"
    "function M.every()\n"
    "  timer = rpc.every(1, function()\n"
    "    log[#log + 1] = #log + 1\n"
    "    if #log == 3 then timer:stop() timer:stop() end\n"
    "  end)\n"
    "end\n"
    "function M.slow_every()\n"
    "  timer = rpc.every(1, function() log[#log + 1] = 'x' rpc.sleep(2.5) "
    "end)\n"
    "end\n"
    "function M.stop() timer:stop() end\n"
    "function M.failing_timer() rpc.after(0, function() error('tick') end) "
    "end\n"
    "function M.bad_stop() timer.stop(io.stdout) end\n"
    "function M.sleeper() rpc.sleep(100) end\n"
    "function M.closer()\n"
    "  local x <close> = setmetatable({}, {__close = function()\n"
    "    log[#log + 1] = 'closed' rpc.sleep(1)\n"
    "  end})\n"
    "  rpc.sleep(100)\n"
    "end\n"
    "function M.catcher()\n"
    "  local ok, e = pcall(rpc.sleep, 100)\n"
    "  log[#log + 1] = e == rpc.cancelled\n"
    "  log[#log + 1] = rpc.is_cancelled()\n"
    "  log[#log + 1] = pcall(rpc.sleep, 1)\n"
    "  error(e)\n"
    "end\n"
    "return M\n";

static void test_tasks(void) {
  static script s;
  ok(script_open(&s, tasks) == MRPC_OK, "opens");
  script_is(&s, "spawn", "[]", "\"result\":[\"a\",\"b\"]");
  talk_pass(&s.talk, 1);
  script_is(&s, "log", "[]", "\"result\":[\"a\",\"b\",\"c\"]");
  script_is(&s, "wait_for", "[]", "");
  script_then(&s, 1, "\"result\":[false,1,2,true,1]");
  script_is(&s, "wait_failed", "[]", "");
  script_then(&s, 1, "\"result\":[false,\"lost\"]");
  script_is(&s, "wait_late", "[]", "");
  script_then(&s, 1, LATE);
  talk_pass(&s.talk, 10);
  script_is(&s, "cancel_task", "[]", "\"result\":true");
  script_log(&s);
  script_is(&s, "failing", "[]", "\"result\":null");
  ok(strstr(script_log(&s), "task failed error=init.lua:"), "it is logged");
  script_is(&s, "deep_spawn", "[]", "");
  script_then(&s, 1, "\"result\":500");
  ok(script_end(&s), "no leak");
}

static void test_timers(void) {
  static script s;
  ok(script_open(&s, tasks) == MRPC_OK, "opens");
  script_is(&s, "clear", "[]", "\"result\":null");
  script_is(&s, "after", "[]", "\"result\":null");
  script_is(&s, "log", "[]", "\"result\":[]");
  talk_pass(&s.talk, 1);
  script_is(&s, "log", "[]", "\"result\":[\"after\"]");
  script_is(&s, "clear", "[]", "\"result\":null");
  script_is(&s, "every", "[]", "\"result\":null");
  for (int i = 0; i < 10; i++) talk_pass(&s.talk, 1);
  script_is(&s, "log", "[]", "\"result\":[1,2,3]");
  script_is(&s, "clear", "[]", "\"result\":null");
  script_is(&s, "slow_every", "[]", "\"result\":null");
  for (int i = 0; i < 5; i++) talk_pass(&s.talk, 1);
  script_is(&s, "log", "[]", "\"result\":[\"x\",\"x\"]");
  script_is(&s, "stop", "[]", "\"result\":null");
  script_is(&s, "stop", "[]", "\"result\":null");
  for (int i = 0; i < 5; i++) talk_pass(&s.talk, 1);
  script_is(&s, "log", "[]", "\"result\":[\"x\",\"x\"]");
  script_log(&s);
  script_is(&s, "failing_timer", "[]", "\"result\":null");
  talk_run(&s.talk);
  ok(strstr(script_log(&s), "timer failed error=init.lua:"), "it is logged");
  script_is(&s, "bad_stop", "[]", HIDDEN);
  script_is(&s, "every", "[]", "\"result\":null");
  ok(script_end(&s), "no leak, with a timer that runs");
}

static void cancel(script *s) {
  talk_say(&s->talk,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\","
           "\"params\":{\"id\":1}}\n");
}

static void test_cancel(void) {
  static script s;
  ok(script_open(&s, tasks) == MRPC_OK, "opens");
  script_is(&s, "clear", "[]", "\"result\":null");
  script_is(&s, "sleeper", "[]", "");
  cancel(&s);
  script_then(&s, 0, GIVEN_UP);
  script_is(&s, "closer", "[]", "");
  cancel(&s);
  script_then(&s, 0, GIVEN_UP);
  script_is(&s, "log", "[]", "\"result\":[\"closed\"]");
  script_is(&s, "clear", "[]", "\"result\":null");
  script_is(&s, "catcher", "[]", "");
  cancel(&s);
  script_then(&s, 0, GIVEN_UP);
  script_is(&s, "log", "[]", "\"result\":[true,true,false]");
  script_is(&s, "sleeper", "[]", "");
  mrpc_peer_drop(s.talk.peer);
  talk_pass(&s.talk, 1);
  ok(script_end(&s), "no leak after the peer went");
}

static void test_end(void) {
  static script s;
  ok(script_open(&s, tasks) == MRPC_OK, "opens");
  script_is(&s, "sleeper", "[]", "");
  mrpc_runtime_free(s.runtime);
  s.runtime = NULL;
  script_then(&s, 0, ENDING);
  ok(script_end(&s), "no leak");
}

static void oom_tasks(oom *o) {
  static const char *const names[] = {"spawn", "wait_for", "wait_failed",
                                      "every", "after",    "failing_timer"};
  starve_calls(o, tasks, names, 6);
}

int main(void) {
  test_tasks();
  test_timers();
  test_cancel();
  test_end();
  starve("tasks", oom_tasks);
  return tap_finish();
}
