/* SPDX-License-Identifier: MIT
 *
 * The Lua side of the house: one lua_State, the tasks that run in it, the
 * files that were loaded. Knows Lua and the core, not libuv. */
#ifndef MRPC_RUNTIME_RUNTIME_H
#define MRPC_RUNTIME_RUNTIME_H

#include <lua.h>

#include "base/env.h"
#include "base/list.h"
#include "rpc/dispatch.h"

typedef struct mrpc_file mrpc_file;     /* a loaded file; load.h */
typedef struct mrpc_loader mrpc_loader; /* loads and reloads; load.h */
typedef struct mrpc_task mrpc_task;     /* task.h */

struct mrpc_runtime {
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  mrpc_limits limits;
  bool dev;
  lua_State *L;       /* the main thread; no script code runs on it */
  size_t memory;      /* bytes of the Lua heap now */
  mrpc_link tasks;    /* all that exist and aren't in the pool */
  mrpc_task *current; /* that runs now */
  mrpc_loader *loader;
  mrpc_report_fn on_report;
  void *ud;
};

/* The runtime of a Lua state (kept in its extra space). */
mrpc_runtime *mrpc_runtime_of(lua_State *L);

#endif
