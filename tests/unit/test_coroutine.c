/* SPDX-License-Identifier: MIT
 *
 * Coroutines, in which tasks wait as they do elsewhere. */
#include "starve.h"

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
    "  return down()\n"
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

static void oom_coroutines(oom *o) {
  static const char *const names[] = {"nested", "status", "wrap_fail"};
  starve_calls(o, coroutines, names, 3);
}

int main(void) {
  test_coroutines();
  starve("coroutines", oom_coroutines);
  return tap_finish();
}
