/* SPDX-License-Identifier: MIT
 *
 * Nodes to Lua values, in document order, one recursive call a container (the
 * parser has bounded the depth). The node array tells sizes beforehand, so
 * tables are made as large as they get. Keys repeat a lot, and making a Lua
 * string of one costs a hash over its bytes and a search: a small cache keeps
 * recent ones in a Lua table and finds them by a cheaper hash. */
#include <lauxlib.h>
#include <string.h>

#include "json/parse.h"
#include "runtime/convert.h"
#include "runtime/names.h"

enum {
  KEY_SLOTS = 512,  /* of the cache; a power of two */
  KEY_BYTES = 32,   /* longer keys aren't kept */
  SHORT_BYTES = 512 /* of an escaped string that is unescaped in C's stack */
};

/* The bytes are those of the Lua string in the same slot of the cache's
 * table, which keeps them alive. */
struct mrpc_key {
  const char *bytes;
  uint32_t len;
};

/* Keys in the registry: their addresses count. */
static const char keys_key, strings_key, array_key, object_key;

typedef struct pusher {
  lua_State *L;
  const mrpc_doc *doc;
  mrpc_key *keys;
  int strings; /* stack index of the cache's table */
  int meta;    /* and of rpc.array's metatable */
  uint32_t depth;
} pusher;

static uint32_t push_value(pusher *p, uint32_t i);

/* Strings. */

/* stack: [] -> [string] */
static void push_escaped(lua_State *L, const char *raw, size_t len) {
  char bytes[SHORT_BYTES];
  if (len <= sizeof bytes) {
    lua_pushlstring(L, bytes, mrpc_json_unescape(raw, len, bytes));
    return;
  }
  char *scratch = lua_newuserdatauv(L, len, 0);
  lua_pushlstring(L, scratch, mrpc_json_unescape(raw, len, scratch));
  lua_remove(L, -2);
}

/* stack: [] -> [string] */
static void push_string(pusher *p, const mrpc_node *node) {
  const char *raw = p->doc->text + node->u.at.start;
  if (node->flags & MRPC_JSON_ESCAPED)
    push_escaped(p->L, raw, node->size);
  else
    lua_pushlstring(p->L, raw, node->size);
}

/* Length, first, middle and last bytes tell most keys apart. */
static uint32_t slot_of(const char *key, uint32_t len) {
  uint32_t a = 0, b = 0, c = 0;
  if (len >= 4) {
    memcpy(&a, key, 4);
    memcpy(&b, key + len - 4, 4);
    memcpy(&c, key + len / 2 - 2, 4);
  } else {
    memcpy(&a, key, len);
  }
  uint64_t h = (((uint64_t)a << 32 | b) ^ (uint64_t)c << 13 ^ len) *
               UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> 40) & (KEY_SLOTS - 1);
}

/* stack: [] -> [string] */
static void push_key(pusher *p, const mrpc_node *node) {
  uint32_t len = node->size;
  if (len > KEY_BYTES || node->flags & MRPC_JSON_ESCAPED) {
    push_string(p, node);
    return;
  }
  lua_State *L = p->L;
  const char *bytes = p->doc->text + node->u.at.start;
  uint32_t slot = slot_of(bytes, len);
  mrpc_key *key = &p->keys[slot];
  if (key->bytes && key->len == len && !memcmp(key->bytes, bytes, len)) {
    lua_rawgeti(L, p->strings, (lua_Integer)slot + 1);
    return;
  }
  const char *kept = lua_pushlstring(L, bytes, len);
  lua_pushvalue(L, -1);
  lua_rawseti(L, p->strings, (lua_Integer)slot + 1);
  *key = (mrpc_key){kept, len};
}

/* Containers. */

