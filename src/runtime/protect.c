/* SPDX-License-Identifier: MIT
 *
 * Lua's own pcall would let a script that loops inside it survive its kill:
 * the error is caught, the loop goes on. Ours throws on. */
#include "runtime/protect.h"

#include <lauxlib.h>

#include "runtime/limit.h"

int mrpc_protect(mrpc_runtime *runtime, lua_CFunction fn, void *arg) {
  lua_State *L = runtime->L;
  if (!lua_checkstack(L, 3)) return MRPC_ENOMEM;
  lua_pushcfunction(L, fn);
  lua_pushlightuserdata(L, arg);
  runtime->protections++;
  int status = lua_pcall(L, 1, 0, 0);
  runtime->protections--;
  if (status == LUA_OK) return MRPC_OK;
  lua_pop(L, 1);
  return status == LUA_ERRMEM ? MRPC_ENOMEM : MRPC_ESCRIPT;
}

bool mrpc_is_killed(lua_State *L) {
  const mrpc_runtime *rt = mrpc_runtime_of(L);
  return rt->finalizer_late || (rt->current && rt->current->killed);
}

/* `extra` values below the results aren't part of them.
 * stack: [extra... true result...] or [... error] -> the same, or
 * [... error false error] */
static int finish_pcall(lua_State *L, int status, lua_KContext extra) {
  if (status == LUA_OK || status == LUA_YIELD)
    return lua_gettop(L) - (int)extra;
  if (mrpc_is_killed(L)) return mrpc_limit_rethrow(L);
  lua_pushboolean(L, 0);
  lua_pushvalue(L, -2);
  return 2;
}

/* stack: [function argument...] -> [true result...] or [false error] */
static int protected_call(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  int status =
      lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
  return finish_pcall(L, status, 0);
}

/* Stands before a script's message handler, the upvalue. */
static int guard_handler(lua_State *L) {
  if (mrpc_is_killed(L)) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* stack: [function handler argument...] -> [true result...] or
 * [false handled] */
static int protected_call_handled(lua_State *L) {
  int nargs = lua_gettop(L) - 2;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (!lua_iscfunction(L, 2)) {
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, guard_handler, 1);
    lua_replace(L, 2);
  }
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2);
  int status = lua_pcallk(L, nargs, LUA_MULTRET, 2, 2, finish_pcall);
  return finish_pcall(L, status, 2);
}

void mrpc_protect_open(lua_State *L) {
  lua_register(L, "pcall", protected_call);
  lua_register(L, "xpcall", protected_call_handled);
}
