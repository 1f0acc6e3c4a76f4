/* SPDX-License-Identifier: MIT
 *
 * Making and finding a peer's object, and its fields. The core's peer points to
 * the userdata by its slot, the userdata to the core's peer, and the end of
 * either cuts both. Who works for a peer (a call, a task that it spawned)
 * holds the object by a reference of his own, so that it is the same one after
 * the connection has died. */
#include "runtime/peer.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/api.h"
#include "runtime/dial.h"
#include "runtime/event.h"
#include "runtime/object.h"
#include "runtime/topic.h"

static const char meta_key; /* in the registry: its address counts */

enum { DATA = 1, ADDRESS, HEADERS, VALUES = HEADERS }; /* user values */

/* Life. */

/* The conversation is over; the fields stay. Needs no memory. */
static void detach(mrpc_lua_peer *p) {
  int ref = p->ref;
  mrpc_topic_leave(p);
  mrpc_peer_set_script(p->peer, NULL);
  mrpc_list_remove(&p->link);
  p->peer = NULL;
  p->ref = LUA_NOREF;
  luaL_unref(p->runtime->L, LUA_REGISTRYINDEX, ref);
}

/* Who has made the connection himself needs no event. */
static bool is_dialled(const mrpc_lua_peer *p) {
  return p && p->is_dialled;
}

static void on_open(mrpc_peer *peer, void *ud) {
  if (is_dialled(mrpc_peer_script(peer)))
    mrpc_dial_ready(ud, peer);
  else
    mrpc_event_fire(ud, MRPC_EVENT_CONNECT, peer);
}

static void on_end(mrpc_peer *peer, void *ud) {
  if (!is_dialled(mrpc_peer_script(peer)))
    mrpc_event_fire(ud, MRPC_EVENT_DISCONNECT, peer);
  mrpc_lua_peer *p = mrpc_peer_script(peer);
  if (p) detach(p);
}

void mrpc_lua_peers_init(mrpc_runtime *rt) {
  static const mrpc_peer_watch watch = {on_open, on_end};
  mrpc_list_init(&rt->peers);
  mrpc_dispatch_watch(rt->dispatch, &watch, rt);
}

void mrpc_lua_peers_free(mrpc_runtime *rt) {
  mrpc_dispatch_watch(rt->dispatch, NULL, NULL);
  while (!mrpc_list_is_empty(&rt->peers))
    detach(mrpc_list_of(rt->peers.next, mrpc_lua_peer, link));
}

/* Making. */

/* An object that no connection holds. `peer` may be NULL: it has gone.
 * stack: [] -> [peer] */
static mrpc_lua_peer *push_new(lua_State *L, const mrpc_peer *peer) {
  mrpc_lua_peer *p = lua_newuserdatauv(L, sizeof *p, VALUES);
  *p = (mrpc_lua_peer){.runtime = mrpc_runtime_of(L), .ref = LUA_NOREF};
  mrpc_list_init(&p->link);
  mrpc_list_init(&p->topics);
  p->id = peer ? mrpc_peer_id(peer) : 0;
  p->transport = peer ? mrpc_peer_transport(peer) : "";
  lua_pushstring(L, peer ? mrpc_peer_address(peer) : "");
  lua_setiuservalue(L, -2, ADDRESS);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_setmetatable(L, -2);
  return p;
}

void mrpc_lua_peer_push(lua_State *L, mrpc_peer *peer) {
  mrpc_lua_peer *p = mrpc_peer_script(peer);
  luaL_checkstack(L, 4, NULL);
  if (p) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, p->ref);
    return;
  }
  p = push_new(L, peer);
  lua_pushvalue(L, -1);
  p->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  p->peer = peer;
  mrpc_list_insert(&p->runtime->peers, &p->link);
  mrpc_peer_set_script(peer, p);
}

/* Names are in lower case already; one that comes again is joined (RFC 9110
 * section 5.3). stack: [] -> [headers] */
static void push_headers(lua_State *L, const mrpc_header_field *field) {
  lua_newtable(L);
  for (; field->name; field++) {
    if (lua_getfield(L, -1, field->name) == LUA_TSTRING)
      lua_pushfstring(L, "%s, %s", lua_tostring(L, -1), field->value);
    else
      lua_pushstring(L, field->value);
    lua_setfield(L, -3, field->name);
    lua_pop(L, 1);
  }
}

/* stack: [peer] -> [peer] */
static void keep_headers(lua_State *L, const mrpc_header_field *field) {
  if (!field) return;
  push_headers(L, field);
  lua_setiuservalue(L, -2, HEADERS);
}

/* The fields of a request go with its message, so an object of HTTP takes them
 * along at once. stack: [] -> [peer] */
static void push_http(lua_State *L, mrpc_call *call, const mrpc_peer *peer) {
  mrpc_lua_peer *p = push_new(L, peer);
  p->is_http = true;
  p->call = call;
  keep_headers(L, mrpc_call_headers(call));
}

/* Who calls. */

/* stack: [] -> [peer] */
static void push_of_call(lua_State *L, mrpc_call *call) {
  mrpc_peer *peer = mrpc_call_peer(call);
  if (!peer)
    push_new(L, NULL);
  else if (mrpc_peer_framing(peer)->vt->push)
    mrpc_lua_peer_push(L, peer);
  else
    push_http(L, call, peer);
}

