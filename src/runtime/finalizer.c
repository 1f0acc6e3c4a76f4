/* SPDX-License-Identifier: MIT
 *
 * Lua switches hooks off while it runs a finalizer, so one that loops could
 * never be ended. Hooks are switched off for one coroutine only: setmetatable
 * therefore puts a C function in the place of a __gc function of the script's,
 * and that runs it in a coroutine kept for this purpose, with a hook of its
 * own. Lua runs one finalizer at a time. */
#include "runtime/finalizer.h"

#include <lauxlib.h>

#include "runtime/runtime.h"

enum { LOOK_COUNT = 1000000 }; /* instructions between looks at the clock */

/* In the registry: the string "__gc", and the coroutine. */
static const char gc_key, thread_key;

enum { IDLE = 0, UNSEEN = 1 }; /* values of finalizer_since that are no time */

/* Ends a finalizer whose time is up. Coroutines that it makes have this hook
 * too, and may outlive it. */
static void look(lua_State *L, lua_Debug *ar) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  uint64_t now = mrpc_env_now(rt->env);
  (void)ar;
  if (rt->finalizer_since == IDLE) {
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  if (rt->finalizer_since == UNSEEN) rt->finalizer_since = now;
  if (!rt->handler_ns || now - rt->finalizer_since <= rt->handler_ns) return;
  rt->finalizer_late = true;
  luaL_error(L, "a finalizer ran too long");
}

/* Runs what stands on the coroutine; gives its status. */
static int run(mrpc_runtime *rt, lua_State *L, lua_State *co) {
  lua_State *running = rt->running;
  int n;
  rt->finalizer_since = UNSEEN;
  rt->running = NULL;
  rt->pins++;
  lua_sethook(co, look, LUA_MASKCOUNT, LOOK_COUNT);
  int status = lua_resume(co, L, 1, &n);
  rt->pins--;
  rt->running = running;
  rt->finalizer_since = IDLE;
  rt->finalizer_late = false;
  return status;
}

/* The finalizer that Lua sees; the script's is the upvalue. A coroutine that
 * died in a hook has no hooks any more, so a new one takes its place.
 * stack: [object] -> [] */
static int guard(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &thread_key);
  lua_State *co = lua_tothread(L, -1);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_xmove(L, co, 2);
  int status = run(rt, L, co);
  if (status == LUA_OK) {
    lua_settop(co, 0);
    return 0;
  }
  if (status != LUA_YIELD) lua_xmove(co, L, 1);
  lua_newthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &thread_key);
  if (status == LUA_YIELD) lua_pushliteral(L, "a finalizer yielded");
  return lua_error(L);
}

/* Puts the guard before a __gc function of the script's.
 * stack: [object metatable] -> the same */
static void guard_finalizer(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &gc_key);
  bool is_script = lua_rawget(L, 2) == LUA_TFUNCTION && !lua_iscfunction(L, -1);
  if (is_script) {
    lua_pushcclosure(L, guard, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gc_key);
    lua_insert(L, -2);
    lua_rawset(L, 2);
  } else {
    lua_pop(L, 1);
  }
}

/* As Lua's own. stack: [table metatable] -> [table] */
static int set_metatable(lua_State *L) {
  int type = lua_type(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2,
                   "nil or table");
  if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
    return luaL_error(L, "cannot change a protected metatable");
  lua_settop(L, 2);
  if (type == LUA_TTABLE) guard_finalizer(L);
  lua_setmetatable(L, 1);
  return 1;
}

void mrpc_finalizer_open(lua_State *L) {
  lua_newthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &thread_key);
  lua_pushliteral(L, "__gc");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &gc_key);
  lua_register(L, "setmetatable", set_metatable);
}
