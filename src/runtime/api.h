/* SPDX-License-Identifier: MIT
 *
 * The `rpc` table. Each part puts its functions into the table on top of the
 * stack; all may throw. lua/rpc.lua documents what scripts see. */
#ifndef MRPC_RUNTIME_API_H
#define MRPC_RUNTIME_API_H

#include <lua.h>

#include "runtime/runtime.h"

/* Makes the table: global `rpc`, and what require "rpc" gives.
 * stack: [] -> [] */
void mrpc_api_open(lua_State *L);

/* stack: [rpc] -> [rpc] */
void mrpc_log_open(lua_State *L);      /* log, and the globals print and warn */
void mrpc_json_open(lua_State *L);     /* json */
void mrpc_wait_open(lua_State *L);     /* sleep, await */
void mrpc_spawn_open(lua_State *L);    /* spawn */
void mrpc_alarm_open(lua_State *L);    /* after, every */
void mrpc_lua_peer_open(lua_State *L); /* peer */
void mrpc_progress_open(lua_State *L); /* progress */
void mrpc_event_open(lua_State *L);    /* on */
void mrpc_topic_open(lua_State *L);    /* topic */
void mrpc_serial_open(lua_State *L);   /* serial */

/* The methods of a peer's object. stack: [methods] -> [methods] */
void mrpc_ask_open(lua_State *L);

/* rpc.json.encode. stack: [value] -> [text] */
int mrpc_json_encode(lua_State *L);
/* Frees what rpc.json keeps, once the Lua state is closed. */
void mrpc_json_close(mrpc_runtime *runtime);

#endif
