/* SPDX-License-Identifier: MIT
 *
 * Tasks: waits of every kind, coroutines, cancelling, and the end of those who
 * run too long. The clock stands still until a test moves it. */
#include "script.h"

#define HIDDEN "\"error\":{\"code\":-32603,\"message\":\"Internal error\"}"
#define STRUCK \
  "\"error\":{\"code\":-32053,\"message\":\"Script limit exceeded\"}"
#define LATE "\"error\":{\"code\":-32051,\"message\":\"Timed out\"}"
#define GIVEN_UP "\"error\":{\"code\":-32800,\"message\":\"Request cancelled\"}"
#define ENDING "\"error\":{\"code\":-32054,\"message\":\"Shutting down\"}"

static unsigned unanswered;

static const char waits[] =
    "local M, kept = {}, nil\n"
    "local function wait(v) rpc.sleep(1) return v end\n"
    "function M.sleep(s) rpc.sleep(s) return s end\n"
    "function M.await(t)\n"
    "  return rpc.await(function(resume) kept = resume end, t)\n"
    "end\n"
    "function M.resume(a) kept(a, 2) return 'resumed' end\n"
    "function M.early() return rpc.await(function(r) r(1) r(2) end) end\n"
    "function M.both() return {rpc.await(function(r) r(1, 2) end)} end\n"
    "function M.start() rpc.await(function() error('no start') end) end\n"
    "function M.waits_in_start()\n"
    "  return rpc.await(function(r) wait() r(wait(7)) end)\n"
    "end\n"
    "function M.in_pcall() local ok, v = pcall(wait, 1) return {ok, v} end\n"
    "function M.in_xpcall()\n"
    "  local ok, v = xpcall(function() wait() error('x', 0) end,\n"
    "    function(e) return e .. '!' end)\n"
    "  return {ok, v}\n"
    "end\n"
    "function M.in_index()\n"
    "  return setmetatable({}, {__index = function(_, k) return wait(k) "
    "end}).k\n"
    "end\n"
    "function M.in_sort()\n"
    "  table.sort({3, 1, 2}, function(a, b) wait() return a < b end)\n"
    "end\n"
    "function M.in_sorted_coroutine()\n"
    "  local co = coroutine.wrap(function(a, b) wait() return a < b end)\n"
    "  table.sort({3, 1, 2}, co)\n"
    "end\n"
    "function M.closing()\n"
    "  local log = {}\n"
    "  do\n"
    "    local x <close> = setmetatable({}, {__close = function()\n"
    "      log[1] = wait('closed')\n"
    "    end})\n"
    "  end\n"
    "  return log\n"
    "end\n"
    "function M.closing_failed()\n"
    "  local log = {}\n"
    "  pcall(function()\n"
    "    local x <close> = setmetatable({}, {__close = function(_, e)\n"
    "      log[1] = wait(e)\n"
    "    end})\n"
    "    error('e', 0)\n"
    "  end)\n"
    "  return log\n"
    "end\n"
    "function M.close_error()\n"
    "  local x <close> = setmetatable({}, {__close = function(_, e)\n"
    "    print(tostring(e), getmetatable(e))\n"
    "  end})\n"
    "  error('why')\n"
    "end\n"
    "function M.yield() coroutine.yield(1) end\n"
    "return M\n";

