/* SPDX-License-Identifier: MIT
 *
 * Two runtimes in a storm: calls both ways, in one another, in queues and
 * topics; cancels, timeouts, reloads, closes, and the end at any moment, all by
 * chance. Whatever comes, each call has one answer at most, nothing waits at
 * the end, and all memory comes back. A run is named by its number:
 *
 *     test_races 17         one run
 *     test_races 0 10000    so many from the first on */
#include "pair.h"
#include "pick.h"

enum { CALLS = 24, STEPS = 40 };
#ifdef NDEBUG
enum { RUNS = 10000 };
#else
enum { RUNS = 1500 };
#endif

static const char storm[] =
    "local M, kept = {}, rpc.state('kept')\n"
    "local topic = rpc.topic('t')\n"
    "rpc.on('connect', function(p) p.data.n = 1 end)\n"
    "rpc.on('disconnect', function(p) topic:publish('gone', {p.id}) end)\n"
    "rpc.on('reload', function()\n"
    "  if kept.peer then pcall(kept.peer.call, kept.peer, 'nap', {1}) end\n"
    "end)\n"
    "function M.nap(s) rpc.sleep(s) return s end\n"
    "function M.nest(n)\n"
    "  kept.peer = rpc.peer()\n"
    "  if n == 0 then return 0 end\n"
    "  return 1 + rpc.peer():call('nest', {n - 1})\n"
    "end\n"
    "function M.short(s) return rpc.peer():call('nap', {s}, {timeout = 1}) "
    "end\n"
    "function M.tasks(n)\n"
    "  local tasks = {}\n"
    "  for i = 1, n do\n"
    "    tasks[i] = rpc.spawn(function(...) return rpc.peer():call(...) end,\n"
    "      'nap', {i / 2})\n"
    "  end\n"
    "  tasks[1]:cancel()\n"
    "  for i = 2, n do tasks[i]:wait() end\n"
    "  return n\n"
    "end\n"
    "function M.stubborn()\n"
    "  local x <close> = setmetatable({}, {__close = function()\n"
    "    pcall(rpc.sleep, 1)\n"
    "    pcall(function() rpc.peer():call('nap', {1}) end)\n"
    "  end})\n"
    "  pcall(function() rpc.peer():call('nap', {3}) end)\n"
    "  return rpc.peer():call('nap', {3})\n"
    "end\n"
    "function M.follow() topic:add(rpc.peer()) return topic:publish('x', {1}) "
    "end\n"
    "function M.leave() topic:remove(rpc.peer()) kept.peer = nil end\n"
    "function M.close() rpc.peer():close('now') end\n"
    "function M.later()\n"
    "  local p = rpc.peer()\n"
    "  rpc.after(1, function() pcall(p.call, p, 'nest', {2}) end)\n"
    "end\n"
    "return M\n";

static const char queue[] =
    "rpc.serial()\n"
    "return {work = function(s) rpc.sleep(s) return s end,\n"
    "  ask = function(s) return rpc.peer():call('serial.work', {s},\n"
    "    {timeout = 2}) end}\n";

static const char *const calls[][2] = {
    {"nap", "[1]"},         {"nest", "[5]"},       {"short", "[0.5]"},
    {"short", "[3]"},       {"tasks", "[4]"},      {"stubborn", "[]"},
    {"follow", "[]"},       {"leave", "[]"},       {"later", "[]"},
    {"serial.work", "[1]"}, {"serial.ask", "[1]"}, {"nothing", "[]"},
};

typedef struct attempt {
  int64_t id;
  script *from;
  pair_result result;
  bool is_cancelled;
} attempt;

static attempt attempts[CALLS];
static size_t attempt_count;

