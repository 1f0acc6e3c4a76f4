/* SPDX-License-Identifier: MIT
 *
 * The Lua side of the house: one lua_State, the tasks that run in it, the
 * files that were loaded. Knows Lua and the core, not libuv. */
#ifndef MRPC_RUNTIME_RUNTIME_H
#define MRPC_RUNTIME_RUNTIME_H

#include <lua.h>
#include <signal.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/hint.h"
#include "base/list.h"
#include "rpc/dispatch.h"

typedef struct mrpc_file mrpc_file;     /* a loaded file; file.h */
typedef struct mrpc_loader mrpc_loader; /* loads and reloads; load.h */
typedef struct mrpc_task mrpc_task;     /* task.h */

/* Whose a coroutine is. */
typedef enum mrpc_thread_kind {
  MRPC_THREAD_FREE,    /* the script's; it may resume it */
  MRPC_THREAD_WAITING, /* the script's; a task waits inside it */
  MRPC_THREAD_TASK     /* the host's; the script may only look at it */
} mrpc_thread_kind;

/* The extra space of every coroutine points to one of these. */
typedef struct mrpc_thread {
  mrpc_runtime *runtime;
  mrpc_thread_kind kind;
} mrpc_thread;

/* A short string that was pushed before; convert.h. */
typedef struct mrpc_key mrpc_key;

enum { MRPC_EVENTS = 4 }; /* event.h */

typedef struct mrpc_queue mrpc_queue; /* serial.c */

/* Names as they are written; names.h */
typedef struct mrpc_names mrpc_names;

/* What rpc.json works with; json.c. */
typedef struct mrpc_work mrpc_work;

struct mrpc_runtime {
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  mrpc_limits limits;
  bool dev;
  bool standing_hook;  /* the embedder doesn't interrupt */
  bool closing;        /* no new task starts */
  lua_State *L;        /* the main thread; no script code runs on it */
  size_t memory;       /* bytes of the Lua heap now */
  size_t max_memory;   /* limits.memory */
  mrpc_mem heap;       /* memory that counts as Lua's */
  uint64_t handler_ns; /* limits.handler; 0: none */

  mrpc_thread free_thread;
  mrpc_thread waiting_thread;
  mrpc_link tasks;    /* all that exist and aren't in the pool */
  mrpc_link pool;     /* tasks to be used again */
  uint32_t pooled;    /* how many */
  mrpc_link ready;    /* go on in the loop's next turn */
  mrpc_timer turn;    /* is that turn */
  mrpc_task *current; /* that runs now */
  lua_State *running; /* its coroutine, or the script's inside it */
  uint32_t pins;      /* resumes below it that can't be left by a yield */
  uint32_t nesting;   /* tasks that run inside each other */
  uint32_t spawned;   /* tasks of rpc.spawn that exist */

  mrpc_link peers;              /* those that have an object; peer.c */
  uint64_t encodings;           /* messages that topics have written */
  mrpc_link hooks[MRPC_EVENTS]; /* of rpc.on; event.c */
  uint32_t end_tasks;           /* of functions that belong to an end */
  bool is_shut;                 /* the host takes no more work */
  mrpc_runtime_fn on_quiet;     /* the last of those tasks has ended */
  void *quiet_ud;

  mrpc_map queues; /* of calls that run one after another; serial.c */

  uint32_t protections;          /* nesting of mrpc_protect */
  uint32_t slice;                /* number of the run of Lua code; 0: none */
  uint32_t slices;               /* numbers given so far */
  volatile sig_atomic_t alarmed; /* coroutines that run get the hook */

  uint64_t finalizer_since; /* when one was seen running; finalizer.c */
  bool finalizer_late;      /* it must end */

  const void *array_meta;  /* addresses of rpc.array's and rpc.object's */
  const void *object_meta; /* metatables */
  mrpc_key *keys;          /* cache of the keys of decoded objects */
  mrpc_names *names;       /* and of the names of encoded ones */
  mrpc_buf scratch;        /* to build error data */
  mrpc_work *work;         /* of rpc.json, while nobody uses it */
  char warning[256];       /* pieces of a warning of Lua's */
  size_t warning_len;

  mrpc_loader *loader;
  mrpc_report_fn on_report;
  mrpc_exit_fn on_exit; /* NULL: rpc.exit isn't granted */
  mrpc_dialer dialer;   /* without functions: rpc.connect isn't granted */
  mrpc_link dialled;    /* connections of rpc.connect; dial.c */
  void *ud;
};

/* The runtime of a Lua state (kept in its extra space). */
static inline mrpc_runtime *mrpc_runtime_of(lua_State *L) {
  return (*(mrpc_thread **)lua_getextraspace(L))->runtime;
}

/* Makes `require(name)` open a C module. MRPC_ENOMEM. */
int mrpc_runtime_preload(mrpc_runtime *runtime, const char *name,
                         lua_CFunction open);

#endif