static void test_waits(void) {
  static script s;
  s.config.limits = &(mrpc_limits){.wait = 10};
  ok(script_open(&s, waits) == MRPC_OK, "opens");
  script_is(&s, "sleep", "[2]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, "\"result\":2");
  script_is(&s, "sleep", "[0]", "\"result\":0");
  script_is(&s, "sleep", "[-1]", HIDDEN);
  script_is(&s, "early", "[]", "\"result\":1");
  script_is(&s, "both", "[]", "\"result\":[1,2]");
  script_is(&s, "start", "[]", HIDDEN);
  script_is(&s, "waits_in_start", "[]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, "\"result\":7");
  script_is(&s, "await", "[]", "");
  script_then(&s, 9.5, "");
  script_then(&s, 1, LATE);
  script_is(&s, "resume", "[1]", "\"result\":\"resumed\"");
  script_is(&s, "await", "[3]", "");
  script_then(&s, 4, LATE);
  script_is(&s, "await", "[]", "");
  const char *both = script_call(&s, "resume", "[5]");
  ok(strstr(both, "resumed") && strstr(both, "\"result\":5"),
     "resume gives its arguments to who waits");
  script_is(&s, "in_pcall", "[]", "");
  script_then(&s, 1, "\"result\":[true,1]");
  script_is(&s, "in_xpcall", "[]", "");
  script_then(&s, 1, "\"result\":[false,\"x!\"]");
  script_is(&s, "in_index", "[]", "");
  script_then(&s, 1, "\"result\":\"k\"");
  script_is(&s, "closing", "[]", "");
  script_then(&s, 1, "\"result\":[\"closed\"]");
  script_is(&s, "closing_failed", "[]", "");
  script_then(&s, 1, "\"result\":[\"e\"]");
  script_log(&s);
  script_is(&s, "in_sort", "[]", HIDDEN);
  ok(strstr(script_log(&s), "can't wait here: a C function"), "says why not");
  script_is(&s, "in_sorted_coroutine", "[]", HIDDEN);
  ok(strstr(script_log(&s), "can't wait here: a C function"), "says why not");
  script_is(&s, "yield", "[]", HIDDEN);
  ok(strstr(script_log(&s), "yield from outside a coroutine"), "says why not");
  script_is(&s, "close_error", "[]", HIDDEN);
  ok(strstr(script_log(&s), ": why\tfalse at="), "__close is told the error");
  ok(script_end(&s), "no leak");
}

