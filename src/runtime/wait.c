/* SPDX-License-Identifier: MIT
 *
 * rpc.sleep, and rpc.await, which makes a wait of anything that calls back. */
#include <lauxlib.h>

#include "runtime/api.h"
#include "runtime/task.h"

/* stack: [seconds] -> [] */
static int sleep_for(lua_State *L) {
  double seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0, 1, "must not be negative");
  mrpc_task *task = mrpc_task_check_wait(L);
  mrpc_task_set_timer(L, task, seconds, true);
  return mrpc_task_park(L, NULL, NULL, NULL, 0);
}

/* rpc.await. */

/* Between the `resume` function, which may live on, and the task, which may
 * not: the first use, or the end of the wait, cuts the tie. Its user value
 * holds what came before the task waited. */
typedef struct waiter {
  mrpc_task *task; /* while it is parked here */
  double seconds;
  bool done;
} waiter;

/* Another has ended the wait. */
static void forget(mrpc_task *task, void *ud) {
  waiter *w = ud;
  (void)task;
  w->task = NULL;
  w->done = true;
}

/* The task has not begun to wait. stack: [value...] -> [] */
static void keep_values(lua_State *L, int n) {
  lua_createtable(L, n, 1);
  lua_insert(L, 1);
  lua_pushinteger(L, n);
  lua_setfield(L, 1, "n");
  for (; n; n--) lua_rawseti(L, 1, n);
  lua_setiuservalue(L, lua_upvalueindex(1), 1);
}

/* resume(...): gives its arguments to who waits, once. stack: [value...] -> []
 */
static int resume(lua_State *L) {
  waiter *w = lua_touserdata(L, lua_upvalueindex(1));
  int n = lua_gettop(L);
  if (w->done) return 0;
  if (w->task) {
    lua_State *to = mrpc_task_values(w->task);
    if (!lua_checkstack(to, n)) return luaL_error(L, "too many values");
    lua_xmove(L, to, n);
    mrpc_task_wake_later(w->task, n);
  } else {
    keep_values(L, n);
  }
  w->task = NULL;
  w->done = true;
  return 0;
}

/* stack: [start waiter] -> [value...] */
static int give_kept(lua_State *L) {
  lua_getiuservalue(L, 2, 1);
  lua_getfield(L, 3, "n");
  int n = (int)lua_tointeger(L, -1);
  luaL_checkstack(L, n, "too many values");
  for (int i = 1; i <= n; i++) lua_rawgeti(L, 3, i);
  return n;
}

/* start has returned. stack: [start waiter] -> [value...] */
static int finish_start(lua_State *L, int status, lua_KContext ctx) {
  waiter *w = lua_touserdata(L, 2);
  (void)status;
  (void)ctx;
  if (w->done) return give_kept(L);
  mrpc_task *task = mrpc_task_check_wait(L);
  mrpc_task_set_timer(L, task, w->seconds, false);
  w->task = task;
  return mrpc_task_park(L, forget, w, NULL, 0);
}

/* rpc.await(start, timeout): calls start(resume) and waits until somebody
 * calls resume. stack: [start timeout?] -> [value...] */
static int await(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  double seconds = mrpc_task_timeout(L, 2);
  mrpc_task_check_wait(L);
  lua_settop(L, 1);
  waiter *w = lua_newuserdatauv(L, sizeof *w, 1);
  *w = (waiter){.seconds = seconds};
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, resume, 1);
  lua_callk(L, 1, 0, 0, finish_start);
  return finish_start(L, LUA_OK, 0);
}

void mrpc_wait_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"sleep", sleep_for}, {"await", await}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
