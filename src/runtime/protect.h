/* SPDX-License-Identifier: MIT
 *
 * The border between C and Lua errors. C code that may throw runs behind
 * mrpc_protect; scripts get a pcall and xpcall that let a kill through. */
#ifndef MRPC_RUNTIME_PROTECT_H
#define MRPC_RUNTIME_PROTECT_H

#include <lua.h>

#include "runtime/runtime.h"

/* Runs `fn` on the main thread with `arg` as its only argument, a light
 * userdata. MRPC_ENOMEM, MRPC_ESCRIPT; the error value is dropped. */
int mrpc_protect(mrpc_runtime *runtime, lua_CFunction fn, void *arg);

/* Was the current task, or a finalizer, killed? Then nobody may catch what is
 * being thrown. */
bool mrpc_is_killed(lua_State *L);

/* Replaces the global functions pcall and xpcall. May throw. */
void mrpc_protect_open(lua_State *L);

#endif