static const char coroutines[] =
    "local M = {}\n"
    "local function wait(v) rpc.sleep(1) return v end\n"
    "function M.wrap()\n"
    "  local each = coroutine.wrap(function()\n"
    "    for i = 1, 3 do coroutine.yield(wait(i)) end\n"
    "  end)\n"
    "  return {each(), each(), each()}\n"
    "end\n"
    "function M.iterate()\n"
    "  local sum = 0\n"
    "  for i in coroutine.wrap(function()\n"
    "    for i = 1, 2 do coroutine.yield(wait(i)) end\n"
    "  end) do sum = sum + i end\n"
    "  return sum\n"
    "end\n"
    "function M.nested()\n"
    "  local out = coroutine.wrap(function(a)\n"
    "    local inner = coroutine.create(function(b)\n"
    "      local c = coroutine.yield(wait(b) + 1)\n"
    "      return wait(c) * 2\n"
    "    end)\n"
    "    local _, x = coroutine.resume(inner, a)\n"
    "    coroutine.yield(x)\n"
    "    local _, y = coroutine.resume(inner, 10)\n"
    "    return y\n"
    "  end)\n"
    "  return {out(1), out()}\n"
    "end\n"
    "function M.fail()\n"
    "  local ok, e = coroutine.resume(coroutine.create(function()\n"
    "    wait() error('late', 0)\n"
    "  end))\n"
    "  return {ok, e}\n"
    "end\n"
    "function M.wrap_fail()\n"
    "  local f = coroutine.wrap(function() wait() error {code = 1, "
    "message = 'm'} end)\n"
    "  f()\n"
    "end\n"
    "function M.status()\n"
    "  local co, seen\n"
    "  co = coroutine.create(function()\n"
    "    rpc.spawn(function()\n"
    "      rpc.sleep(0.5)\n"
    "      seen = {coroutine.status(co), coroutine.resume(co)}\n"
    "      seen[4] = pcall(coroutine.close, co)\n"
    "    end)\n"
    "    wait()\n"
    "  end)\n"
    "  coroutine.resume(co)\n"
    "  seen[5] = coroutine.status(co)\n"
    "  return seen\n"
    "end\n"
    "function M.running()\n"
    "  local _, main = coroutine.running()\n"
    "  local outside = coroutine.isyieldable()\n"
    "  local _, inner, inside = coroutine.resume(coroutine.create(function()\n"
    "    return select(2, coroutine.running()), coroutine.isyieldable()\n"
    "  end))\n"
    "  return {main, outside, inner, inside}\n"
    "end\n"
    "function M.close()\n"
    "  local log = rpc.array {}\n"
    "  local co = coroutine.create(function()\n"
    "    local x <close> = setmetatable({}, {__close = function()\n"
    "      log[#log + 1] = 'closed'\n"
    "    end})\n"
    "    coroutine.yield()\n"
    "  end)\n"
    "  coroutine.resume(co)\n"
    "  local closed = coroutine.close(co)\n"
    "  return {log[1], closed, coroutine.status(co), "
    "select(2, coroutine.resume(co))}\n"
    "end\n"
    "function M.own()\n"
    "  local co = coroutine.running()\n"
    "  return {coroutine.resume(co)}\n"
    "end\n"
    "function M.others()\n"
    "  local co\n"
    "  rpc.spawn(function() co = coroutine.running() rpc.sleep(1) end)\n"
    "  return {coroutine.resume(co)}\n"
    "end\n"
    "function M.many()\n"
    "  local f = coroutine.wrap(function(...) return select('#', ...) end)\n"
    "  return f(table.unpack({}, 1, 200))\n"
    "end\n"
    "function M.deep()\n"
    "  local function down(n)\n"
    "    if n == 0 then return wait('bottom') end\n"
    "    return coroutine.wrap(down)(n - 1)\n"
    "  end\n"
    "  return down(50)\n"
    "end\n"
    "function M.too_deep()\n"
    "  local function down() return coroutine.wrap(down)() end\n"
    "  down = down\n"
    "  local function f() return coroutine.wrap(f)() end\n"
    "  local g g = function() return coroutine.wrap(g)() end\n"
    "  return g()\n"
    "end\n"
    "return M\n";

