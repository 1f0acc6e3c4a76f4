/* SPDX-License-Identifier: MIT */
#include "runtime/api.h"

#include <lauxlib.h>

#include "runtime/convert.h"
#include "runtime/dial.h"
#include "runtime/error.h"
#include "runtime/load.h"
#include "runtime/task.h"

static const char states_key; /* in the registry: its address counts */

/* rpc.state(name): a table that survives reloads. */
static int state(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &states_key);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, 2) == LUA_TTABLE) return 1;
  lua_createtable(L, 0, 0);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, 2);
  return 1;
}

/* rpc.now(): seconds of a monotonic clock. */
static int now(lua_State *L) {
  const mrpc_env *env = mrpc_runtime_of(L)->env;
  lua_pushnumber(L, (lua_Number)mrpc_env_now(env) / 1e9);
  return 1;
}

static int is_cancelled(lua_State *L) {
  const mrpc_task *task = mrpc_runtime_of(L)->current;
  bool by_caller = task && task->call && mrpc_call_is_cancelled(task->call);
  lua_pushboolean(L, by_caller || (task && task->cancelled));
  return 1;
}

/* rpc.exit([code]): asks the embedder to end the host. */
static int ask_exit(lua_State *L) {
  const mrpc_runtime *runtime = mrpc_runtime_of(L);
  lua_Integer code = luaL_optinteger(L, 1, 0);
  luaL_argcheck(L, code >= 0 && code <= 255, 1, "not within 0 and 255");
  if (!runtime->on_exit)
    return luaL_error(L, "rpc.exit isn't granted to scripts by this program");
  runtime->on_exit((int)code, runtime->ud);
  return 0;
}

void mrpc_api_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"state", state},
                                       {"now", now},
                                       {"is_cancelled", is_cancelled},
                                       {"exit", ask_exit},
                                       {"method", mrpc_load_method},
                                       {NULL, NULL}};
  lua_createtable(L, 0, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &states_key);
  luaL_newlib(L, functions);
  lua_pushliteral(L, MRPC_VERSION);
  lua_setfield(L, -2, "version");
  mrpc_convert_open(L);
  mrpc_error_open(L);
  mrpc_log_open(L);
  mrpc_json_open(L);
  mrpc_wait_open(L);
  mrpc_spawn_open(L);
  mrpc_alarm_open(L);
  mrpc_lua_peer_open(L);
  mrpc_progress_open(L);
  mrpc_event_open(L);
  mrpc_topic_open(L);
  mrpc_serial_open(L);
  mrpc_dial_open(L);
  lua_pushvalue(L, -1);
  lua_setglobal(L, "rpc");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_insert(L, -2);
  lua_setfield(L, -2, "rpc");
  lua_pop(L, 1);
}
