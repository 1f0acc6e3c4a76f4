/* SPDX-License-Identifier: MIT
 *
 * The coroutine library that scripts get. It behaves as Lua's own, and a wait
 * for the host inside a script's coroutine suspends the whole task. */
#ifndef MRPC_RUNTIME_COROUTINE_H
#define MRPC_RUNTIME_COROUTINE_H

#include <lua.h>

/* Replaces the functions of the global table `coroutine`. May throw. */
void mrpc_coroutine_open(lua_State *L);

#endif
