/* SPDX-License-Identifier: MIT */
#include "runtime/object.h"

#include <lauxlib.h>

bool mrpc_object_is(lua_State *L, int index, const void *key) {
  if (!lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  bool is_it = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is_it;
}

/* A script can give the metatable to a table of its own. */
void *mrpc_object_check(lua_State *L, int index, const void *key,
                        const char *what) {
  bool is_it = lua_isuserdata(L, index) && mrpc_object_is(L, index, key);
  luaL_argexpected(L, is_it, index, what);
  return lua_touserdata(L, index);
}
