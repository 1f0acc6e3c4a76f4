/* SPDX-License-Identifier: MIT
 *
 * The end of those who run too long. */
#include "script.h"

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
    "function M.in_pcalls()\n"
    "  local x <close> = setmetatable({}, {__close = loop})\n"
    "  local function f(n)\n"
    "    if n == 0 then loop() end\n"
    "    pcall(f, n - 1)\n"
    "    f(n - 1)\n"
    "  end\n"
    "  f(400)\n"
    "end\n"
    "function M.in_pcalls_within() coroutine.wrap(M.in_pcalls)() end\n"
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
      "loop",    "in_pcall",  "in_xpcall",           "in_coroutine",
      "in_wrap", "in_sort",   "in_sorted_coroutine", "short_coroutines",
      "in_gsub", "in_close",  "in_closes",           "in_tostring",
      "in_load", "in_pcalls", "in_pcalls_within",    "closed"};
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

int main(void) {
  test_kill();
  test_finalizers();
  return tap_finish();
}
