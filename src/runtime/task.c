/* SPDX-License-Identifier: MIT
 *
 * The life of a task:
 *
 *   new -> running -> ended -> (pool)
 *            |   ^
 *            v   |
 *          parked -> ready
 *
 * The bottom of each task's coroutine is a C function of ours that calls the
 * script's function by lua_pcallk. That costs nothing (a coroutine needs no
 * longjmp of its own for it), closes variables properly after an error, and
 * lets our message handler see the stack where the error happened. The pool
 * keeps coroutine and struct together. */
#include "runtime/task.h"

#include <lauxlib.h>

#include "runtime/error.h"
#include "runtime/file.h"
#include "runtime/limit.h"
#include "runtime/protect.h"
#include "runtime/schedule.h"

enum { POOL_MAX = 256 };

static void end(mrpc_task *task, int status);
static void take_turn(mrpc_timer *timer);

/* The timer of the next turn always stands in the heap, so that starting it
 * needs no memory. */
int mrpc_tasks_init(mrpc_runtime *rt) {
  mrpc_list_init(&rt->tasks);
  mrpc_list_init(&rt->pool);
  mrpc_list_init(&rt->ready);
  rt->turn.fn = take_turn;
  return mrpc_timer_start(&rt->env->timers, &rt->turn, UINT64_MAX);
}

/* Making and ending. */

