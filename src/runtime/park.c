/* SPDX-License-Identifier: MIT
 *
 * Waiting. A task is parked in the coroutine that waits (its leaf): the
 * task's own, or one that the script made and resumed inside it. Then every
 * coroutine on the way out has yielded to the one that resumed it
 * (coroutine.c), so the whole task stands still; waking it goes the same way
 * in. What the wait gives is pushed onto the leaf's stack meanwhile.
 *
 * The first end of a wait counts: a waker, the timer, a cancel or a kill takes
 * the task out of the state PARKED, and the others find it gone. */
#include <lauxlib.h>

#include "rpc/call.h"
#include "runtime/error.h"
#include "runtime/limit.h"
#include "runtime/peer.h"
#include "runtime/schedule.h"

/* Parking. */

static void on_cancel(mrpc_call *call, void *ud) {
  (void)call;
  mrpc_task_cancel(ud);
}

mrpc_task *mrpc_task_check_wait(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_task *task = rt->current;
  if (!task || L != rt->running) {
    luaL_error(L, "can't wait here: this isn't run by a task of the host");
    return NULL; /* not reached */
  }
  if (task->killed) mrpc_limit_throw(L);
  if (task->call && !task->watches) {
    task->watches = true;
    mrpc_lua_caller_keep(L, task);
    mrpc_call_on_cancel(task->call, on_cancel, task);
  }
  if (task->cancelled) mrpc_error_raise_cancelled(L);
  if (!lua_isyieldable(L) || rt->pins)
    luaL_error(L, "can't wait here: a C function stands between");
  return task;
}

/* Continues the leaf: gives the values, or raises. */
static int finish_park(lua_State *L, int status, lua_KContext ctx) {
  mrpc_task *task = mrpc_runtime_of(L)->current;
  if (task->killed) return mrpc_limit_throw(L);
  int raise = task->raise;
  task->raise = 0;
  if (raise == MRPC_REQUEST_CANCELLED) return mrpc_error_raise_cancelled(L);
  if (raise) return mrpc_error_raise(L, raise, task->raise_why);
  if (task->k) return task->k(L, status, task->ctx);
  (void)ctx;
  return task->nvalues;
}

int mrpc_task_park(lua_State *L, mrpc_unpark_fn on_unpark, void *ud,
                   lua_KFunction k, lua_KContext ctx) {
  mrpc_task *task = mrpc_task_check_wait(L);
  task->state = MRPC_TASK_PARKED;
  task->leaf = L;
  task->nvalues = 0;
  task->on_unpark = on_unpark;
  task->park_ud = ud;
  task->k = k;
  task->ctx = ctx;
  mrpc_limit_pause(task);
  return lua_yieldk(L, 0, 0, finish_park);
}

/* Ending a wait. */

/* The wait is over; nobody else may end it. */
static void unpark(mrpc_task *task, bool tell) {
  mrpc_timer_stop(&task->runtime->env->timers, &task->timer);
  task->state = MRPC_TASK_READY;
  if (tell && task->on_unpark) task->on_unpark(task, task->park_ud);
  task->on_unpark = NULL;
}

/* Restarting a timer that is started can't fail. */
static void make_ready(mrpc_task *task) {
  mrpc_runtime *rt = task->runtime;
  task->state = MRPC_TASK_READY;
  mrpc_list_insert(&rt->ready, &task->ready);
  (void)mrpc_timer_start(&rt->env->timers, &rt->turn, 0);
}

static void on_timer(mrpc_timer *timer) {
  mrpc_task *task = mrpc_list_of(timer, mrpc_task, timer);
  if (task->state != MRPC_TASK_PARKED) return;
  unpark(task, true);
  if (!task->timer_wakes) {
    task->raise = mrpc_dispatch_code(task->runtime->dispatch, MRPC_TIMED_OUT);
    task->raise_why = "Timed out";
  }
  if (task->sliced)
    make_ready(task);
  else
    mrpc_task_go(task);
}

double mrpc_task_timeout(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return mrpc_runtime_of(L)->limits.wait;
  double seconds = luaL_checknumber(L, index);
  luaL_argcheck(L, seconds >= 0, index, "must not be negative");
  return seconds;
}

int mrpc_task_start_timer(mrpc_task *task, double seconds, bool wakes) {
  mrpc_env *env = task->runtime->env;
  task->timer.fn = on_timer;
  task->timer_wakes = wakes;
  uint64_t at = mrpc_env_after(env, seconds);
  return mrpc_timer_start(&env->timers, &task->timer, at);
}

void mrpc_task_set_timer(lua_State *L, mrpc_task *task, double seconds,
                         bool wakes) {
  if (mrpc_task_start_timer(task, seconds, wakes))
    luaL_error(L, "not enough memory");
}

lua_State *mrpc_task_values(mrpc_task *task) {
  return task->leaf;
}

void mrpc_task_go(mrpc_task *task) {
  int nargs = task->leaf == task->co ? task->nvalues : 0;
  if (task->is_fresh) {
    task->is_fresh = false;
    mrpc_task_start(task, nargs);
    return;
  }
  mrpc_limit_resume(task);
  mrpc_task_run(task, nargs);
}

void mrpc_task_wake(mrpc_task *task, int nvalues) {
  if (task->state != MRPC_TASK_PARKED) return;
  unpark(task, false);
  task->nvalues = nvalues;
  mrpc_task_go(task);
}

void mrpc_task_wake_later(mrpc_task *task, int nvalues) {
  if (task->state != MRPC_TASK_PARKED) return;
  unpark(task, false);
  task->nvalues = nvalues;
  make_ready(task);
}

void mrpc_task_raise(mrpc_task *task, int code, const char *message) {
  if (task->state != MRPC_TASK_PARKED) return;
  unpark(task, true);
  task->raise = code;
  task->raise_why = message;
  make_ready(task);
}

void mrpc_task_cancel(mrpc_task *task) {
  task->cancelled = true;
  mrpc_task_raise(task, MRPC_REQUEST_CANCELLED, "Request cancelled");
}

void mrpc_task_start_later(mrpc_task *task, int nargs) {
  task->is_fresh = true;
  task->leaf = task->co;
  task->nvalues = nargs;
  make_ready(task);
}

void mrpc_task_yield_slice(lua_State *L, mrpc_task *task) {
  task->leaf = L;
  task->nvalues = 0;
  make_ready(task);
}

void mrpc_task_kill(mrpc_task *task, int code, const char *why) {
  if (task->state == MRPC_TASK_RUNNING || task->state == MRPC_TASK_ENDED)
    return;
  if (task->state == MRPC_TASK_PARKED) unpark(task, true);
  mrpc_list_remove(&task->ready);
  mrpc_limit_kill(task, code, why);
  if (task->is_fresh || task->state == MRPC_TASK_NEW) {
    mrpc_task_abandon(task);
    return;
  }
  task->nvalues = 0;
  mrpc_limit_arm(task->leaf);
  mrpc_task_go(task);
}
