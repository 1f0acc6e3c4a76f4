/* SPDX-License-Identifier: MIT
 *
 * Conversations wrecked at random. Some peers call methods that wait, call
 * back, spawn, publish and close one another; they cancel, answer rightly,
 * twice and for others, stop to read, drop dead and come again, while the
 * code is reloaded. Whatever has begun must have ended in the end. */
#include "oom.h"
#include "pick.h"
#include "stage.h"

enum { PEERS = 6, ASKED = 8, ROUNDS = 40000 };

static const char methods[] =
    "local M, s = {}, rpc.state('wreck')\n"
    "local topic = rpc.topic('news')\n"
    "s.begun, s.ended, s.peers = s.begun or 0, s.ended or 0, s.peers or {}\n"
    "local function guard()\n"
    "  s.begun = s.begun + 1\n"
    "  return setmetatable({}, {__close = function()\n"
    "    s.ended = s.ended + 1 end})\n"
    "end\n"
    "function M.doze(n) local _ <close> = guard() rpc.sleep(n / 10) end\n"
    "function M.ask(n)\n"
    "  local _ <close> = guard()\n"
    "  return rpc.peer():call('q', {n}, {timeout = n / 10})\n"
    "end\n"
    "function M.stubborn(n)\n"
    "  local _ <close> = guard()\n"
    "  local peer = rpc.peer()\n"
    "  for i = 1, n do pcall(peer.call, peer, 'q', {i}, {timeout = 1}) end\n"
    "  return n\n"
    "end\n"
    "function M.spawn(n)\n"
    "  local _ <close> = guard()\n"
    "  local tasks = {}\n"
    "  for i = 1, n do\n"
    "    tasks[i] = rpc.spawn(function()\n"
    "      local _ <close> = guard()\n"
    "      return rpc.peer():call('q', {i}, {timeout = 1})\n"
    "    end)\n"
    "  end\n"
    "  if n > 3 then tasks[1]:cancel() end\n"
    "  for i = 1, n // 2 do pcall(tasks[i].wait, tasks[i]) end\n"
    "end\n"
    "function M.other(n)\n"
    "  local _ <close> = guard()\n"
    "  for _, peer in pairs(s.peers) do\n"
    "    n = n - 1\n"
    "    if n == 0 then return peer:call('q', nil, {timeout = 1}) end\n"
    "  end\n"
    "end\n"
    "function M.shut(n)\n"
    "  for _, peer in pairs(s.peers) do\n"
    "    n = n - 1\n"
    "    if n == 0 then peer:close('bye') end\n"
    "  end\n"
    "end\n"
    "function M.follow(_) return topic:add(rpc.peer()) end\n"
    "function M.leave(_) return topic:remove(rpc.peer()) end\n"
    "function M.publish(n)\n"
    "  return topic:publish('news', {('x'):rep(n * 500)})\n"
    "end\n"
    "function M.counts() return {s.begun - s.ended, topic:count()} end\n"
    "rpc.on('connect', function(peer)\n"
    "  local _ <close> = guard()\n"
    "  s.peers[peer.id] = peer\n"
    "  peer:call('q', nil, {timeout = 0.5})\n"
    "end)\n"
    "rpc.on('disconnect', function(peer)\n"
    "  local _ <close> = guard()\n"
    "  s.peers[peer.id] = nil\n"
    "  rpc.sleep(0.1)\n"
    "end)\n"
    "return M\n";

static const char turns[] =
    "rpc.serial()\n"
    "local s = rpc.state('wreck')\n"
    "return function(n)\n"
    "  s.begun = s.begun + 1\n"
    "  local _ <close> = setmetatable({}, {__close = function()\n"
    "    s.ended = s.ended + 1 end})\n"
    "  rpc.sleep(n / 20)\n"
    "  return rpc.peer():call('q', {n}, {timeout = 1})\n"
    "end\n";

static const char *const names[] = {
    "w.doze", "w.ask",    "w.stubborn", "w.spawn",   "w.other", "w.shut",
    "turns",  "w.follow", "w.leave",    "w.publish", "nothing"};

typedef struct side {
  mrpc_peer *peer;
  bool is_deaf;
  long asked[ASKED]; /* ids of calls to it, 0: none */
  unsigned next;
} side;

static stage S;
static side sides[PEERS];
static unsigned long told; /* bytes that came out */

/* Ends of calls that must have been seen, and how often they were. */
static const char *const ends[] = {
    "\"result\":",     "\"code\":-32800",    "\"code\":-32051",
    "\"code\":-32050", "\"code\":1,",        "\"method\":\"$/cancelRequest\"",
    "\"code\":-32601", "\"method\":\"news\""};
enum { ENDS = sizeof ends / sizeof *ends };
static unsigned seen[ENDS];

static void open_side(side *one) {
  static const mrpc_limits limits = {
      .output = 20000, .in_flight = 8, .half_closed = 1, .write_time = 3};
  mrpc_peer_config config = {.env = S.env,
                             .dispatch = S.dispatch,
                             .limits = &limits,
                             .transport = "test"};
  mrpc_framing *framing = NULL;
  *one = (side){.is_deaf = false};
  if (mrpc_framing_line(S.env, &limits, &framing) ||
      mrpc_peer_new(&config, framing, &one->peer))
    abort();
}

static void close_side(side *one) {
  mrpc_peer_free(one->peer);
  one->peer = NULL;
}

