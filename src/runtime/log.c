/* SPDX-License-Identifier: MIT
 *
 * rpc.log, print and warn: all end in the embedder's log, with the author's
 * file and line. Never on stdout, which may be the wire. */
#include <lauxlib.h>
#include <string.h>

#include "runtime/api.h"
#include "runtime/runtime.h"

enum { MAX_FIELDS = 12 };

/* Logs the text at index 1 with the fields that stand on the stack as strings,
 * key and value by turns, from index `first` on; a last pair tells who. */
static void emit(lua_State *L, int level, int first) {
  const mrpc_runtime *rt = mrpc_runtime_of(L);
  const char *pairs[2 * MAX_FIELDS + 2];
  size_t count = 0;
  luaL_where(L, 1);
  /* The host's own Lua files are no place that an author knows. */
  bool is_own = !strncmp(lua_tostring(L, -1), "rpc.", 4);
  size_t where = is_own ? 0 : lua_rawlen(L, -1);
  if (where > 2) {
    lua_pushlstring(L, lua_tostring(L, -1), where - 2);
    lua_replace(L, -2);
  }
  int last = lua_gettop(L);
  for (int i = first; i + 1 < last && count < MAX_FIELDS; i += 2, count++) {
    pairs[2 * count] = lua_tostring(L, i);
    pairs[2 * count + 1] = lua_tostring(L, i + 1);
  }
  if (where > 2) {
    pairs[2 * count] = "at";
    pairs[2 * count + 1] = lua_tostring(L, last);
    count++;
  }
  mrpc_log_entry entry = {level, lua_tostring(L, 1), count, pairs};
  rt->env->log(&entry, rt->env->log_ud);
}

/* A table as JSON, where JSON can hold it and it has no text of its own; else
 * as tostring has it. stack: [value] -> [text] */
static void push_detail(lua_State *L) {
  int type = lua_type(L, -1);
  bool has_text = luaL_getmetafield(L, -1, "__tostring") != LUA_TNIL;
  if (has_text) lua_pop(L, 1);
  if (!has_text && (type == LUA_TTABLE || type == LUA_TLIGHTUSERDATA)) {
    lua_pushcfunction(L, mrpc_json_encode);
    lua_pushvalue(L, -2);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
      lua_pop(L, 1);
      luaL_tolstring(L, -1, NULL);
    }
  } else {
    luaL_tolstring(L, -1, NULL);
  }
  lua_replace(L, -2);
}

/* Puts the fields of the table at index 2 as strings onto the stack.
 * stack: [text fields] -> [text fields key value ...] */
static void push_fields(lua_State *L) {
  luaL_checkstack(L, 2 * MAX_FIELDS + 8, NULL);
  int count = 0;
  lua_pushnil(L);
  while (count < MAX_FIELDS && lua_next(L, 2)) {
    push_detail(L);
    luaL_tolstring(L, -2, NULL);
    lua_insert(L, -3);
    lua_insert(L, -2);
    count++;
  }
  if (count == MAX_FIELDS) lua_pop(L, 1);
}

/* rpc.log.info(text, fields); the upvalue is the level. */
static int log_text(lua_State *L) {
  int level = (int)lua_tointeger(L, lua_upvalueindex(1));
  luaL_checkany(L, 1);
  if (!mrpc_log_wants(mrpc_runtime_of(L)->env, level)) return 0;
  luaL_tolstring(L, 1, NULL);
  lua_replace(L, 1);
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
    push_fields(L);
  }
  emit(L, level, 3);
  return 0;
}

/* As Lua's, the arguments joined by tabs. */
static int print(lua_State *L) {
  int count = lua_gettop(L);
  luaL_Buffer text;
  if (!mrpc_log_wants(mrpc_runtime_of(L)->env, MRPC_LOG_INFO)) return 0;
  luaL_buffinit(L, &text);
  for (int i = 1; i <= count; i++) {
    if (i > 1) luaL_addchar(&text, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&text);
  }
  luaL_pushresult(&text);
  if (count > 0) lua_replace(L, 1);
  lua_settop(L, 1);
  emit(L, MRPC_LOG_INFO, 2);
  return 0;
}

/* Lua's warnings come in pieces; what doesn't fit is cut. Failing finalizers
 * speak here. */
static void warn(void *ud, const char *text, int to_continue) {
  mrpc_runtime *rt = ud;
  size_t room = sizeof rt->warning - 1 - rt->warning_len, len = strlen(text);
  if (len > room) len = room;
  memcpy(rt->warning + rt->warning_len, text, len);
  rt->warning_len += len;
  rt->warning[rt->warning_len] = '\0';
  if (to_continue) return;
  rt->warning_len = 0;
  if (rt->warning[0] != '@')
    mrpc_log(rt->env, MRPC_LOG_WARN, rt->warning, NULL);
}

void mrpc_log_open(lua_State *L) {
  static const struct {
    const char *name;
    int level;
  } levels[] = {{"error", MRPC_LOG_ERROR},
                {"warn", MRPC_LOG_WARN},
                {"info", MRPC_LOG_INFO},
                {"debug", MRPC_LOG_DEBUG}};
  lua_createtable(L, 0, 4);
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    lua_pushinteger(L, levels[i].level);
    lua_pushcclosure(L, log_text, 1);
    lua_setfield(L, -2, levels[i].name);
  }
  lua_setfield(L, -2, "log");
  lua_register(L, "print", print);
  lua_setwarnf(L, warn, mrpc_runtime_of(L));
}
