/* SPDX-License-Identifier: MIT
 *
 * Their mark is a metatable of their own, equal to that of the others. The
 * trace, a failure, stands in a table that holds the objects weakly, so that
 * scripts see nothing of it. */
#include "runtime/foreign.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/object.h"
#include "runtime/trace.h"

enum { CALLEE_LEVELS = 16 };

/* Keys in the registry: their addresses count. */
static const char meta_key, traces_key, told_key;

void mrpc_foreign_mark(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_setmetatable(L, -2);
}

/* stack: [error object] -> [error object] */
void mrpc_foreign_set_told(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &told_key);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

bool mrpc_foreign_is_told(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!lua_checkstack(L, 2)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &told_key);
  lua_pushvalue(L, index);
  bool is_told = lua_rawget(L, -2) == LUA_TBOOLEAN;
  lua_pop(L, 2);
  return is_told;
}

/* The host's function that the script called, with its name; that is lost where
 * a tail call has put it in its caller's place. */
static bool find_callee(lua_State *L, lua_Debug *callee) {
  lua_Debug ar;
  bool is_found = false;
  for (int level = 1; level < CALLEE_LEVELS; level++) {
    if (!lua_getstack(L, level, &ar)) break;
    lua_getinfo(L, "Snt", &ar);
    if (*ar.what != 'C' && !mrpc_trace_is_own(&ar)) break;
    *callee = ar;
    is_found = true;
    if (ar.istailcall) break;
  }
  return is_found;
}

/* What it was asked for: the method of a call, the address of a connection, is
 * the one text among its first two arguments. stack: [] -> [text] or [] */
static bool push_subject(lua_State *L, const lua_Debug *callee) {
  for (int n = 1; n <= 2; n++) {
    if (!lua_getlocal(L, callee, n)) return false;
    if (lua_type(L, -1) == LUA_TSTRING) return true;
    lua_pop(L, 1);
  }
  return false;
}

/* "init.lua:3: call \"their.method\": Method not found (-32601)".
 * stack: [] -> [text] */
static void push_text(lua_State *L, const mrpc_error_object *object) {
  lua_Debug callee;
  int line, base = lua_gettop(L);
  if (mrpc_trace_push_file(L, &line)) lua_pushfstring(L, ":%d: ", line);
  if (find_callee(L, &callee)) {
    bool is_named = callee.name != NULL;
    if (is_named) lua_pushstring(L, callee.name);
    if (push_subject(L, &callee)) {
      lua_pushfstring(L,
                      is_named ? " \"%s\": " : "\"%s\": ", lua_tostring(L, -1));
      lua_remove(L, -2);
    } else if (is_named) {
      lua_pushliteral(L, ": ");
    }
  }
  lua_pushfstring(L, "%s (%I)", object->message, (LUAI_UACINT)object->code);
  lua_concat(L, lua_gettop(L) - base);
}

void mrpc_foreign_trace(lua_State *L) {
  mrpc_error_object object;
  int index = lua_gettop(L);
  if (!mrpc_object_is(L, index, &meta_key)) return;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &traces_key);
  lua_pushvalue(L, index);
  if (lua_rawget(L, -2) == LUA_TNIL &&
      mrpc_error_object_get(L, index, &object)) {
    lua_settop(L, index + 1);
    lua_pushvalue(L, index);
    push_text(L, &object);
    mrpc_failure_trace(L);
    lua_rawset(L, -3);
  }
  lua_settop(L, index);
}

bool mrpc_foreign_get(lua_State *L, int index, mrpc_failure *out) {
  index = lua_absindex(L, index);
  if (!lua_checkstack(L, 2) || !mrpc_object_is(L, index, &meta_key))
    return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &traces_key);
  lua_pushvalue(L, index);
  bool is_traced = lua_rawget(L, -2) == LUA_TUSERDATA;
  if (is_traced) mrpc_failure_get(L, -1, out);
  lua_pop(L, 2);
  return is_traced;
}

/* stack: [metatable] -> [] */
static void keep_copy(lua_State *L) {
  lua_createtable(L, 0, 2);
  for (lua_pushnil(L); lua_next(L, -3);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_pop(L, 1);
}

/* A table in the registry that holds its keys weakly. */
static void open_weak(lua_State *L, const char *key) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void mrpc_foreign_open(lua_State *L) {
  keep_copy(L);
  open_weak(L, &traces_key);
  open_weak(L, &told_key);
}