static void test_coroutines(void) {
  static script s;
  ok(script_open(&s, coroutines) == MRPC_OK, "opens");
  script_is(&s, "wrap", "[]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, "");
  script_then(&s, 1, "\"result\":[1,2,3]");
  script_is(&s, "iterate", "[]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, "\"result\":3");
  script_is(&s, "nested", "[]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, "\"result\":[2,20]");
  script_is(&s, "fail", "[]", "");
  script_then(&s, 1, "\"result\":[false,\"late\"]");
  script_is(&s, "wrap_fail", "[]", "");
  script_then(&s, 1, "\"error\":{\"code\":1,\"message\":\"m\"}");
  script_is(&s, "status", "[]", "");
  script_then(&s, 0.5, "");
  script_then(&s, 0.5,
              "\"result\":[\"normal\",false,\"cannot resume non-suspended "
              "coroutine\",false,\"dead\"]");
  script_is(&s, "running", "[]", "\"result\":[true,false,false,true]");
  script_is(&s, "close", "[]",
            "\"result\":[\"closed\",true,\"dead\",\"cannot resume dead "
            "coroutine\"]");
  script_is(&s, "own", "[]",
            "\"result\":[false,\"cannot resume non-suspended coroutine\"]");
  script_is(&s, "others", "[]",
            "\"result\":[false,\"cannot resume non-suspended coroutine\"]");
  talk_pass(&s.talk, 1);
  script_is(&s, "many", "[]", "\"result\":200");
  script_is(&s, "deep", "[]", "");
  script_then(&s, 1, "\"result\":\"bottom\"");
  script_is(&s, "too_deep", "[]", HIDDEN);
  script_is(&s, "running", "[]", "\"result\":[true,false,false,true]");
  ok(script_end(&s), "no leak");
}

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

static const char endless[] =
    "local M = {}\n"
    "local function loop() while true do end end\n"
    "M.loop = function() loop() end\n"
    "function M.in_pcall() while true do pcall(loop) end end\n"
    "function M.in_xpcall() while true do xpcall(loop, loop) end end\n"
    "function M.in_coroutine()\n"
    "  while true do coroutine.resume(coroutine.create(loop)) end\n"
    "end\n"
    "function M.in_wrap() while true do pcall(coroutine.wrap(loop)) end end\n"
    "function M.short_coroutines()\n"
    "  while true do coroutine.wrap(function() end)() end\n"
    "end\n"
    "function M.in_sort() table.sort({3, 2, 1}, loop) end\n"
    "function M.in_sorted_coroutine()\n"
    "  local bad = setmetatable({}, {__close = loop})\n"
    "  coroutine.wrap(function()\n"
    "    local x <close> = bad\n"
    "    table.sort({3, 2, 1}, loop)\n"
    "  end)()\n"
    "end\n"
    "function M.in_gsub() ('aaa'):gsub('a', loop) end\n"
    "function M.in_close()\n"
    "  local x <close> = setmetatable({}, {__close = loop})\n"
    "  loop()\n"
    "end\n"
    "function M.in_closes()\n"
    "  local mt = {__close = function() pcall(loop) loop() end}\n"
    "  local a <close>, b <const> = setmetatable({}, mt), 1\n"
    "  local c <close> = setmetatable({}, mt)\n"
    "  coroutine.wrap(function()\n"
    "    local d <close> = setmetatable({}, mt)\n"
    "    coroutine.wrap(function()\n"
    "      local e <close> = setmetatable({}, mt)\n"
    "      loop()\n"
    "    end)()\n"
    "  end)()\n"
    "end\n"
    "function M.in_tostring()\n"
    "  error(setmetatable({}, {__tostring = loop}))\n"
    "end\n"
    "function M.in_load() load(loop) end\n"
    "function M.after_wait() rpc.sleep(1) loop() end\n"
    "function M.bursts()\n"
    "  for i = 1, 1000 do\n"
    "    for j = 1, 1e5 do end\n"
    "    rpc.sleep(1)\n"
    "  end\n"
    "end\n"
    "function M.closed()\n"
    "  local x <close> = setmetatable({}, {__close = function()\n"
    "    M.was_closed = true\n"
    "    rpc.sleep(1)\n"
    "  end})\n"
    "  loop()\n"
    "end\n"
    "function M.seen() return rawget(M, 'was_closed') == true end\n"
    "function M.spawned() rpc.spawn(loop) return 'alive' end\n"
    "function M.one() return 1 end\n"
    "local function collect(f)\n"
    "  setmetatable({}, {__gc = f}) collectgarbage() return 'collected'\n"
    "end\n"
    "function M.final() return collect(loop) end\n"
    "function M.final_deep()\n"
    "  return collect(function()\n"
    "    while true do pcall(coroutine.wrap(loop)) end\n"
    "  end)\n"
    "end\n"
    "function M.final_wait() return collect(function() rpc.sleep(1) end) end\n"
    "function M.final_yield()\n"
    "  return collect(function() coroutine.yield() end)\n"
    "end\n"
    "function M.final_fine()\n"
    "  local seen\n"
    "  collect(function(o) seen = type(o) end)\n"
    "  return seen\n"
    "end\n"
    "return M\n";

/* Each look at the clock takes a millisecond, so that loops pass time. */
static void test_kill(void) {
  static const char *const names[] = {
      "loop",    "in_pcall", "in_xpcall",           "in_coroutine",
      "in_wrap", "in_sort",  "in_sorted_coroutine", "short_coroutines",
      "in_gsub", "in_close", "in_closes",           "in_tostring",
      "in_load", "closed"};
  static script s;
  s.config.limits = &(mrpc_limits){.handler = 0.02};
  s.config.hook = true;
  s.tick = 1000000;
  ok(script_open(&s, endless) == MRPC_OK, "opens");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    script_is(&s, names[i], "[]", STRUCK);
    script_is(&s, "one", "[]", "\"result\":1");
  }
  script_log(&s);
  script_is(&s, "loop", "[]", STRUCK);
  ok(strstr(script_log(&s), "error=init.lua:2: ran longer than 20 ms"),
     "the log says where");
  script_is(&s, "seen", "[]", "\"result\":true");
  script_is(&s, "after_wait", "[]", "");
  script_then(&s, 2, STRUCK);
  script_is(&s, "spawned", "[]", "\"result\":\"alive\"");
  script_is(&s, "one", "[]", "\"result\":1");
  script_is(&s, "bursts", "[]", "");
  for (int i = 0; i < 100; i++) talk_pass(&s.talk, 1);
  ok(strstr(talk_take(&s.talk), "-32053"), "run time adds up over waits");
  script_is(&s, "one", "[]", "\"result\":1");
  ok(script_end(&s), "no leak");
}

