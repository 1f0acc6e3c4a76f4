/* SPDX-License-Identifier: MIT
 *
 * Nobody reads the clock when a call starts. Who runs long is found from
 * outside: a sampling signal calls mrpc_runtime_interrupt, which gives the
 * running coroutine a hook; the first look of the hook starts the clock, and a
 * later one finds the deadline passed. So a limit strikes at most two sampling
 * periods late, and a short call costs nothing.
 *
 * A kill is an error that our pcall doesn't catch. The hook stays, so that
 * __close metamethods that loop are ended too, after a time of grace. Raising
 * from a hook leaves hooks switched off in a coroutine that dies of it; inside
 * the script's own coroutines a kill therefore yields, and coroutine.c, which
 * resumed them, closes them and throws on. */
#include "runtime/limit.h"

#include <lauxlib.h>

#include "runtime/schedule.h"
#include "runtime/text.h"

enum {
  SLICE_COUNT = 5000,      /* instructions between looks at a sliced task */
  STANDING_COUNT = 100000, /* and where the embedder has no signal */
  GRACE_COUNT = 1000,      /* and at a killed one */
  GRACE_NS = 100000000,    /* for __close metamethods after a kill */
  RETHROWN_MAX = 250       /* more pcalls than Lua nests on the C stack */
};

static const char kill_value;

static void hook(lua_State *L, lua_Debug *ar);

/* The hook that a coroutine has when nothing special goes on. */
static void disarm(lua_State *L, const mrpc_task *task) {
  if (task && task->sliced)
    lua_sethook(L, hook, LUA_MASKCOUNT, SLICE_COUNT);
  else if (mrpc_runtime_of(L)->standing_hook)
    lua_sethook(L, hook, LUA_MASKCOUNT, STANDING_COUNT);
  else
    lua_sethook(L, NULL, 0, 0);
}

void mrpc_limit_open(lua_State *L) {
  disarm(L, NULL);
}

void mrpc_limit_arm(lua_State *L) {
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
}

void mrpc_limit_start(mrpc_task *task) {
  if (!task->sliced) return;
  disarm(task->co, task);
  mrpc_limit_resume(task);
}

void mrpc_limit_resume(mrpc_task *task) {
  task->since = mrpc_env_now(task->runtime->env);
}

void mrpc_limit_pause(mrpc_task *task) {
  if (!task->since) return;
  task->run_ns += mrpc_env_now(task->runtime->env) - task->since;
  task->since = 0;
  if (!task->call && !task->sliced) task->run_ns = 0;
}

/* A hook that the script has set would be there in the next call too. */
void mrpc_limit_end(mrpc_task *task) {
  lua_Hook left = lua_gethook(task->co);
  bool is_ending = task->sliced || task->killed;
  if (is_ending || (left && left != hook) ||
      (!left && task->runtime->standing_hook))
    disarm(task->co, NULL);
  if (is_ending) task->runtime->alarmed = 0;
}

void mrpc_limit_kill(mrpc_task *task, int code, const char *why) {
  task->killed = true;
  task->thrown = false;
  task->rethrown = 0;
  task->kill_code = code;
  mrpc_text text = mrpc_text_in(task->kill_why, sizeof task->kill_why);
  mrpc_text_add(&text, why);
}

/* From here on only __close metamethods run, for a while. */
static void begin_grace(lua_State *L, mrpc_task *task) {
  if (!task->thrown) {
    task->thrown = true;
    task->grace = mrpc_env_now(task->runtime->env) + GRACE_NS;
  }
  task->runtime->alarmed = 1;
  lua_sethook(L, hook, LUA_MASKCOUNT, GRACE_COUNT);
}

int mrpc_limit_throw(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  if (rt->finalizer_late) return luaL_error(L, "a finalizer ran too long");
  begin_grace(L, rt->current);
  lua_pushlightuserdata(L, (void *)&kill_value);
  return lua_error(L);
}

/* Each pcall that an error unwinds takes Lua a walk over all that is called in
 * the coroutine. Very many, which a script nests that goes on calling when the
 * C stack has overflown, are left at once. */
int mrpc_limit_rethrow(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  if (!rt->finalizer_late && lua_isyieldable(L) &&
      ++rt->current->rethrown > RETHROWN_MAX)
    return lua_yield(L, 0);
  return lua_error(L);
}

/* "math.lua:3: ran longer than 5000 ms", the place being where the hook
 * struck. */
static void kill_for_time(lua_State *L, lua_Debug *ar, mrpc_task *task) {
  char why[sizeof task->kill_why];
  mrpc_text text = mrpc_text_in(why, sizeof why);
  if (lua_getinfo(L, "Sl", ar) && ar->currentline > 0) {
    mrpc_text_add(&text, ar->short_src);
    mrpc_text_add(&text, ":");
    mrpc_text_addu(&text, (uint64_t)ar->currentline);
    mrpc_text_add(&text, ": ");
  }
  mrpc_text_add(&text, "ran longer than ");
  mrpc_text_addu(&text, task->limit_ns / 1000000);
  mrpc_text_add(&text, " ms");
  mrpc_limit_kill(task, MRPC_SCRIPT_LIMIT, why);
}

/* Ends what runs: by an error, or by leaving a coroutine of the script's. One
 * that can't be left dies without hooks, so nothing more is run in it. */
static void strike(lua_State *L, mrpc_task *task) {
  begin_grace(L, task);
  if (L != task->co && lua_isyieldable(L)) {
    lua_yield(L, 0);
    return;
  }
  if (L != task->co) task->mute = L;
  mrpc_limit_throw(L);
}

/* The load goes on in the loop's next turn, if it can be left here. */
static void leave_slice(lua_State *L, mrpc_task *task) {
  if (!lua_isyieldable(L) || task->runtime->pins) return;
  mrpc_limit_pause(task);
  mrpc_task_yield_slice(L, task);
  lua_yield(L, 0);
}

static void hook(lua_State *L, lua_Debug *ar) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_task *task = rt->current;
  uint64_t now = mrpc_env_now(rt->env);
  if (task && task->killed) {
    if (!task->thrown || now >= task->grace) strike(L, task);
    return;
  }
  rt->alarmed = 0;
  disarm(L, task);
  if (!task) return;
  if (!task->since) task->since = now;
  uint64_t ran = now - task->since;
  if (task->limit_ns && task->run_ns + ran > task->limit_ns) {
    kill_for_time(L, ar, task);
    strike(L, task);
  } else if (task->sliced && ran >= MRPC_SLICE_NS) {
    leave_slice(L, task);
  }
}

void mrpc_runtime_interrupt(mrpc_runtime *runtime) {
  if (!runtime->running) return;
  runtime->alarmed = 1;
  mrpc_limit_arm(runtime->running);
}

uint32_t mrpc_runtime_slice(const mrpc_runtime *runtime) {
  return runtime->slice;
}