/* stack: [] -> [table]; gives the index of the node behind it. */
static uint32_t push_array(pusher *p, uint32_t i) {
  lua_State *L = p->L;
  uint32_t size = p->doc->nodes[i].size;
  lua_createtable(L, size > INT32_MAX ? 0 : (int)size, 0);
  lua_pushvalue(L, p->meta);
  lua_setmetatable(L, -2);
  i++;
  for (uint32_t n = 1; n <= size; n++) {
    i = push_value(p, i);
    lua_rawseti(L, -2, n);
  }
  return i;
}

/* stack: [] -> [table]; gives the index of the node behind it. A repeated
 * name replaces the earlier member. */
static uint32_t push_object(pusher *p, uint32_t i) {
  lua_State *L = p->L;
  uint32_t size = p->doc->nodes[i].size;
  lua_createtable(L, 0, size > INT32_MAX ? 0 : (int)size);
  i++;
  for (; size; size--) {
    push_key(p, &p->doc->nodes[i]);
    i = push_value(p, i + 1);
    lua_rawset(L, -3);
  }
  return i;
}

static uint32_t push_container(pusher *p, uint32_t i) {
  if (p->depth++ == MRPC_MAX_NESTING) luaL_error(p->L, "nested too deeply");
  luaL_checkstack(p->L, 4, "nested too deeply");
  i = p->doc->nodes[i].type == MRPC_JSON_ARRAY ? push_array(p, i)
                                               : push_object(p, i);
  p->depth--;
  return i;
}

static uint32_t push_value(pusher *p, uint32_t i) {
  lua_State *L = p->L;
  const mrpc_node *node = &p->doc->nodes[i];
  switch (node->type) {
    case MRPC_JSON_NULL: lua_pushlightuserdata(L, NULL); break;
    case MRPC_JSON_FALSE: lua_pushboolean(L, 0); break;
    case MRPC_JSON_TRUE: lua_pushboolean(L, 1); break;
    case MRPC_JSON_INT: lua_pushinteger(L, node->u.i); break;
    case MRPC_JSON_DOUBLE: lua_pushnumber(L, node->u.d); break;
    case MRPC_JSON_STRING: push_string(p, node); break;
    default: return push_container(p, i);
  }
  return i + 1;
}

void mrpc_push_node(lua_State *L, const mrpc_doc *doc, uint32_t i) {
  pusher p = {.L = L, .doc = doc, .keys = mrpc_runtime_of(L)->keys};
  if (doc->nodes[i].type < MRPC_JSON_ARRAY) {
    push_value(&p, i);
    return;
  }
  luaL_checkstack(L, 6, "too many values");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &strings_key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
  p.meta = lua_gettop(L);
  p.strings = p.meta - 1;
  push_value(&p, i);
  lua_replace(L, p.strings);
  lua_pop(L, 1);
}

/* rpc.null, rpc.array, rpc.object. */

/* stack: [table?] -> [table with the metatable] */
static int set_kind(lua_State *L, const char *key) {
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_createtable(L, 0, 0);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  lua_setmetatable(L, 1);
  return 1;
}

static int set_array(lua_State *L) {
  return set_kind(L, &array_key);
}

static int set_object(lua_State *L) {
  return set_kind(L, &object_key);
}

/* stack: [] -> []; gives the metatable's address. */
static const void *make_meta(lua_State *L, const char *name, const char *key) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  const void *address = lua_topointer(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
  return address;
}

static void make_cache(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  size_t size = KEY_SLOTS * sizeof *rt->keys;
  rt->keys = lua_newuserdatauv(L, size, 0);
  memset(rt->keys, 0, size);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &keys_key);
  lua_createtable(L, KEY_SLOTS, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &strings_key);
}

void mrpc_convert_open(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  make_cache(L);
  rt->names = mrpc_names_new(L);
  rt->array_meta = make_meta(L, "rpc.array", &array_key);
  rt->object_meta = make_meta(L, "rpc.object", &object_key);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  lua_pushcfunction(L, set_array);
  lua_setfield(L, -2, "array");
  lua_pushcfunction(L, set_object);
  lua_setfield(L, -2, "object");
}
