/* SPDX-License-Identifier: MIT
 *
 * rpc.after and rpc.every. A timer belongs to the file whose code made it and
 * stops when that is replaced. While it is started or its function runs, the
 * registry keeps the userdata alive; the function is its user value. */
#include <lauxlib.h>

#include "runtime/api.h"
#include "runtime/error.h"
#include "runtime/object.h"
#include "runtime/task.h"

static const char meta_key; /* in the registry: its address counts */

static const double SHORTEST = 0.001; /* seconds between two runs */

typedef struct script_timer {
  mrpc_timer timer;
  mrpc_owned owned;
  mrpc_runtime *runtime;
  mrpc_file *owner; /* whose code the function is; held */
  double period;    /* seconds; 0: once */
  bool is_running;  /* its function; a tick meanwhile is left out */
  bool at_load;     /* it was made while its file was loaded */
  int ref;          /* keeps the userdata; LUA_NOREF when it is idle */
} script_timer;

/* Lets go of a timer that has nothing more to do. */
static void relax(script_timer *t) {
  if (mrpc_timer_is_started(&t->timer) || t->is_running) return;
  mrpc_owned_remove(&t->owned);
  mrpc_file *owner = t->owner;
  int ref = t->ref;
  t->owner = NULL;
  t->ref = LUA_NOREF;
  luaL_unref(t->runtime->L, LUA_REGISTRYINDEX, ref);
  mrpc_file_drop(owner);
}

static void stop(script_timer *t) {
  t->period = 0;
  mrpc_timer_stop(&t->runtime->env->timers, &t->timer);
  relax(t);
}

static void on_close(mrpc_owned *owned) {
  stop(mrpc_list_of(owned, script_timer, owned));
}

/* Ticking. */

static void on_end(mrpc_task *task, lua_State *co, int status) {
  script_timer *t = task->ud;
  if (status != LUA_OK) mrpc_failure_log(task, co, "timer failed");
  t->is_running = false;
  relax(t);
}

/* Runs the function as a task. */
static int run(script_timer *t) {
  mrpc_task *task;
  int rc = mrpc_task_new(t->runtime, t->owner, on_end, t, &task);
  if (rc) return rc;
  if (t->at_load) rc = mrpc_task_tie(task);
  if (rc) {
    mrpc_task_discard(task);
    return rc;
  }
  task->limit_ns = t->runtime->handler_ns;
  t->is_running = true;
  lua_rawgeti(task->co, LUA_REGISTRYINDEX, t->ref);
  lua_getiuservalue(task->co, -1, 1);
  lua_replace(task->co, -2);
  mrpc_task_start(task, 0);
  return MRPC_OK;
}

/* The next tick is a period after this one was due, or after now for one who
 * is late by more. Restarting from its own callback needs no memory. */
static void on_timer(mrpc_timer *timer) {
  script_timer *t = mrpc_list_of(timer, script_timer, timer);
  mrpc_env *env = t->runtime->env;
  if (t->period > 0) {
    uint64_t at = timer->at + (uint64_t)(t->period * 1e9);
    uint64_t now = mrpc_env_now(env);
    if (at < now) at = mrpc_env_after(env, t->period);
    (void)mrpc_timer_start(&env->timers, timer, at);
  }
  if (t->is_running) return;
  int rc = run(t);
  if (!rc) return;
  mrpc_log(env, MRPC_LOG_ERROR, "timer can't run", "error", mrpc_strerror(rc),
           NULL);
  relax(t);
}

/* What scripts see. */

/* stack: [seconds function] -> [seconds function timer] */
static script_timer *push_timer(lua_State *L) {
  script_timer *t = lua_newuserdatauv(L, sizeof *t, 1);
  *t = (script_timer){.runtime = mrpc_runtime_of(L), .ref = LUA_NOREF};
  t->timer.fn = on_timer;
  t->owned.on_close = on_close;
  mrpc_list_init(&t->owned.link);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  return t;
}

/* stack: [seconds function] -> [timer] */
static int make(lua_State *L, bool repeats) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  const mrpc_task *by = rt->current;
  double seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0, 1, "must not be negative");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  if (repeats && seconds < SHORTEST) seconds = SHORTEST;
  script_timer *t = push_timer(L);
  lua_pushvalue(L, -1);
  t->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  t->period = repeats ? seconds : 0;
  if (!by || rt->closing || mrpc_file_own(by->owner, &t->owned)) {
    relax(t);
    return luaL_error(L, "no loaded file is there to own a timer");
  }
  t->at_load = mrpc_task_is_at_load(by);
  t->owner = by->owner;
  mrpc_file_hold(t->owner);
  if (mrpc_timer_start(&rt->env->timers, &t->timer,
                       mrpc_env_after(rt->env, seconds))) {
    relax(t);
    return luaL_error(L, "not enough memory");
  }
  return 1;
}

static int after(lua_State *L) {
  return make(L, false);
}

static int every(lua_State *L) {
  return make(L, true);
}

/* timer:stop(): fine at any time, from its own function too. */
static int stop_timer(lua_State *L) {
  script_timer *t = mrpc_object_check(L, 1, &meta_key, "timer");
  if (t->ref != LUA_NOREF) stop(t);
  return 0;
}

void mrpc_alarm_open(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "rpc.timer");
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, stop_timer);
  lua_setfield(L, -2, "stop");
  lua_setfield(L, -2, "__index");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_pushcfunction(L, after);
  lua_setfield(L, -2, "after");
  lua_pushcfunction(L, every);
  lua_setfield(L, -2, "every");
}
