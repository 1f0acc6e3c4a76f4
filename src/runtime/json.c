/* SPDX-License-Identifier: MIT
 *
 * rpc.json. The document and the buffer that a call works with are C's, so
 * that nothing may throw while it holds them: what may is done in protected
 * calls. They wait in the runtime for the next call; one that begins while
 * another runs (in a finalizer) makes its own. */
#include <lauxlib.h>

#include "json/parse.h"
#include "runtime/api.h"
#include "runtime/convert.h"

enum { KEEP_BYTES = 1 << 16 };

struct mrpc_work {
  mrpc_doc doc;
  mrpc_buf buf;
  size_t last; /* length of the last text */
};

static void free_work(mrpc_runtime *rt, mrpc_work *w) {
  mrpc_doc_clear(&w->doc);
  mrpc_buf_clear(&w->buf);
  mrpc_mem_free(&rt->heap, w, sizeof *w);
}

static mrpc_work *take_work(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_work *w = rt->work;
  rt->work = NULL;
  if (w) return w;
  w = mrpc_mem_new(&rt->heap, sizeof *w);
  if (!w) luaL_error(L, "not enough memory");
  mrpc_doc_init(&w->doc, &rt->heap);
  mrpc_buf_init(&w->buf, &rt->heap, SIZE_MAX / 2);
  return w;
}

static void give_work(lua_State *L, mrpc_work *w) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  if (rt->work) {
    free_work(rt, w);
    return;
  }
  rt->work = w;
  mrpc_buf_truncate(&w->buf, 0);
  mrpc_buf_relax(&w->buf, KEEP_BYTES);
  if (w->doc.cap > KEEP_BYTES / sizeof(mrpc_node)) mrpc_doc_clear(&w->doc);
}

void mrpc_json_close(mrpc_runtime *runtime) {
  if (runtime->work) free_work(runtime, runtime->work);
  runtime->work = NULL;
}

/* Calls `push` with the work and gives that back; a failure is raised then.
 * stack: [] -> [value] */
static int push_protected(lua_State *L, lua_CFunction push, mrpc_work *w) {
  lua_pushcfunction(L, push);
  lua_pushlightuserdata(L, w);
  int status = lua_pcall(L, 1, 1, 0);
  give_work(L, w);
  return status == LUA_OK ? 1 : lua_error(L);
}

/* Raises with line and column of the fault, both counted from 1. */
static int raise_syntax(lua_State *L, const char *text, size_t at,
                        const char *why) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < at; i++)
    if (text[i] == '\n') {
      line++;
      start = i + 1;
    }
  return luaL_error(L, "invalid JSON at line %I, column %I: %s",
                    (LUAI_UACINT)line, (LUAI_UACINT)(at - start + 1), why);
}

/* stack: [work] -> [value] */
static int push_document(lua_State *L) {
  const mrpc_work *w = lua_touserdata(L, 1);
  mrpc_push_node(L, &w->doc, 0);
  return 1;
}

/* stack: [text] -> [value] */
static int decode(lua_State *L) {
  size_t len;
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *text = lua_tolstring(L, 1, &len);
  luaL_argcheck(L, len < UINT32_MAX, 1, "too long");
  mrpc_work *w = take_work(L);
  int rc =
      mrpc_json_parse(&w->doc, text, len, mrpc_runtime_of(L)->limits.depth);
  if (!rc) return push_protected(L, push_document, w);
  const char *why = w->doc.error;
  size_t at = w->doc.error_at;
  give_work(L, w);
  if (rc == MRPC_ENOMEM) return luaL_error(L, "not enough memory");
  return raise_syntax(L, text, at, why);
}

/* stack: [work] -> [text] */
static int push_text(lua_State *L) {
  const mrpc_work *w = lua_touserdata(L, 1);
  lua_pushlstring(L, w->buf.data, w->buf.len);
  return 1;
}

/* A large buffer isn't kept, but texts resemble each other: the next is given
 * at once what the last one had to grow to. */
static void expect_text(mrpc_work *w) {
  if (w->last <= KEEP_BYTES) return;
  if (!mrpc_buf_reserve(&w->buf, w->last + w->last / 8))
    mrpc_buf_truncate(&w->buf, 0);
}

/* stack: [value] -> [text] */
int mrpc_json_encode(lua_State *L) {
  mrpc_encode_error fault;
  luaL_checkany(L, 1);
  mrpc_work *w = take_work(L);
  expect_text(w);
  int rc = mrpc_encode(L, 1, &w->buf, "value", &fault);
  w->last = w->buf.len;
  if (!rc) return push_protected(L, push_text, w);
  give_work(L, w);
  if (rc == MRPC_ETYPE) return luaL_error(L, "%s", fault.text);
  return luaL_error(L, "not enough memory");
}

void mrpc_json_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", decode}, {"encode", mrpc_json_encode}, {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "json");
}
