/* SPDX-License-Identifier: MIT
 *
 * The libraries that scripts find: Lua's own (less what would harm the host),
 * cjson, and rpc. */
#ifndef MRPC_RUNTIME_LIBS_H
#define MRPC_RUNTIME_LIBS_H

#include <lua.h>

/* Opens all of them. May throw. */
int mrpc_libs_open(lua_State *L);

#endif
