/* SPDX-License-Identifier: MIT
 *
 * Error objects that no script made: what a peer answered, a timeout, a peer
 * that has gone. Nobody may have expected them, so one that nobody catches is
 * traced like any accident, though it goes on to the caller as it is. */
#ifndef MRPC_RUNTIME_FOREIGN_H
#define MRPC_RUNTIME_FOREIGN_H

#include <lua.h>

#include "runtime/error.h"

/* Says that the error object on top is one of these.
 * stack: [object] -> [object] */
void mrpc_foreign_mark(lua_State *L);
/* For the message handler: traces the error object on top, if it is one of
 * these and isn't traced yet. May throw. stack: [object] -> [object] */
void mrpc_foreign_trace(lua_State *L);
/* Says that a log has been told of what is behind the error object on top: it
 * is no news. May throw. stack: [object] -> [object] */
void mrpc_foreign_set_told(lua_State *L);
/* Doesn't throw. */
bool mrpc_foreign_is_told(lua_State *L, int index);
/* The trace of the error object at `index`; false when it has none. Doesn't
 * throw. */
bool mrpc_foreign_get(lua_State *L, int index, mrpc_failure *out);

/* May throw. stack: [metatable of error objects] -> [] */
void mrpc_foreign_open(lua_State *L);

#endif