/* Finalizers run where Lua knows no hooks. */
static void test_finalizers(void) {
  static const char *const names[] = {"final", "final_deep", "final_wait",
                                      "final_yield"};
  static const char *const logged[] = {"ran too long", "ran too long",
                                       "can't wait here", "yielded"};
  static script s;
  s.config.limits = &(mrpc_limits){.handler = 0.02};
  s.tick = 1000000;
  ok(script_open(&s, endless) == MRPC_OK, "opens");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    script_log(&s);
    script_is(&s, names[i], "[]", "\"result\":\"collected\"");
    ok(strstr(script_log(&s), logged[i]) != NULL, "it is logged");
  }
  script_is(&s, "final_fine", "[]", "\"result\":\"table\"");
  ok(script_end(&s), "no leak");
}

/* Calls these methods while an allocation fails; each must be answered, unless
 * the connection itself had to be given up. */
static void call_all(oom *o, const char *text, const char *const *names,
                     size_t count) {
  static script s;
  s = (script){.talk.mem = *o, .quiet = true};
  if (script_open(&s, text) == MRPC_OK) {
    for (size_t i = 0; i < count; i++) {
      size_t got = strlen(script_call(&s, names[i], "[]"));
      for (int second = 0; second < 4; second++) {
        talk_pass(&s.talk, 1);
        got += strlen(talk_take(&s.talk));
      }
      if (!got && mrpc_peer_wants_read(s.talk.peer)) unanswered++;
    }
  }
  script_end(&s);
  *o = s.talk.mem;
}

static void oom_waits(oom *o) {
  static const char *const names[] = {"in_pcall", "in_xpcall",      "both",
                                      "closing",  "closing_failed", "early"};
  call_all(o, waits, names, 6);
}

static void oom_coroutines(oom *o) {
  static const char *const names[] = {"nested", "status", "wrap_fail"};
  call_all(o, coroutines, names, 3);
}

static void oom_tasks(oom *o) {
  static const char *const names[] = {"spawn", "wait_for", "wait_failed",
                                      "every", "after",    "failing_timer"};
  call_all(o, tasks, names, 6);
}

static void test_oom(void) {
  for (int sticky = 0; sticky < 2; sticky++) {
    oom_each("waits", oom_waits, sticky);
    oom_each("coroutines", oom_coroutines, sticky);
    oom_each("tasks", oom_tasks, sticky);
  }
  ok(unanswered == 0, "every call was answered");
  if (unanswered) printf("# %u were not\n", unanswered);
}

int main(void) {
  test_waits();
  test_coroutines();
  test_tasks();
  test_timers();
  test_cancel();
  test_end();
  test_kill();
  test_finalizers();
  test_oom();
  return tap_finish();
}