static void start_call(script *from) {
  attempt *at = &attempts[attempt_count];
  const char *const *what = calls[pick(sizeof calls / sizeof *calls)];
  if (attempt_count == CALLS) return;
  *at = (attempt){.from = from};
  double timeout = pick(4) ? 100 : 1;
  if (mrpc_peer_call(from->talk.peer, what[0], what[1], timeout, pair_on_answer,
                     &at->result, &at->id) == MRPC_OK)
    attempt_count++;
}

static void cancel_call(void) {
  if (!attempt_count) return;
  attempt *at = &attempts[pick((uint32_t)attempt_count)];
  int rc = mrpc_peer_cancel(at->from->talk.peer, at->id);
  at->is_cancelled |= rc == MRPC_OK;
}

/* What the other side said, in pieces and late. */
static void pass_some(script *from, script *to) {
  const char *bytes;
  size_t len = mrpc_peer_output(from->talk.peer, &bytes);
  if (pick(3) == 0) len = len ? pick((uint32_t)len) : 0;
  mrpc_peer_recv(to->talk.peer, bytes, len);
  mrpc_peer_sent(from->talk.peer, len);
}

static void step(void) {
  script *here = pick(2) ? &a : &b, *there = here == &a ? &b : &a;
  switch (pick(16)) {
    case 0:
    case 1:
    case 2:
    case 3: start_call(here); break;
    case 4: cancel_call(); break;
    case 5: mrpc_runtime_reload(here->runtime, true); break;
    case 6: talk_run(&here->talk); break;
    case 7:
    case 8:
      a.talk.now = b.talk.now += pick(1000) * (uint64_t)1000000;
      talk_run(&a.talk);
      talk_run(&b.talk);
      break;
    default: pass_some(here, there); break;
  }
}

/* How it ends: by itself, by a close, a half-close, a death, or with one
 * runtime first. */
static void finish(void) {
  switch (pick(6)) {
    case 0: pair_talk(200); break;
    case 1: mrpc_peer_close(a.talk.peer, "enough"); break;
    case 2: mrpc_peer_eof(a.talk.peer); break;
    case 3: mrpc_peer_drop(b.talk.peer); break;
    case 4:
      mrpc_runtime_free(a.runtime);
      a.runtime = NULL;
      break;
    default: break;
  }
  if (pick(2)) pair_talk(300);
}

static bool is_settled(const mrpc_peer *peer) {
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(peer, &stats);
  return stats.in_flight == 0 && stats.pending == 0;
}

/* 0, or what was wrong. */
static const char *run(uint32_t number) {
  const char *wrong = NULL;
  pick_state = number * 2654435761U + 1;
  attempt_count = 0;
  a.quiet = b.quiet = true;
  if (pick(3) == 0) a.talk.limits.output = 200 + pick(400);
  if (pick(3) == 0) b.talk.limits.in_flight = 1 + pick(4);
  fake_put(&a.fake, "serial.lua", queue);
  fake_put(&b.fake, "serial.lua", queue);
  if (pair_open(storm)) return "it doesn't open";
  for (int i = 0; i < STEPS; i++) step();
  bool is_quiet = pick(2) == 0;
  if (is_quiet) {
    pair_talk(300);
    if (!is_settled(a.talk.peer) || !is_settled(b.talk.peer))
      wrong = "something waits for ever";
  }
  finish();
  if (!pair_close(NULL)) wrong = "memory is lost";
  for (size_t i = 0; i < attempt_count; i++) {
    const attempt *at = &attempts[i];
    if (at->result.count != (at->is_cancelled ? 0 : 1))
      wrong = "a call wasn't answered once";
  }
  return wrong;
}

int main(int argc, char **argv) {
  uint32_t first = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  uint32_t count = argc > 2 ? (uint32_t)atoi(argv[2]) : argc > 1 ? 1 : RUNS;
  uint32_t failed = 0;
  for (uint32_t i = first; i < first + count; i++) {
    const char *wrong = run(i);
    if (wrong && failed++ < 10) printf("# run %u: %s\n", i, wrong);
  }
  ok(failed == 0, "%u storms end well", count);
  return tap_finish();
}
