/* SPDX-License-Identifier: MIT
 *
 * Which values are objects of ours: those that bear the metatable which stands
 * in the registry under the address `key`. */
#ifndef MRPC_RUNTIME_OBJECT_H
#define MRPC_RUNTIME_OBJECT_H

#include <lua.h>
#include <stdbool.h>

/* Needs two slots of the stack. */
bool mrpc_object_is(lua_State *L, int index, const void *key);
/* The userdata of that kind at `index`; raises that a `what` was expected.
 * Needs two slots of the stack. */
void *mrpc_object_check(lua_State *L, int index, const void *key,
                        const char *what);

#endif
