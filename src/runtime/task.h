/* SPDX-License-Identifier: MIT
 *
 * A task is a coroutine of the host's: a call, a spawned function, a timer's
 * or luv's callback, a file being loaded. It runs until it ends or waits; who
 * waits is parked and somebody wakes it. A handler that never waits costs one
 * lua_resume on a pooled coroutine and no allocation.
 *
 * Everything that Lua code can wait for is built from park and wake. */
#ifndef MRPC_RUNTIME_TASK_H
#define MRPC_RUNTIME_TASK_H

#include <lua.h>

#include "base/list.h"
#include "runtime/runtime.h"

typedef struct mrpc_task mrpc_task;

/* The task has ended: `status` is LUA_OK with its results on `co`, or an error
 * with the error value on top of `co` (the stack is still there to be traced).
 * The task is gone when the function returns. */
typedef void (*mrpc_task_fn)(mrpc_task *task, lua_State *co, int status);

/* A wait was ended from outside (cancel, kill, end of the runtime): undo what
 * would have woken the task (stop a timer). It isn't woken any more. */
typedef void (*mrpc_unpark_fn)(mrpc_task *task, void *ud);

struct mrpc_task {
  mrpc_link link; /* in runtime->tasks */
  mrpc_runtime *runtime;
  lua_State *co;
  int ref;          /* keeps `co` in the registry */
  mrpc_call *call;  /* that this task answers, or NULL */
  mrpc_file *owner; /* the file whose code it runs, or NULL */
  mrpc_task_fn on_end;
  void *ud;                 /* of on_end */
  mrpc_unpark_fn on_unpark; /* set while parked */
  void *park_ud;
  uint64_t run_ns;   /* run time so far, waits excluded */
  uint64_t limit_ns; /* of run time; 0: none */
  bool sliced;       /* yields to the loop every MRPC_SLICE_NS (loads) */
  bool killed;       /* no script code runs any more but __close */
  bool cancelled;    /* its waits raise */
};

/* A new task with an empty stack. Push a function and its arguments on
 * (*out)->co, then start. */
int mrpc_task_new(mrpc_runtime *runtime, mrpc_file *owner, mrpc_task_fn on_end,
                  void *ud, mrpc_task **out);
/* Runs the task with `nargs` arguments until it ends or waits. May be called
 * from inside another task (spawn). */
void mrpc_task_start(mrpc_task *task, int nargs);

/* The task that runs Lua code on `L` (or on a coroutine of the script's inside
 * it), NULL outside of any. */
mrpc_task *mrpc_task_current(mrpc_runtime *runtime);

/* `return mrpc_task_park(L, on_unpark, ud, k, ctx)` in a C function parks the
 * current task; `k` continues it as with lua_yieldk, with what the waker left
 * on the stack. Raises where a wait isn't possible (no task; a C boundary
 * between). */
int mrpc_task_park(lua_State *L, mrpc_unpark_fn on_unpark, void *ud,
                   lua_KFunction k, lua_KContext ctx);
/* Where the values that a wait gives are to be pushed before wake. */
lua_State *mrpc_task_values(mrpc_task *task);
/* Goes on with a parked task; the top `nvalues` of mrpc_task_values(task) are
 * what its wait gives. Call it from the loop, not from inside Lua code;
 * elsewhere use mrpc_task_wake_later. */
void mrpc_task_wake(mrpc_task *task, int nvalues);
/* The same from the loop's next turn. */
void mrpc_task_wake_later(mrpc_task *task, int nvalues);
/* Makes the wait raise the value on top of mrpc_task_values(task). */
void mrpc_task_raise(mrpc_task *task);
/* Ends a parked task: its to-be-closed variables run, on_end gets the status
 * LUA_ERRRUN with `why`. */
void mrpc_task_kill(mrpc_task *task, const char *why);

enum { MRPC_SLICE_NS = 5000000 };

#endif
