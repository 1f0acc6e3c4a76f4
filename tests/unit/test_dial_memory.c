/* SPDX-License-Identifier: MIT
 *
 * rpc.connect with each allocation failing in turn. */
#include "base/env.h"
#include "dial.h"
#include "oom.h"
#include "runtime/runtime.h"

static void without_memory(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  if (begin(&config) == MRPC_OK) {
    stage_call(&S, "open");
    if (count) open_dial(0);
    turn();
    stage_call(&S, "call");
    said(0);
    answer(0, 1, "7");
    turn();
    if (count && dials[0].peer) end_dial(0, "pulled");
    stage_call(&S, "again");
    stage_pass(&S, 0.3);
    if (count > 1 && dials[1].on_open) open_dial(1);
    turn();
  }
  finish();
}

/* Functions that the registry holds for C. */
static int count_references(void) {
  lua_State *L = S.runtime->L;
  int found = 0;
  lua_gc(L, LUA_GCCOLLECT);
  for (lua_pushnil(L); lua_next(L, LUA_REGISTRYINDEX); lua_pop(L, 1))
    found += lua_isinteger(L, -2) && lua_isfunction(L, -1);
  return found;
}

/* The timers' heap is full, so that the one of the wait needs memory, too. */
static void fill_timers(mrpc_timer *timers, size_t most) {
  for (size_t i = 0; i < most && S.env->timers.count < S.env->timers.cap; i++)
    mrpc_timer_start(&S.env->timers, &timers[i], UINT64_MAX - 1);
}

/* What a failed try leaves in a runtime that lives on. */
static void test_leftovers(void) {
  static mrpc_timer timers[64];
  int leaks = 0, fails = 0;
  for (bool is_hit = true; is_hit; fails++) {
    oom o = {0};
    mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
    memset(timers, 0, sizeof timers);
    begin(&config);
    refusal = "tcp:x: not today";
    stage_call(&S, "open");
    fill_timers(timers, 64);
    int before = count_references();
    o.fail_at = o.count + (size_t)fails + 1;
    stage_call(&S, "open");
    is_hit = o.hit;
    o.fail_at = 0;
    turn();
    leaks += count_references() != before;
    for (int i = 0; i < 64; i++) mrpc_timer_stop(&S.env->timers, &timers[i]);
    finish();
  }
  ok(leaks == 0, "%d failing allocations, %d left something", fails, leaks);
}

static void handshake_without_memory(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  if (begin(&config) == MRPC_OK) {
    kind = WS;
    stage_call(&S, "open");
    if (count) open_dial(0);
    turn();
    answer_http(0, "401 Unauthorized", "no");
    turn();
    if (count && dials[0].peer) end_dial(0, "refused");
    turn();
  }
  finish();
}

static void pool_without_memory(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  if (begin(&config) == MRPC_OK) {
    kind = HTTP;
    stage_call(&S, "web");
    if (count) open_dial(0);
    turn();
    stage_call(&S, "call");
    stage_call(&S, "note");
    stage_call(&S, "again");
    if (count > 1 && dials[1].on_open) open_dial(1);
    turn();
    said(0);
    answer_http(0, "200 OK", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}");
    turn();
    said(1);
    answer_http(1, "204 No Content", "");
    turn();
    if (count && dials[0].peer) end_dial(0, "pulled");
    stage_pass(&S, 4.5);
  }
  finish();
}

int main(void) {
  test_leftovers();
  oom_each("connect", without_memory, false);
  oom_each("connect, all from one on", without_memory, true);
  oom_each("handshake", handshake_without_memory, false);
  oom_each("pool", pool_without_memory, false);
  oom_each("pool, all from one on", pool_without_memory, true);
  return tap_finish();
}
