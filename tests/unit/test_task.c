/* SPDX-License-Identifier: MIT
 *
 * Waits of every kind. The clock stands still until a test moves it. */
#include "starve.h"

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

static void oom_waits(oom *o) {
  static const char *const names[] = {"in_pcall", "in_xpcall",      "both",
                                      "closing",  "closing_failed", "early"};
  starve_calls(o, waits, names, 6);
}

int main(void) {
  test_waits();
  starve("waits", oom_waits);
  return tap_finish();
}