/* stack: [task] -> [] */
static int make_coroutine(lua_State *L) {
  mrpc_task *task = lua_touserdata(L, 1);
  task->co = lua_newthread(L);
  task->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

MRPC_COLD static void free_task(mrpc_task *task) {
  mrpc_runtime *rt = task->runtime;
  mrpc_thread **extra = lua_getextraspace(task->co);
  *extra = &rt->free_thread;
  luaL_unref(rt->L, LUA_REGISTRYINDEX, task->ref);
  mrpc_mem_free(&rt->env->mem, task, sizeof *task);
}

MRPC_COLD static int make_task(mrpc_runtime *rt, mrpc_task **out) {
  mrpc_task *task = mrpc_mem_new(&rt->env->mem, sizeof *task);
  if (!task) return MRPC_ENOMEM;
  if (mrpc_protect(rt, make_coroutine, task)) {
    mrpc_mem_free(&rt->env->mem, task, sizeof *task);
    return MRPC_ENOMEM;
  }
  task->thread = (mrpc_thread){rt, MRPC_THREAD_TASK};
  *(mrpc_thread **)lua_getextraspace(task->co) = &task->thread;
  task->runtime = rt;
  mrpc_list_init(&task->link);
  mrpc_list_init(&task->ready);
  mrpc_list_init(&task->owned.link);
  mrpc_list_init(&task->helpers);
  *out = task;
  return MRPC_OK;
}

int mrpc_task_take(mrpc_runtime *rt, mrpc_file *owner, mrpc_task_fn on_end,
                   void *ud, mrpc_task **out) {
  mrpc_task *task;
  if (rt->closing) return MRPC_ESTATE;
  if (!mrpc_list_is_empty(&rt->pool)) {
    task = mrpc_list_of(rt->pool.next, mrpc_task, link);
    rt->pooled--;
  } else if (make_task(rt, &task)) {
    return MRPC_ENOMEM;
  }
  mrpc_list_move(&rt->tasks, &task->link);
  mrpc_file_hold(owner);
  task->owner = owner;
  task->on_end = on_end;
  task->ud = ud;
  *out = task;
  return MRPC_OK;
}

/* stack: [handler value...] -> [value...] or [error value] */
static int finish_body(lua_State *L, int status, lua_KContext ctx) {
  (void)ctx;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - 1;
  mrpc_runtime_of(L)->current->status = status;
  return 1;
}

/* stack: [handler function argument...] -> [value...] or [error value] */
static int body(lua_State *L) {
  int nargs = lua_gettop(L) - 2;
  return finish_body(L, lua_pcallk(L, nargs, LUA_MULTRET, 1, 0, finish_body),
                     0);
}

int mrpc_task_new(mrpc_runtime *rt, mrpc_file *owner, mrpc_task_fn on_end,
                  void *ud, mrpc_task **out) {
  int rc = mrpc_task_take(rt, owner, on_end, ud, out);
  if (rc) return rc;
  lua_pushcfunction((*out)->co, body);
  lua_pushcfunction((*out)->co, mrpc_error_handler);
  return MRPC_OK;
}

/* Everything but the pool's own fields goes back to zero. */
static void reset(mrpc_task *task) {
  task->call = task->helps = NULL;
  task->caller = 0;
  task->queue = NULL;
  task->owner = NULL;
  task->state = MRPC_TASK_NEW;
  task->status = LUA_OK;
  task->run_ns = task->since = task->limit_ns = 0;
  task->sliced = task->at_load = task->watches = false;
  task->cancelled = task->killed = task->thrown = false;
  task->raise = 0;
  task->is_fresh = false;
  task->mute = NULL;
}

/* Gives the task to the pool, or back to the allocator. */
static void release(mrpc_task *task) {
  mrpc_runtime *rt = task->runtime;
  mrpc_limit_end(task);
  if (mrpc_timer_is_started(&task->timer))
    mrpc_timer_stop(&rt->env->timers, &task->timer);
  if (task->at_load) mrpc_owned_remove(&task->owned);
  mrpc_list_remove(&task->helpers);
  if (task->caller) luaL_unref(rt->L, LUA_REGISTRYINDEX, task->caller);
  mrpc_file *owner = task->owner;
  if (rt->pooled < POOL_MAX && !rt->closing && !task->is_worn) {
    reset(task);
    mrpc_list_move(rt->pool.next, &task->link);
    rt->pooled++;
  } else {
    mrpc_list_remove(&task->link);
    free_task(task);
  }
  mrpc_file_drop(owner);
}

void mrpc_task_discard(mrpc_task *task) {
  lua_settop(task->co, 0);
  release(task);
}

void mrpc_task_help(mrpc_task *task, mrpc_task *by) {
  mrpc_call *call = by->call ? by->call : by->helps;
  if (!call) return;
  task->helps = call;
  mrpc_list_insert(&by->helpers, &task->helpers);
}

/* The call is about to be answered. */
static void dismiss_helpers(mrpc_task *task) {
  while (!mrpc_list_is_empty(&task->helpers)) {
    mrpc_link *link = task->helpers.next;
    mrpc_list_of(link, mrpc_task, helpers)->helps = NULL;
    mrpc_list_remove(link);
  }
}

/* The coroutine is dead when not even our body could run, for want of
 * memory. */
static void end(mrpc_task *task, int status) {
  lua_State *co = task->co;
  bool is_dead = status != LUA_OK;
  task->state = MRPC_TASK_ENDED;
  if (!is_dead) status = task->status;
  if (task->killed) status = LUA_ERRRUN;
  if (task->call) dismiss_helpers(task);
  task->on_end(task, co, status);
  if (is_dead) lua_resetthread(co);
  lua_settop(co, 0);
  release(task);
}

void mrpc_task_abandon(mrpc_task *task) {
  lua_settop(task->co, 0);
  lua_pushnil(task->co);
  task->status = LUA_ERRRUN;
  end(task, LUA_OK);
}

void mrpc_tasks_free(mrpc_runtime *rt) {
  rt->closing = true;
  while (!mrpc_list_is_empty(&rt->tasks)) {
    mrpc_task *task = mrpc_list_of(rt->tasks.next, mrpc_task, link);
    mrpc_task_kill(task, MRPC_SHUTTING_DOWN, "the runtime ends");
  }
  mrpc_timer_stop(&rt->env->timers, &rt->turn);
  while (!mrpc_list_is_empty(&rt->pool)) {
    mrpc_task *task = mrpc_list_of(rt->pool.next, mrpc_task, link);
    mrpc_list_remove(&task->link);
    rt->pooled--;
    free_task(task);
  }
}

static void on_close(mrpc_owned *owned) {
  mrpc_task *task = mrpc_list_of(owned, mrpc_task, owned);
  mrpc_task_kill(task, MRPC_REQUEST_CANCELLED, "its file was replaced");
}

bool mrpc_task_is_at_load(const mrpc_task *task) {
  return task->at_load || (task->owner && mrpc_file_is_loading(task->owner));
}

int mrpc_task_tie(mrpc_task *task) {
  task->at_load = true;
  task->owned.on_close = on_close;
  return mrpc_file_own(task->owner, &task->owned);
}

/* Running. */

/* A kill has left many pcalls at once; or a C module has yielded around
 * coroutine.yield, and nobody would ever wake the task.
 * stack: [...] -> [error value], the status of the coroutine */
MRPC_COLD static int close_stray(mrpc_task *task) {
  if (!task->killed)
    mrpc_limit_kill(task, MRPC_INTERNAL_ERROR,
                    "a C function yielded; use rpc.await to wait");
  lua_resetthread(task->co);
  lua_settop(task->co, 0);
  lua_pushnil(task->co);
  task->status = LUA_ERRRUN;
  return LUA_OK;
}

void mrpc_task_run(mrpc_task *task, int nargs) {
  mrpc_runtime *rt = task->runtime;
  mrpc_task *outer = rt->current;
  lua_State *from = rt->running;
  uint32_t slice = rt->slice, pins = rt->pins;
  int nvalues;
  task->state = MRPC_TASK_RUNNING;
  rt->current = task;
  rt->running = task->co;
  rt->pins = 0;
  rt->slice = ++rt->slices ? rt->slices : ++rt->slices;
  rt->nesting++;
  int status = lua_resume(task->co, from, nargs, &nvalues);
  if (status == LUA_YIELD && task->state == MRPC_TASK_RUNNING)
    status = close_stray(task);
  rt->current = outer;
  rt->running = from;
  rt->pins = pins;
  rt->slice = slice;
  rt->nesting--;
  if (rt->alarmed && from) mrpc_limit_arm(from);
  if (status != LUA_YIELD) end(task, status);
}

void mrpc_task_start(mrpc_task *task, int nargs) {
  mrpc_limit_start(task);
  mrpc_task_run(task, nargs + 2);
}

mrpc_task *mrpc_task_current(mrpc_runtime *runtime) {
  return runtime->current;
}

/* The loop's next turn. */

/* What is left of a batch goes first in the next turn. */
static void put_back(mrpc_runtime *rt, mrpc_link *batch) {
  if (mrpc_list_is_empty(batch)) return;
  while (!mrpc_list_is_empty(batch)) {
    mrpc_link *last = batch->prev;
    mrpc_list_remove(last);
    mrpc_list_insert(rt->ready.next, last);
  }
  (void)mrpc_timer_start(&rt->env->timers, &rt->turn, 0);
}

/* Runs who was ready when the turn began, up to the first slice of a load and
 * for no longer than one lasts: others must not wait for more. */
static void take_turn(mrpc_timer *timer) {
  mrpc_runtime *rt = mrpc_list_of(timer, mrpc_runtime, turn);
  mrpc_link batch;
  mrpc_timer_start(&rt->env->timers, timer, UINT64_MAX);
  if (mrpc_list_is_empty(&rt->ready)) return;
  uint64_t end = mrpc_env_now(rt->env) + MRPC_SLICE_NS;
  mrpc_list_init(&batch);
  mrpc_list_insert(&rt->ready, &batch);
  mrpc_list_remove(&rt->ready);
  while (!mrpc_list_is_empty(&batch)) {
    mrpc_task *task = mrpc_list_of(batch.next, mrpc_task, ready);
    bool is_slice = task->sliced;
    mrpc_list_remove(&task->ready);
    mrpc_task_go(task);
    if (!is_slice && mrpc_env_now(rt->env) < end) continue;
    put_back(rt, &batch);
    return;
  }
}
