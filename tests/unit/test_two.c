/* SPDX-License-Identifier: MIT
 *
 * Two runtimes that talk to each other: calls both ways, in one another, many
 * at once, and what ends them. */
#include "script.h"

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

static script a, b;
static bool is_cut; /* nothing passes between them */

static bool carry(script *from, script *to) {
  const char *text = talk_take(&from->talk);
  if (!*text) return false;
  mrpc_peer_recv(to->talk.peer, text, strlen(text));
  return true;
}

/* Lets them talk for `seconds`. `a` is told by us, so what it says to us is in
 * the way: ids of ours are above 1,000,000. */
static void talk_on(double seconds) {
  uint64_t end = a.talk.now + (uint64_t)(seconds * 1e9);
  for (;;) {
    talk_run(&a.talk);
    talk_run(&b.talk);
    if (!is_cut && (carry(&a, &b) | carry(&b, &a))) continue;
    uint64_t next = mrpc_timer_next(a.talk.env);
    uint64_t other = mrpc_timer_next(b.talk.env);
    if (other < next) next = other;
    if (next > end) break;
    if (next > a.talk.now) a.talk.now = b.talk.now = next;
  }
  a.talk.now = b.talk.now = end;
}

typedef struct result {
  int count, rc;
  bool is_error;
  char json[512];
} result;

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  result *r = ud;
  (void)peer;
  r->count++;
  r->rc = answer->result;
  r->is_error = answer->is_error;
  snprintf(r->json, sizeof r->json, "%.*s", (int)answer->len, answer->json);
}

/* b calls a method of a's. */
static int64_t ask(const char *method, const char *params, result *r) {
  int64_t id = 0;
  *r = (result){0};
  int rc = mrpc_peer_call(b.talk.peer, method, params, 200, on_answer, r, &id);
  if (rc) ok(false, "%s: %s", method, mrpc_strerror(rc));
  return id;
}

static void begin(void) {
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  is_cut = false;
  a.talk.now = b.talk.now = 1000000000;
  if (script_open(&a, both) || script_open(&b, both)) abort();
  script_log(&a);
  script_log(&b);
}

static void end(void) {
  bool all = script_end(&a);
  ok(script_end(&b) && all, "all memory came back");
}

static void test_nested(void) {
  result r;
  begin();
  ask("nest", "[100]", &r);
  talk_on(1);
  is_str(r.json, "100", "a hundred calls in one another");
  ask("fail", "[50]", &r);
  talk_on(1);
  ok(r.is_error, "an error goes up as many");
  is_str(r.json, "{\"code\":7,\"message\":\"deep\",\"data\":{\"n\":null}}",
         "unchanged");
  end();
}

static void test_many(void) {
  result r;
  begin();
  ask("many", "[1000]", &r);
  talk_on(3);
  is_str(r.json, "500500", "a thousand in flight, answered in any order");
  end();
}

static void test_cancel(void) {
  result r;
  begin();
  int64_t id = ask("closing", "[]", &r);
  talk_on(1);
  mrpc_peer_cancel(b.talk.peer, id);
  talk_on(1);
  ok(r.count == 0, "who has given up isn't answered");
  ok(strstr(script_log(&a), "closed by\tRequest cancelled\tfalse"),
     "<close> sees the cancel: %s", a.log);
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(b.talk.peer, &stats);
  ok(stats.in_flight == 0, "the call that it waited for is cancelled too");
  id = ask("caught", "[]", &r);
  talk_on(1);
  mrpc_peer_cancel(b.talk.peer, id);
  talk_on(2);
  script_log(&a);
  ok(strstr(a.log, "false\ttrue\ttrue"), "pcall sees it: %s", a.log);
  ok(strstr(a.log, "\nfalse\ttrue at="), "and each wait that follows");
  ask("in_task", "[]", &r);
  talk_on(3);
  is_str(r.json, "true", "a spawned task is cancelled by its maker");
  mrpc_peer_get_stats(b.talk.peer, &stats);
  ok(stats.in_flight == 0, "and the other side with it");
  end();
}

static void test_death(void) {
  result r;
  begin();
  ask("closing", "[]", &r);
  talk_on(1);
  is_cut = true;
  mrpc_peer_drop(a.talk.peer);
  talk_on(1);
  ok(strstr(script_log(&a), "closed by\tRequest cancelled\ttrue"),
     "a call whose caller dies is cancelled: %s", a.log);
  end();
  begin();
  ask("keep", "[]", &r);
  talk_on(1);
  ask("closing", "[]", &r);
  talk_on(1);
  mrpc_peer_eof(a.talk.peer);
  talk_on(1);
  ok(r.is_error && strstr(r.json, GONE),
     "the end of input ends calls out at once: %s", r.json);
  end();
}

static void test_reload(void) {
  result r;
  begin();
  ask("slow", "[2]", &r);
  result other;
  ask("ask", "[\"slow\",[1]]", &other);
  talk_on(0.5);
  fake_put(&a.fake, "init.lua", "return {}\n");
  mrpc_runtime_reload(a.runtime, true);
  talk_on(3);
  is_str(other.json, "1", "a call out survives a reload");
  is_str(r.json, "2", "as waits do");
  end();
}

static void test_free(void) {
  result r;
  begin();
  for (int i = 0; i < 10; i++) ask("closing", "[]", &r);
  ask("many", "[10]", &r);
  talk_on(0);
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
  result r;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  a.talk.now = b.talk.now = 1000000000;
  a.config.limits = &(mrpc_limits){.wait = 3};
  if (script_open(&a, both) || script_open(&b, both)) abort();
  ask("ask", "[\"slow\",[100]]", &r);
  talk_on(2.9);
  ok(r.count == 0, "limits.wait is the timeout");
  talk_on(0.2);
  ok(strstr(r.json, "-32051"), "of calls that give none: %s", r.json);
  ask("ask", "[\"slow\",[10],{\"timeout\":20}]", &r);
  talk_on(11);
  is_str(r.json, "10", "those that do have their own");
  ask("ask", "[\"slow\",[10],{\"timeout\":0}]", &r);
  talk_on(0.1);
  ok(strstr(r.json, "-32051"), "zero is at once");
  end();
}

/* The runtime `a` has no memory. */
static void run_all(oom *o) {
  result r;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  is_cut = false;
  a.talk.now = b.talk.now = 1000000000;
  a.quiet = b.quiet = true;
  if (script_open(&b, both)) abort();
  a.talk.mem = *o;
  if (script_open(&a, both) == MRPC_OK) {
    ask("nest", "[4]", &r);
    talk_on(1);
    ask("fail", "[2]", &r);
    talk_on(1);
    ask("many", "[3]", &r);
    talk_on(2);
    int64_t id = ask("closing", "[]", &r);
    talk_on(1);
    mrpc_peer_cancel(b.talk.peer, id);
    talk_on(1);
    ask("closing", "[]", &r);
    talk_on(1);
    mrpc_peer_drop(a.talk.peer);
    talk_on(1);
  }
  (void)script_end(&a);
  *o = a.talk.mem;
  (void)script_end(&b);
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
