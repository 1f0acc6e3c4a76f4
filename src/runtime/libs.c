/* SPDX-License-Identifier: MIT */
#include "runtime/libs.h"

#include <lauxlib.h>
#include <lua-cjson.h>
#include <lualib.h>

#include "runtime/api.h"
#include "runtime/coroutine.h"
#include "runtime/finalizer.h"
#include "runtime/protect.h"

/* Exported, but not in cjson's header. */
int luaopen_cjson_safe(lua_State *L);

/* A script can't end the host. */
static int os_exit(lua_State *L) {
  return luaL_error(L,
                    "os.exit isn't available: the host serves others too; "
                    "rpc.exit lets it end well");
}

static void preload(lua_State *L, const char *name, lua_CFunction open) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, open);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* Puts `fn` there, or nothing where it is NULL. */
static void set_in(lua_State *L, const char *table, const char *name,
                   lua_CFunction fn) {
  lua_getglobal(L, table);
  if (fn)
    lua_pushcfunction(L, fn);
  else
    lua_pushnil(L);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* Makes the registry's array part so large that the functions of most methods
 * are found there without hashing. Free places hold numbers, the list that
 * luaL_ref takes from. */
static void reserve_refs(lua_State *L) {
  enum { REFS = 256 };
  int first = 0;
  for (int i = 0; i < REFS; i++) {
    lua_pushboolean(L, 1);
    int ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (i == 0) first = ref;
  }
  for (int i = REFS - 1; i >= 0; i--)
    luaL_unref(L, LUA_REGISTRYINDEX, first + i);
}

int mrpc_libs_open(lua_State *L) {
  reserve_refs(L);
  luaL_openlibs(L);
  set_in(L, "os", "exit", os_exit);
  set_in(L, "debug", "getregistry", NULL); /* the host keeps its own there */
  preload(L, "cjson", luaopen_cjson);
  preload(L, "cjson.safe", luaopen_cjson_safe);
  mrpc_protect_open(L);
  mrpc_coroutine_open(L);
  mrpc_finalizer_open(L);
  mrpc_api_open(L);
  return 0;
}

/* Modules of the host. */

typedef struct module {
  const char *name;
  lua_CFunction open;
} module;

static int preload_module(lua_State *L) {
  const module *m = lua_touserdata(L, 1);
  preload(L, m->name, m->open);
  return 0;
}

int mrpc_runtime_preload(mrpc_runtime *runtime, const char *name,
                         lua_CFunction open) {
  module m = {name, open};
  return mrpc_protect(runtime, preload_module, &m);
}