/* Notes the ids of the calls in the output; pieces may cut one. */
static void note_calls(side *one, const char *bytes, size_t len) {
  static const char mark[] = "\"method\":\"q\"";
  const char *at = bytes, *end = bytes + len;
  while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
    at += sizeof mark - 1;
    const char *id = memmem(at, (size_t)(end - at), "\"id\":", 5);
    if (id && id + 7 < end)
      one->asked[one->next++ % ASKED] = strtol(id + 5, NULL, 10);
  }
}

static void note_ends(const char *bytes, size_t len) {
  for (size_t i = 0; i < ENDS; i++) {
    const char *at = bytes;
    size_t size = strlen(ends[i]);
    while ((at = memmem(at, len - (size_t)(at - bytes), ends[i], size))) {
      seen[i]++;
      at += size;
    }
  }
}

static void listen(side *one) {
  const char *bytes;
  size_t len = mrpc_peer_output(one->peer, &bytes);
  if (one->is_deaf || !len) return;
  if (pick(5) == 0) len = 1 + pick((uint32_t)len);
  note_calls(one, bytes, len);
  note_ends(bytes, len);
  told += len;
  mrpc_peer_sent(one->peer, len);
}

static void say(side *one, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  size_t cut = pick(4) ? 0 : pick((uint32_t)len);
  mrpc_peer_recv(one->peer, text, cut);
  mrpc_peer_recv(one->peer, text + cut, (size_t)len - cut);
}

static void request(side *one) {
  const char *name = names[pick(sizeof names / sizeof *names)];
  if (pick(5) == 0)
    say(one, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[%u]}\n", name,
        pick(8));
  else
    say(one,
        "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[%u],\"id\":%u}\n",
        name, pick(8), pick(6));
}

static void batch(side *one) {
  say(one,
      "[{\"jsonrpc\":\"2.0\",\"method\":\"w.ask\",\"params\":[3],\"id\":%u},"
      "{\"jsonrpc\":\"2.0\",\"method\":\"w.doze\",\"params\":[2],\"id\":%u}]\n",
      pick(6), pick(6));
}

static void cancel(side *one) {
  if (pick(2))
    say(one,
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\","
        "\"params\":{\"id\":%u}}\n",
        pick(6));
  else
    say(one,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":%u}}\n",
        pick(6));
}

/* Mostly on the connection that was asked. */
static void answer(side *one) {
  long id = one->asked[pick(ASKED)];
  side *by = pick(8) ? one : &sides[pick(PEERS)];
  if (!id || !by->peer) return;
  for (uint32_t times = pick(6) ? 1 : 2; times; times--)
    if (pick(4))
      say(by, "{\"jsonrpc\":\"2.0\",\"result\":[%u],\"id\":%ld}\n", pick(9),
          id);
    else
      say(by,
          "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"no\"},"
          "\"id\":%ld}\n",
          id);
}

static void wreck(side *one) {
  switch (pick(8)) {
    case 0: mrpc_peer_drop(one->peer); break;
    case 1: mrpc_peer_eof(one->peer); break;
    case 2: mrpc_peer_close(one->peer, "enough"); break;
    case 3: mrpc_peer_drain(one->peer); break;
    case 4: say(one, "GET / HTTP/1.1\r\n"); break;
    case 5: close_side(one); break;
    default: one->is_deaf = !one->is_deaf;
  }
}

static void reload(void) {
  if (pick(2)) fake_put(&S.f, "w.lua", methods);
  if (mrpc_runtime_reload(S.runtime, pick(2))) abort();
}

static void play(void) {
  side *one = &sides[pick(PEERS)];
  if (!one->peer) open_side(one);
  uint32_t what = pick(100);
  if (what < 35)
    request(one);
  else if (what < 40)
    batch(one);
  else if (what < 50)
    cancel(one);
  else if (what < 72)
    answer(one);
  else if (what < 94)
    stage_pass(&S, pick(20) / 100.0);
  else if (what < 99)
    wreck(one);
  else
    reload();
  for (int i = 0; i < PEERS; i++) {
    if (!sides[i].peer) continue;
    listen(&sides[i]);
    if (mrpc_peer_is_done(sides[i].peer)) close_side(&sides[i]);
  }
}

static void test_wrecks(uint32_t seed) {
  oom o = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
  S = (stage){0};
  pick_state = seed;
  told = 0;
  memset(seen, 0, sizeof seen);
  if (stage_open(&S, &config)) abort();
  fake_put(&S.f, "w.lua", methods);
  fake_put(&S.f, "turns.lua", turns);
  ok(stage_load(&S, true)->ok, "seed %u: it loads: %s", seed,
     stage_faults(mrpc_runtime_report(S.runtime)));
  for (int i = 0; i < ROUNDS; i++) play();
  for (int i = 0; i < PEERS; i++) close_side(&sides[i]);
  stage_pass(&S, 30);
  is_str(stage_call(&S, "w.counts"), "[0,0]", "all that has begun has ended");
  for (size_t i = 0; i < ENDS; i++)
    ok(seen[i] > 3, "of %lu bytes %u times %s", told, seen[i], ends[i]);
  stage_close(&S);
  ok(o.live == 0, "seed %u: all memory came back", seed);
}

int main(void) {
  const char *given = getenv("MOONRPC_SEED");
  uint32_t seed = given ? (uint32_t)atoi(given) : 1;
  for (uint32_t i = 0; i < 4; i++) test_wrecks(seed + i);
  return tap_finish();
}
