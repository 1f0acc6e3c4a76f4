/* SPDX-License-Identifier: MIT
 *
 * What connections leave behind: a hundred thousand of them, with all that
 * scripts can do with a peer, as little as ten thousand. */
#include <lua.h>

#include "oom.h"
#include "runtime/runtime.h"
#include "stage.h"

#ifdef NDEBUG
enum { FEW = 10000, MANY = 100000 };
#else
enum { FEW = 2000, MANY = 10000 };
#endif

enum { WEAK = 1024 }; /* bytes */

static const char meeting[] =
    "rpc.serial()\n"
    "local M, all = {}, rpc.topic('all')\n"
    "rpc.on('connect', function(peer) peer.data.since = rpc.now() end)\n"
    "rpc.on('disconnect', function(peer)\n"
    "  assert(peer:closed() and peer.data.since)\n"
    "  all:publish('gone', {peer.id})\n"
    "end)\n"
    "function M.meet()\n"
    "  local peer = rpc.peer()\n"
    "  all:add(peer)\n"
    "  rpc.topic('odd'):add(peer)\n"
    "  rpc.topic('odd'):remove(peer)\n"
    "  all:publish('hello', {peer.id})\n"
    "  rpc.spawn(function()\n"
    "    pcall(function() return rpc.peer():call('early', {1}) end)\n"
    "  end)\n"
    "  pcall(function() return peer:call('late', nil, {timeout = 0.5}) end)\n"
    "  return peer:call('what', {peer.id})\n"
    "end\n"
    "return M\n";

/* One connection, which goes in one of four ways. */
static void meet(stage *s, int way) {
  static const char calls[] =
      "{\"jsonrpc\":\"2.0\",\"method\":\"meet\",\"id\":1}\n"
      "{\"jsonrpc\":\"2.0\",\"method\":\"meet\",\"id\":2}\n";
  static const char answers[] =
      "{\"jsonrpc\":\"2.0\",\"result\":[1],\"id\":1}\n"
      "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"no\"},\"id\":2}"
      "\n"
      "{\"jsonrpc\":\"2.0\",\"result\":[1],\"id\":3}\n";
  static const char cancel[] =
      "{\"jsonrpc\":\"2.0\",\"method\":\"$/"
      "cancelRequest\",\"params\":{\"id\":1}}"
      "\n";
  mrpc_framing *framing;
  mrpc_peer *peer;
  mrpc_peer_config config = {.env = s->env,
                             .dispatch = s->dispatch,
                             .transport = "test",
                             .address = "127.0.0.1:12345"};
  if (mrpc_framing_line(s->env, NULL, &framing)) abort();
  if (mrpc_peer_new(&config, framing, &peer)) abort();
  mrpc_peer_recv(peer, calls, sizeof calls - 1);
  if (way == 0) mrpc_peer_recv(peer, answers, sizeof answers - 1);
  if (way == 1) mrpc_peer_recv(peer, cancel, sizeof cancel - 1);
  if (way == 2) stage_pass(s, 1);
  if (way == 3) mrpc_peer_close(peer, "enough");
  const char *bytes;
  mrpc_peer_sent(peer, mrpc_peer_output(peer, &bytes));
  stage_pass(s, 0);
  mrpc_peer_free(peer);
  stage_pass(s, 0);
}

static size_t meet_often(stage *s, const oom *memory, int times) {
  for (int i = 0; i < times; i++) meet(s, i % 4);
  stage_pass(s, 100);
  lua_gc(s->runtime->L, LUA_GCCOLLECT);
  lua_gc(s->runtime->L, LUA_GCCOLLECT);
  return memory->live;
}

int main(void) {
  static stage s;
  oom memory = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &memory};
  fake_put(&s.f, "init.lua", meeting);
  ok(stage_open(&s, &config) == MRPC_OK && stage_load(&s, true)->ok, "loads");
  size_t early = meet_often(&s, &memory, FEW);
  size_t heap = s.runtime->memory;
  size_t late = meet_often(&s, &memory, MANY);
  /* Lua's tables of weak values keep room by when the collector ran. That is
   * less than a byte for each of the connections between. */
  ok(late < early + WEAK, "%d connections leave no more behind than %d", MANY,
     FEW);
  ok(s.runtime->memory < heap + WEAK, "in Lua's heap too");
  printf("# %zu, then %zu bytes; heap %zu, then %zu\n", early, late, heap,
         s.runtime->memory);
  ok(mrpc_runtime_is_quiet(s.runtime), "nothing runs any more");
  stage_close(&s);
  ok(memory.live == 0, "all memory came back");
  return tap_finish();
}
