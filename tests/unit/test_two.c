/* SPDX-License-Identifier: MIT
 *
 * Two runtimes that talk to each other: calls both ways, in one another, many
 * at once, and what ends them. */
#include "pair.h"

#define GONE "-32057"

static const char both[] =
    "local M, kept = {}, rpc.state('kept')\n"
    "local function peer() return rpc.peer() end\n"
    "function M.nest(n)\n"
    "  if n == 0 then return 0 end\n"
    "  return 1 + peer():call('nest', {n - 1})\n"
    "end\n"
    "function M.fail(n)\n"
    "  if n == 0 then rpc.error(7, 'deep', {n = rpc.null}) end\n"
    "  return peer():call('fail', {n - 1})\n"
    "end\n"
    "function M.slow(s) rpc.sleep(s) return s end\n"
    "function M.keep() kept.peer = peer() end\n"
    "function M.late(n) rpc.sleep((n * 7 % 11) / 10) return n end\n"
    "function M.many(n)\n"
    "  local tasks, sum = {}, 0\n"
    "  for i = 1, n do\n"
    "    tasks[i] = rpc.spawn(function()\n"
    "      local answer = peer():call('late', {i})\n"
    "      assert(answer == i, answer)\n"
    "      return answer\n"
    "    end)\n"
    "  end\n"
    "  for i = 1, n do sum = sum + tasks[i]:wait() end\n"
    "  return sum\n"
    "end\n"
    "function M.closing(log)\n"
    "  local x <close> = setmetatable({}, {__close = function(_, e)\n"
    "    print('closed by', tostring(e and e.message or e), peer():closed())\n"
    "  end})\n"
    "  return peer():call('slow', {100})\n"
    "end\n"
    "function M.caught()\n"
    "  local ok, e = pcall(function() return peer():call('slow', {100}) end)\n"
    "  print(ok, rawequal(e, rpc.cancelled), rpc.is_cancelled())\n"
    "  local again, why = pcall(rpc.sleep, 1)\n"
    "  print(again, rawequal(why, rpc.cancelled))\n"
    "  return 'done'\n"
    "end\n"
    "function M.ask(...) return peer():call(...) end\n"
    "function M.via_state(...) return kept.peer:call(...) end\n"
    "function M.spin() while true do end end\n"
    "function M.in_task()\n"
    "  local task = rpc.spawn(function() return peer():call('slow', {100}) "
    "end)\n"
    "  rpc.sleep(1)\n"
    "  task:cancel()\n"
    "  rpc.sleep(0)\n"
    "  local ok, e = pcall(task.wait, task)\n"
    "  return rawequal(e, rpc.cancelled)\n"
    "end\n"
    "return M\n";

static void begin(void) {
  if (pair_open(both)) abort();
  script_log(&a);
  script_log(&b);
}

static void end(void) {
  ok(pair_close(NULL), "all memory came back");
}

static void test_nested(void) {
  pair_result r;
  begin();
  pair_ask("nest", "[100]", &r);
  pair_talk(1);
  is_str(r.json, "100", "a hundred calls in one another");
  pair_ask("fail", "[50]", &r);
  pair_talk(1);
  ok(r.is_error, "an error goes up as many");
  is_str(r.json, "{\"code\":7,\"message\":\"deep\",\"data\":{\"n\":null}}",
         "unchanged");
  end();
}

static void test_many(void) {
  pair_result r;
  begin();
  pair_ask("many", "[1000]", &r);
  pair_talk(3);
  is_str(r.json, "500500", "a thousand in flight, answered in any order");
  end();
}

static void test_cancel(void) {
  pair_result r;
  begin();
  int64_t id = pair_ask("closing", "[]", &r);
  pair_talk(1);
  mrpc_peer_cancel(b.talk.peer, id);
  pair_talk(1);
  ok(r.count == 0, "who has given up isn't answered");
  ok(strstr(script_log(&a), "closed by\tRequest cancelled\tfalse"),
     "<close> sees the cancel: %s", a.log);
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(b.talk.peer, &stats);
  ok(stats.in_flight == 0, "the call that it waited for is cancelled too");
  id = pair_ask("caught", "[]", &r);
  pair_talk(1);
  mrpc_peer_cancel(b.talk.peer, id);
  pair_talk(2);
  script_log(&a);
  ok(strstr(a.log, "false\ttrue\ttrue"), "pcall sees it: %s", a.log);
  ok(strstr(a.log, "\nfalse\ttrue at="), "and each wait that follows");
  pair_ask("in_task", "[]", &r);
  pair_talk(3);
  is_str(r.json, "true", "a spawned task is cancelled by its maker");
  mrpc_peer_get_stats(b.talk.peer, &stats);
  ok(stats.in_flight == 0, "and the other side with it");
  end();
}

