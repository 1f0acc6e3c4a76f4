/* SPDX-License-Identifier: MIT
 *
 * rpc.spawn: a function as a task of its own. The script holds a userdata
 * through which it can wait for the task or cancel it; what the task gave
 * stands there as a user value, put there by the task itself at its end. */
#include <lauxlib.h>

#include "runtime/api.h"
#include "runtime/error.h"
#include "runtime/object.h"
#include "runtime/peer.h"
#include "runtime/schedule.h"

enum {
  MAX_NESTING = 16,   /* tasks that start inside each other at once */
  MAX_SPAWNED = 65536 /* and that exist: who spawns in a loop is stopped */
};

static const char meta_key; /* in the registry: its address counts */

/* User value 1: the results, packed, or the error value. */
typedef struct spawned {
  mrpc_task *task; /* NULL once it has ended */
  bool failed;
  mrpc_link waiters; /* tasks that wait for it */
} spawned;

typedef struct waiter {
  mrpc_link link;
  mrpc_task *task;
} waiter;

/* The task. */

/* stack: [handler spawned result...] -> [spawned], or [... error] -> [error] */
static int finish_body(lua_State *L, int status, lua_KContext ctx) {
  spawned *s = lua_touserdata(L, 2);
  (void)ctx;
  if (status != LUA_OK && status != LUA_YIELD) {
    mrpc_runtime_of(L)->current->status = status;
    s->failed = true;
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 2, 1);
    return 1;
  }
  int n = lua_gettop(L) - 2;
  lua_createtable(L, n, 1);
  lua_insert(L, 3);
  lua_pushinteger(L, n);
  lua_setfield(L, 3, "n");
  for (; n; n--) lua_rawseti(L, 3, n);
  lua_setiuservalue(L, 2, 1);
  return 0;
}

/* stack: [handler spawned function argument...] -> as finish_body */
static int body(lua_State *L) {
  int nargs = lua_gettop(L) - 3;
  return finish_body(L, lua_pcallk(L, nargs, LUA_MULTRET, 1, 0, finish_body),
                     0);
}

static void on_end(mrpc_task *task, lua_State *co, int status) {
  spawned *s = task->ud;
  bool is_awaited = !mrpc_list_is_empty(&s->waiters);
  s->task = NULL;
  task->runtime->spawned--;
  if (status != LUA_OK) s->failed = true;
  while (!mrpc_list_is_empty(&s->waiters)) {
    waiter *w = mrpc_list_of(s->waiters.next, waiter, link);
    mrpc_list_remove(&w->link);
    mrpc_task_wake_later(w->task, 0);
  }
  if (status != LUA_OK && !is_awaited)
    mrpc_failure_log(task, co, "task failed");
}

/* The new task's stack: [body handler spawned function argument...].
 * stack: [function argument... spawned] -> [function argument...] */
static void push_start(lua_State *L, mrpc_task *task) {
  lua_State *co = task->co;
  lua_pushcfunction(co, body);
  lua_pushcfunction(co, mrpc_error_handler);
  lua_xmove(L, co, 1);
}

/* stack: [function argument...] -> [spawned] */
static int spawn(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_task *by = rt->current, *task;
  int n = lua_gettop(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  if (!by) return luaL_error(L, "no task of the host runs this");
  if (rt->spawned >= MAX_SPAWNED)
    return mrpc_error_raise(L,
                            mrpc_dispatch_code(rt->dispatch, MRPC_SCRIPT_LIMIT),
                            "Script limit exceeded: too many tasks");
  spawned *s = lua_newuserdatauv(L, sizeof *s, 1);
  *s = (spawned){0};
  mrpc_list_init(&s->waiters);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_setmetatable(L, -2);
  lua_insert(L, 1);
  lua_pushvalue(L, 1);
  int caller = mrpc_lua_caller_ref(L);
  int rc = mrpc_task_take(rt, by->owner, on_end, s, &task);
  if (rc) {
    luaL_unref(L, LUA_REGISTRYINDEX, caller ? caller : LUA_NOREF);
    return luaL_error(L, rc == MRPC_ESTATE ? "the host is shutting down"
                                           : "not enough memory");
  }
  task->caller = caller;
  mrpc_task_help(task, by);
  if (mrpc_task_is_at_load(by)) rc = mrpc_task_tie(task);
  if (rc || !lua_checkstack(task->co, n + 4)) {
    mrpc_task_discard(task);
    return luaL_error(L, rc ? "the file that spawns has been replaced"
                            : "too many arguments");
  }
  task->limit_ns = rt->handler_ns;
  push_start(L, task);
  lua_xmove(L, task->co, n);
  s->task = task;
  rt->spawned++;
  if (rt->nesting < MAX_NESTING)
    mrpc_task_start(task, n);
  else
    mrpc_task_start_later(task, n);
  return 1;
}

/* The script's side. */

static spawned *check_spawned(lua_State *L) {
  return mrpc_object_check(L, 1, &meta_key, "task");
}

/* Gives what the task gave, or raises what it raised; a failure as text.
 * stack: [spawned ...] -> [result...] */
static int give(lua_State *L, const spawned *s) {
  mrpc_failure failure;
  lua_settop(L, 1);
  int type = lua_getiuservalue(L, 1, 1);
  if (s->failed && type == LUA_TTABLE) return lua_error(L);
  if (s->failed) {
    mrpc_failure_get(L, 2, &failure);
    if (type != LUA_TUSERDATA && type != LUA_TSTRING)
      return luaL_error(L, "the task was ended");
    lua_pushlstring(L, failure.text, failure.text_len);
    return lua_error(L);
  }
  lua_getfield(L, 2, "n");
  int n = (int)lua_tointeger(L, 3);
  luaL_checkstack(L, n, "too many results");
  for (int i = 1; i <= n; i++) lua_rawgeti(L, 2, i);
  return n;
}

static void forget(mrpc_task *task, void *ud) {
  waiter *w = ud;
  (void)task;
  mrpc_list_remove(&w->link);
}

static int finish_wait(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  return give(L, lua_touserdata(L, 1));
}

/* task:wait(timeout). stack: [spawned timeout?] -> [result...] */
static int wait(lua_State *L) {
  spawned *s = check_spawned(L);
  double seconds = mrpc_task_timeout(L, 2);
  if (!s->task) return give(L, s);
  mrpc_task *task = mrpc_task_check_wait(L);
  if (task == s->task) return luaL_error(L, "a task can't wait for itself");
  waiter *w = lua_newuserdatauv(L, sizeof *w, 0);
  w->task = task;
  mrpc_task_set_timer(L, task, seconds, false);
  mrpc_list_insert(&s->waiters, &w->link);
  return mrpc_task_park(L, forget, w, finish_wait, 0);
}

/* task:cancel(): its waits raise rpc.cancelled. */
static int cancel(lua_State *L) {
  spawned *s = check_spawned(L);
  if (s->task) mrpc_task_cancel(s->task);
  return 0;
}

static int is_done(lua_State *L) {
  lua_pushboolean(L, check_spawned(L)->task == NULL);
  return 1;
}

void mrpc_spawn_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"wait", wait}, {"cancel", cancel}, {"is_done", is_done}, {NULL, NULL}};
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "rpc.task");
  lua_setfield(L, -2, "__name");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_pushcfunction(L, spawn);
  lua_setfield(L, -2, "spawn");
}
