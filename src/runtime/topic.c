/* SPDX-License-Identifier: MIT
 *
 * A membership stands in three places: in its topic's list, which publishing
 * walks, in its peer's list, by which a peer that ends leaves all its topics,
 * and in the topic's map, which tells whether a peer is in. Publishing touches
 * no Lua value but the params. */
#include "runtime/topic.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/api.h"
#include "runtime/ask.h"
#include "runtime/convert.h"
#include "runtime/object.h"

/* Keys in the registry: their addresses count. */
static const char meta_key, topics_key;

typedef struct topic {
  mrpc_link members;
  mrpc_map map; /* by the bytes of member->peer */
  int ref;      /* keeps it in the registry while there are members */
} topic;

typedef struct member {
  mrpc_link in_topic;
  mrpc_link in_peer;
  topic *topic;
  mrpc_lua_peer *peer;
} member;

/* Members. */

static member *find(const topic *t, const mrpc_lua_peer *p) {
  return mrpc_map_get(&t->map, (const char *)&p, sizeof p);
}

/* Lets the topic go if nobody is in it. Needs no memory. */
static void release(const mrpc_runtime *rt, topic *t) {
  if (t->map.count) return;
  luaL_unref(rt->L, LUA_REGISTRYINDEX, t->ref);
  t->ref = LUA_NOREF;
}

static void end_member(member *m) {
  mrpc_runtime *rt = m->peer->runtime;
  topic *t = m->topic;
  mrpc_map_remove(&t->map, (const char *)&m->peer, sizeof m->peer);
  mrpc_list_remove(&m->in_topic);
  mrpc_list_remove(&m->in_peer);
  mrpc_mem_free(&rt->heap, m, sizeof *m);
  release(rt, t);
}

void mrpc_topic_leave(mrpc_lua_peer *p) {
  while (!mrpc_list_is_empty(&p->topics))
    end_member(mrpc_list_of(p->topics.next, member, in_peer));
}

static int add_member(topic *t, mrpc_lua_peer *p) {
  member *m = mrpc_mem_new(&p->runtime->heap, sizeof *m);
  if (!m) return MRPC_ENOMEM;
  *m = (member){.topic = t, .peer = p};
  if (mrpc_map_set(&t->map, (const char *)&m->peer, sizeof m->peer, m)) {
    mrpc_mem_free(&p->runtime->heap, m, sizeof *m);
    return MRPC_ENOMEM;
  }
  mrpc_list_insert(&t->members, &m->in_topic);
  mrpc_list_insert(&p->topics, &m->in_peer);
  return MRPC_OK;
}

static topic *check_topic(lua_State *L) {
  return mrpc_object_check(L, 1, &meta_key, "topic");
}

/* topic:add(peer): is it new? stack: [topic peer] -> [boolean] */
static int add(lua_State *L) {
  topic *t = check_topic(L);
  mrpc_lua_peer *p = mrpc_lua_peer_check_usable(L, 2);
  bool is_new = !find(t, p);
  if (t->ref == LUA_NOREF) {
    lua_pushvalue(L, 1);
    t->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  if (is_new && add_member(t, p)) {
    release(p->runtime, t);
    return luaL_error(L, "not enough memory");
  }
  lua_pushboolean(L, is_new);
  return 1;
}

/* topic:remove(peer): was it in? stack: [topic peer] -> [boolean] */
static int take_out(lua_State *L) {
  const topic *t = check_topic(L);
  member *m = find(t, mrpc_lua_peer_get(L, 2));
  if (m) end_member(m);
  lua_pushboolean(L, m != NULL);
  return 1;
}

/* stack: [topic] -> [integer] */
static int count(lua_State *L) {
  lua_pushinteger(L, check_topic(L)->map.count);
  return 1;
}

/* stack: [topic] -> [array of peers] */
static int list_peers(lua_State *L) {
  const topic *t = check_topic(L);
  lua_Integer n = 0;
  lua_createtable(L, (int)t->map.count, 0);
  for (mrpc_link *at = t->members.next; at != &t->members; at = at->next) {
    const member *m = mrpc_list_of(at, member, in_topic);
    lua_rawgeti(L, LUA_REGISTRYINDEX, m->peer->ref);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* Publishing. */

/* The peer doesn't read what it is sent. */
static void drop(const mrpc_env *env, const char *name, mrpc_lua_peer *p) {
  mrpc_log(env, MRPC_LOG_WARN, "subscriber dropped: it doesn't read", "topic",
           name, "peer", mrpc_peer_address(p->peer), NULL);
  mrpc_peer_drop(p->peer);
}

/* Each member goes to the end of the list before it is sent the message, so
 * that the walk survives whatever that ends. How many were sent it. */
static lua_Integer push_to_all(const mrpc_env *env, topic *t, const char *name,
                               const mrpc_buf *text) {
  lua_Integer sent = 0;
  mrpc_link done;
  mrpc_list_init(&done);
  while (!mrpc_list_is_empty(&t->members)) {
    member *m = mrpc_list_of(t->members.next, member, in_topic);
    mrpc_list_remove(&m->in_topic);
    mrpc_list_insert(&done, &m->in_topic);
    int rc = mrpc_peer_push(m->peer->peer, text->data, text->len);
    sent += rc == MRPC_OK;
    if (rc == MRPC_ELIMIT) drop(env, name, m->peer);
  }
  mrpc_list_insert(&done, &t->members);
  mrpc_list_remove(&done);
  return sent;
}

/* topic:publish(method, params): to how many peers it was sent.
 * stack: [topic method params?] -> [integer] */
static int publish(lua_State *L) {
  topic *t = check_topic(L);
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_message_check(L, 2);
  lua_settop(L, 3);
  lua_getiuservalue(L, 1, 1);
  const char *name = lua_tostring(L, -1);
  const mrpc_buf *text = mrpc_message_write(L, 2);
  rt->encodings++;
  lua_Integer sent = push_to_all(rt->env, t, name, text);
  lua_pushinteger(L, sent);
  return 1;
}

/* Making. */

/* At the end of the Lua state; by then no peer is a member. */
static int clear_topic(lua_State *L) {
  topic *t = lua_touserdata(L, 1);
  mrpc_map_clear(&t->map);
  return 0;
}

/* stack: [name topics] -> [name topics topic] */
static void push_new(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  topic *t = lua_newuserdatauv(L, sizeof *t, 1);
  mrpc_list_init(&t->members);
  t->ref = LUA_NOREF;
  mrpc_map_init(&t->map, &rt->heap, rt->env->seed);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, 2);
}

/* rpc.topic(name): the same one for each use of the name. */
static int get_topic(lua_State *L) {
  luaL_checktype(L, 1, LUA_TSTRING);
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &topics_key);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, 2) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  push_new(L);
  return 1;
}

void mrpc_topic_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"add", add},     {"remove", take_out},  {"publish", publish},
      {"count", count}, {"peers", list_peers}, {NULL, NULL}};
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &topics_key);
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "rpc.topic");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, clear_topic);
  lua_setfield(L, -2, "__gc");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &meta_key);
  lua_pushcfunction(L, get_topic);
  lua_setfield(L, -2, "topic");
}