static void test_death(void) {
  pair_result r;
  begin();
  pair_ask("closing", "[]", &r);
  pair_talk(1);
  is_cut = true;
  mrpc_peer_drop(a.talk.peer);
  pair_talk(1);
  ok(strstr(script_log(&a), "closed by\tRequest cancelled\ttrue"),
     "a call whose caller dies is cancelled: %s", a.log);
  end();
  begin();
  pair_ask("keep", "[]", &r);
  pair_talk(1);
  pair_ask("closing", "[]", &r);
  pair_talk(1);
  mrpc_peer_eof(a.talk.peer);
  pair_talk(1);
  ok(r.is_error && strstr(r.json, GONE),
     "the end of input ends calls out at once: %s", r.json);
  end();
}

static void test_reload(void) {
  pair_result r;
  begin();
  pair_ask("slow", "[2]", &r);
  pair_result other;
  pair_ask("ask", "[\"slow\",[1]]", &other);
  pair_talk(0.5);
  fake_put(&a.fake, "init.lua", "return {}\n");
  mrpc_runtime_reload(a.runtime, true);
  pair_talk(3);
  is_str(other.json, "1", "a call out survives a reload");
  is_str(r.json, "2", "as waits do");
  end();
}

static void test_free(void) {
  pair_result r;
  begin();
  for (int i = 0; i < 10; i++) pair_ask("closing", "[]", &r);
  pair_ask("many", "[10]", &r);
  pair_talk(0);
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(a.talk.peer, &stats);
  ok(stats.pending == 20, "calls wait: %d", (int)stats.pending);
  mrpc_runtime_free(a.runtime);
  a.runtime = NULL;
  mrpc_peer_get_stats(a.talk.peer, &stats);
  ok(stats.pending == 0, "and go with their runtime");
  end();
}

static void test_limit(void) {
  pair_result r;
  a.config.limits = &(mrpc_limits){.wait = 3};
  begin();
  pair_ask("ask", "[\"slow\",[100]]", &r);
  pair_talk(2.9);
  ok(r.count == 0, "limits.wait is the timeout");
  pair_talk(0.2);
  ok(strstr(r.json, "-32051"), "of calls that give none: %s", r.json);
  pair_ask("ask", "[\"slow\",[10],{\"timeout\":20}]", &r);
  pair_talk(11);
  is_str(r.json, "10", "those that do have their own");
  pair_ask("ask", "[\"slow\",[10],{\"timeout\":0}]", &r);
  pair_talk(0.1);
  ok(strstr(r.json, "-32051"), "zero is at once");
  end();
}

/* The side `a` runs out of memory. */
static void run_all(oom *o) {
  pair_result r;
  a.quiet = b.quiet = true;
  a.talk.mem = *o;
  if (pair_open(both) == MRPC_OK) {
    pair_ask("nest", "[4]", &r);
    pair_talk(1);
    pair_ask("fail", "[2]", &r);
    pair_talk(1);
    pair_ask("many", "[3]", &r);
    pair_talk(2);
    int64_t id = pair_ask("closing", "[]", &r);
    pair_talk(1);
    mrpc_peer_cancel(b.talk.peer, id);
    pair_talk(1);
    pair_ask("closing", "[]", &r);
    pair_talk(1);
    mrpc_peer_drop(a.talk.peer);
    pair_talk(1);
  }
  (void)pair_close(o);
}

int main(void) {
  test_nested();
  test_many();
  test_cancel();
  test_death();
  test_reload();
  test_free();
  test_limit();
  oom_each("calls both ways", run_all, false);
  oom_each("calls both ways, all later ones too", run_all, true);
  return tap_finish();
}
