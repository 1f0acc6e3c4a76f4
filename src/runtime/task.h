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
#include "base/timer.h"
#include "runtime/file.h"
#include "runtime/runtime.h"

/* The task has ended: `status` is LUA_OK with its results on `co`, or an error
 * with the error value on top of `co` (mrpc_failure_get in error.h reads it).
 * The task is gone when the function returns. Runs outside of Lua: what may
 * throw must be protected. */
typedef void (*mrpc_task_fn)(mrpc_task *task, lua_State *co, int status);

/* A wait has ended otherwise than by wake (timeout, cancel, kill, end of the
 * runtime): undo what would have woken the task. It isn't woken any more. */
typedef void (*mrpc_unpark_fn)(mrpc_task *task, void *ud);

typedef enum mrpc_task_state {
  MRPC_TASK_NEW, /* or in the pool */
  MRPC_TASK_RUNNING,
  MRPC_TASK_PARKED,
  MRPC_TASK_READY, /* goes on in the loop's next turn */
  MRPC_TASK_ENDED
} mrpc_task_state;

struct mrpc_task {
  mrpc_thread thread; /* extra space of `co` */
  mrpc_link link;     /* in runtime->tasks, or the pool */
  mrpc_link ready;    /* in runtime->ready */
  mrpc_runtime *runtime;
  lua_State *co;
  int ref;          /* keeps `co` in the registry */
  mrpc_call *call;  /* that this task answers, or NULL */
  mrpc_call *helps; /* a call not yet answered whose task, or one that helps it,
                       has spawned this one; or NULL */
  mrpc_link helpers; /* tasks that help `call`; of these the link */
  int caller;        /* the peer that it works for: a reference in the registry;
                        0: none, or nobody has asked yet */
  mrpc_file *owner;  /* the file whose code it runs, or NULL; held */
  mrpc_owned owned;  /* ties it to the life of its file, if at_load */
  mrpc_task_fn on_end;
  void *ud;         /* of on_end */
  const void *args; /* that the bottom function pushes; call.c */

  mrpc_task_state state;
  int status;       /* of its function, when that has failed */
  bool is_fresh;    /* ready to be started, not to go on */
  lua_State *leaf;  /* the coroutine that waits: `co`, or the script's in it */
  int nvalues;      /* on top of `leaf`, that the wait gives */
  mrpc_timer timer; /* deadline of the wait */
  mrpc_unpark_fn on_unpark;
  void *park_ud;
  lua_KFunction k;
  lua_KContext ctx;
  int raise;             /* error code that the wait raises; 0: none */
  const char *raise_why; /* its message; constant */

  int64_t asked;   /* the call out that it waits for; ask.c */
  int outcome;     /* of that */
  bool is_refused; /* its answer is an error */

  mrpc_queue *queue;  /* of serial calls, or NULL */
  mrpc_link in_queue; /* in it */

  uint64_t run_ns;       /* run time so far, waits excluded */
  uint64_t since;        /* when it went on, 0: nobody looked at the clock */
  uint64_t limit_ns;     /* of run time; 0: none */
  bool sliced;           /* yields to the loop every MRPC_SLICE_NS (loads) */
  bool at_load;          /* dies with its file: it was made by its loading */
  bool timer_wakes;      /* the end of the timer is no failure (sleep) */
  bool is_worn;          /* its coroutine has grown too large to be kept */
  bool watches;          /* has asked the call to tell of its cancelling */
  bool cancelled;        /* its waits raise */
  bool killed;           /* no script code runs any more but __close, */
  bool thrown;           /* once its kill has been thrown; */
  uint64_t grace;        /* and __close until then; */
  const lua_State *mute; /* and nothing in this coroutine */
  unsigned rethrown;     /* pcalls that have thrown the kill on */
  int kill_code;         /* MRPC_SCRIPT_LIMIT, MRPC_SHUTTING_DOWN, ... */
  char kill_why[96];     /* for the log: "math.lua:3: ran longer than ..." */
};

/* A new task. Push a function and its arguments on (*out)->co, then start.
 * `owner` is held until the end. MRPC_ENOMEM; MRPC_ESTATE while the runtime
 * is being freed. */
int mrpc_task_new(mrpc_runtime *runtime, mrpc_file *owner, mrpc_task_fn on_end,
                  void *ud, mrpc_task **out);
/* Takes back a task that was not started; on_end isn't called. */
void mrpc_task_discard(mrpc_task *task);
/* Runs the task with `nargs` arguments until it ends or waits. May be called
 * from inside another task. */
void mrpc_task_start(mrpc_task *task, int nargs);
/* The same from the loop's next turn. */
void mrpc_task_start_later(mrpc_task *task, int nargs);

/* The task that runs now, NULL outside of any. */
mrpc_task *mrpc_task_current(mrpc_runtime *runtime);

/* `return mrpc_task_park(L, on_unpark, ud, k, ctx)` in a C function parks the
 * current task; `k` continues it as with lua_yieldk, with what the waker left
 * on top of the stack; without `k` these are the results. Raises where a wait
 * isn't possible (no task; a C boundary between). on_unpark may be NULL. */
int mrpc_task_park(lua_State *L, mrpc_unpark_fn on_unpark, void *ud,
                   lua_KFunction k, lua_KContext ctx);
/* Raises where park would; for those that have something to start first. The
 * task that would be parked. */
mrpc_task *mrpc_task_check_wait(lua_State *L);
/* The timeout at `index`, limits.wait when it is nil. Raises for what is no
 * time. */
double mrpc_task_timeout(lua_State *L, int index);
/* To be called before park: after `seconds` the wait raises MRPC_TIMED_OUT,
 * or, when `wakes`, ends without values. Raises when out of memory. */
void mrpc_task_set_timer(lua_State *L, mrpc_task *task, double seconds,
                         bool wakes);

/* The same; answers MRPC_ENOMEM instead of raising. */
int mrpc_task_start_timer(mrpc_task *task, double seconds, bool wakes);

/* Where the values that a wait gives are to be pushed before wake. */
lua_State *mrpc_task_values(mrpc_task *task);
/* Goes on with a parked task; the top `nvalues` of mrpc_task_values(task) are
 * what its wait gives. Call it from the loop, not from inside Lua code;
 * elsewhere use mrpc_task_wake_later. */
void mrpc_task_wake(mrpc_task *task, int nvalues);
/* The same from the loop's next turn. */
void mrpc_task_wake_later(mrpc_task *task, int nvalues);
/* Makes the wait of a parked task raise an error object, from the loop's next
 * turn. `message` is constant. */
void mrpc_task_raise(mrpc_task *task, int code, const char *message);
/* Its waits raise rpc.cancelled from now on, the present one too. */
void mrpc_task_cancel(mrpc_task *task);
/* Does what this task makes die with its file? */
bool mrpc_task_is_at_load(const mrpc_task *task);
/* The new task helps with the call of the one that spawned it. */
void mrpc_task_help(mrpc_task *task, mrpc_task *by);
/* Makes a new task die with its owner. MRPC_ESTATE when that has gone. */
int mrpc_task_tie(mrpc_task *task);
/* Ends a task that doesn't run, at once: its to-be-closed variables run,
 * on_end gets the status LUA_ERRRUN; `code` and `why` stand in kill_code and
 * kill_why. */
void mrpc_task_kill(mrpc_task *task, int code, const char *why);

enum { MRPC_SLICE_NS = 5000000 };

#endif