void mrpc_lua_caller_push(lua_State *L) {
  mrpc_task *task = mrpc_runtime_of(L)->current;
  luaL_checkstack(L, 6, NULL);
  if (task && task->caller) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, task->caller);
  } else if (task && task->call) {
    push_of_call(L, task->call);
    lua_pushvalue(L, -1);
    task->caller = luaL_ref(L, LUA_REGISTRYINDEX);
  } else {
    lua_pushnil(L);
  }
}

int mrpc_lua_caller_ref(lua_State *L) {
  mrpc_lua_caller_push(L);
  if (!lua_isnil(L, -1)) return luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pop(L, 1);
  return 0;
}

void mrpc_lua_caller_keep(lua_State *L, mrpc_task *task) {
  const mrpc_peer *peer = mrpc_call_peer(task->call);
  const mrpc_lua_peer *p = peer ? mrpc_peer_script(peer) : NULL;
  if (!p || task->caller) return;
  luaL_checkstack(L, 2, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, p->ref);
  task->caller = luaL_ref(L, LUA_REGISTRYINDEX);
}

void mrpc_lua_caller_end(mrpc_task *task) {
  lua_State *co = task->co;
  if (!task->caller || !lua_checkstack(co, 1)) return;
  lua_rawgeti(co, LUA_REGISTRYINDEX, task->caller);
  mrpc_lua_peer *p = lua_touserdata(co, -1);
  p->call = NULL;
  lua_pop(co, 1);
}

/* What scripts see. */

mrpc_lua_peer *mrpc_lua_peer_get(lua_State *L, int index) {
  return mrpc_object_check(L, index, &meta_key, "peer");
}

mrpc_peer *mrpc_lua_peer_check(lua_State *L, int index) {
  return mrpc_lua_peer_get(L, index)->peer;
}

bool mrpc_lua_peer_is_closed(const mrpc_lua_peer *p) {
  if (p->is_closed) return true;
  if (p->is_http) return !p->call || !mrpc_call_peer(p->call);
  return !p->peer;
}

/* rpc.peer(). stack: [] -> [peer or nil] */
static int peer(lua_State *L) {
  mrpc_lua_caller_push(L);
  return 1;
}

/* A table per connection, made when it is needed. stack: [peer ...] -> [data]
 */
static int push_data(lua_State *L) {
  if (lua_getiuservalue(L, 1, DATA) != LUA_TNIL) return 1;
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, DATA);
  return 1;
}

/* A WebSocket's stand in its peer as long as that lives.
 * stack: [peer ...] -> [headers or nil] */
static int push_peer_headers(lua_State *L, const mrpc_lua_peer *p) {
  if (lua_getiuservalue(L, 1, HEADERS) != LUA_TNIL || !p->peer) return 1;
  const mrpc_header_field *field = mrpc_peer_headers(p->peer);
  if (!field) return 1;
  push_headers(L, field);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, HEADERS);
  return 1;
}

/* The upvalue has the methods. stack: [peer key] -> [value] */
static int get_field(lua_State *L) {
  const mrpc_lua_peer *p = mrpc_lua_peer_get(L, 1);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (!strcmp(key, "data")) return push_data(L);
  if (!strcmp(key, "headers")) return push_peer_headers(L, p);
  if (!strcmp(key, "address"))
    lua_getiuservalue(L, 1, ADDRESS);
  else if (!strcmp(key, "transport"))
    lua_pushstring(L, p->transport);
  else if (!strcmp(key, "id"))
    lua_pushinteger(L, (lua_Integer)p->id);
  else
    lua_pushnil(L);
  return 1;
}

/* stack: [peer key value] -> [] */
static int set_field(lua_State *L) {
  mrpc_lua_peer_get(L, 1);
  const char *key = luaL_tolstring(L, 2, NULL);
  if (strcmp(key, "data") != 0 || !lua_istable(L, 3))
    return luaL_error(L,
                      "a peer's field '%s' can't be set: keep what is yours in "
                      "the table peer.data",
                      key);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 1, DATA);
  return 0;
}

/* "rpc.peer 3 (tcp 127.0.0.1:50112)" */
static int to_text(lua_State *L) {
  const mrpc_lua_peer *p = mrpc_lua_peer_get(L, 1);
  lua_getiuservalue(L, 1, ADDRESS);
  const char *address = lua_tostring(L, -1);
  lua_pushfstring(L, "rpc.peer %I (%s%s%s)", (LUAI_UACINT)p->id, p->transport,
                  *address ? " " : "", address);
  return 1;
}

void mrpc_lua_peer_open(lua_State *L) {
  lua_createtable(L, 0, 4);
  lua_pushliteral(L, "rpc.peer");
  lua_setfield(L, -2, "__name");
  lua_newtable(L);
  mrpc_ask_open(L);
  lua_pushcclosure(L, get_field, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, set_field);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, to_text);
  lua_setfield(L, -2, "__tostring");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_pushcfunction(L, peer);
  lua_setfield(L, -2, "peer");
}
