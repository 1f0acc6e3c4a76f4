/* SPDX-License-Identifier: MIT
 *
 * rpc.json. What C allocates meanwhile belongs to a userdata, which Lua frees
 * when an error cuts the function short; in the normal course it goes back to
 * the registry for the next call. */
#include <lauxlib.h>

#include "json/parse.h"
#include "runtime/api.h"
#include "runtime/convert.h"

enum { KEEP_BYTES = 1 << 16 };

static const char work_key, work_meta_key; /* in the registry */

/* What one decode or encode works with. */
typedef struct work {
  mrpc_doc doc;
  mrpc_buf buf;
} work;

static int free_work(lua_State *L) {
  work *w = lua_touserdata(L, 1);
  mrpc_doc_clear(&w->doc);
  mrpc_buf_clear(&w->buf);
  return 0;
}

/* Takes the one that waits in the registry, or makes one: a finalizer may
 * need a second. stack: [] -> [work] */
static work *take_work(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &work_key) == LUA_TUSERDATA) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &work_key);
    return lua_touserdata(L, -1);
  }
  lua_pop(L, 1);
  const mrpc_mem *heap = &mrpc_runtime_of(L)->heap;
  work *w = lua_newuserdatauv(L, sizeof *w, 0);
  mrpc_doc_init(&w->doc, heap);
  mrpc_buf_init(&w->buf, heap, SIZE_MAX / 2);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &work_meta_key);
  lua_setmetatable(L, -2);
  return w;
}

/* stack: [work at `index`] */
static void give_work(lua_State *L, int index, work *w) {
  mrpc_buf_truncate(&w->buf, 0);
  mrpc_buf_relax(&w->buf, KEEP_BYTES);
  if (w->doc.cap > KEEP_BYTES / sizeof(mrpc_node)) mrpc_doc_clear(&w->doc);
  lua_pushvalue(L, index);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &work_key);
}

/* Raises with line and column of the fault, both counted from 1. */
static int raise_syntax(lua_State *L, const mrpc_doc *doc) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < doc->error_at; i++)
    if (doc->text[i] == '\n') {
      line++;
      start = i + 1;
    }
  return luaL_error(L, "invalid JSON at line %I, column %I: %s",
                    (LUAI_UACINT)line, (LUAI_UACINT)(doc->error_at - start + 1),
                    doc->error);
}

static int decode(lua_State *L) {
  size_t len;
  luaL_checktype(L, 1, LUA_TSTRING);
  lua_settop(L, 1);
  const char *text = lua_tolstring(L, 1, &len);
  luaL_argcheck(L, len < UINT32_MAX, 1, "too long");
  work *w = take_work(L);
  int rc =
      mrpc_json_parse(&w->doc, text, len, mrpc_runtime_of(L)->limits.depth);
  if (rc == MRPC_ENOMEM) return luaL_error(L, "not enough memory");
  if (rc) return raise_syntax(L, &w->doc);
  mrpc_push_node(L, &w->doc, 0);
  give_work(L, 2, w);
  return 1;
}

int mrpc_json_encode(lua_State *L) {
  mrpc_encode_error fault;
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  work *w = take_work(L);
  int rc = mrpc_encode(L, 1, &w->buf, "value", &fault);
  if (rc == MRPC_ETYPE) return luaL_error(L, "%s", fault.text);
  if (rc) return luaL_error(L, "not enough memory");
  lua_pushlstring(L, w->buf.data, w->buf.len);
  give_work(L, 2, w);
  return 1;
}

void mrpc_json_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", decode}, {"encode", mrpc_json_encode}, {NULL, NULL}};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_work);
  lua_setfield(L, -2, "__gc");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &work_meta_key);
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "json");
}
