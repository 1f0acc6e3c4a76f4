/* SPDX-License-Identifier: MIT
 *
 * Scripts' finalizers under the run time limit. */
#ifndef MRPC_RUNTIME_FINALIZER_H
#define MRPC_RUNTIME_FINALIZER_H

#include <lua.h>

/* Replaces the global function setmetatable. May throw. */
void mrpc_finalizer_open(lua_State *L);

#endif
