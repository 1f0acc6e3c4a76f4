/* SPDX-License-Identifier: MIT
 *
 * The state has the base, string, table, math, utf8 and os libraries, so that
 * a config file can compute and ask for environment variables. The walk runs
 * protected: it may throw at the end of memory. */
#include "runtime/data.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "json/write.h"

enum {
  MAX_DEPTH = 16,
  MAX_SECONDS = 2,
  MAX_MIB = 64, /* of the state */
  HOOK_COUNT = 10000
};

typedef struct walk {
  const mrpc_mem *mem;
  size_t held;  /* bytes of the state */
  bool is_full; /* it wanted more than MAX_MIB */
  const char *path;
  mrpc_buf *out;
  char *error;
  size_t size;
  int result;
  char key[64]; /* of the value that is being written, as "limits.wait" */
  struct timespec start;
} walk;

static void write_value(lua_State *L, walk *w, int depth);

static void refuse(walk *w, const char *what, const char *type) {
  if (w->result == MRPC_OK)
    snprintf(w->error, w->size, "%s: %s%s%s%s", w->path, w->key,
             w->key[0] ? ": " : "", what, type);
  w->result = MRPC_ETYPE;
}

static void write_string(lua_State *L, walk *w, int index) {
  size_t len;
  const char *text = lua_tolstring(L, index, &len);
  if (mrpc_json_write_string(w->out, text, len) == MRPC_ETYPE)
    refuse(w, "a string isn't valid UTF-8", "");
}

static void write_array(lua_State *L, walk *w, int depth) {
  lua_Integer count = luaL_len(L, -1);
  mrpc_buf_addc(w->out, '[');
  for (lua_Integer i = 1; i <= count; i++) {
    if (i > 1) mrpc_buf_addc(w->out, ',');
    lua_geti(L, -1, i);
    write_value(L, w, depth + 1);
    lua_pop(L, 1);
  }
  mrpc_buf_addc(w->out, ']');
}

/* stack: [key value] -> [key value] */
static void refuse_key(lua_State *L, walk *w) {
  char what[80];
  lua_pushvalue(L, -2);
  snprintf(what, sizeof what, "[%.40s]: keys must be names, not a ",
           luaL_tolstring(L, -1, NULL));
  refuse(w, what, luaL_typename(L, -2));
  lua_pop(L, 2);
}

static void write_object(lua_State *L, walk *w, int depth) {
  bool first = true;
  size_t above = strlen(w->key);
  mrpc_buf_addc(w->out, '{');
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      refuse_key(L, w);
    } else {
      if (!first) mrpc_buf_addc(w->out, ',');
      first = false;
      write_string(L, w, -2);
      mrpc_buf_addc(w->out, ':');
      snprintf(w->key + above, sizeof w->key - above, "%s%s", above ? "." : "",
               lua_tostring(L, -2));
      write_value(L, w, depth + 1);
      w->key[above] = '\0';
    }
    lua_pop(L, 1);
  }
  mrpc_buf_addc(w->out, '}');
}

static void write_table(lua_State *L, walk *w, int depth) {
  luaL_checkstack(L, 8, NULL);
  if (depth > MAX_DEPTH) {
    refuse(w, "tables are nested too deep", "");
    return;
  }
  bool is_array = lua_geti(L, -1, 1) != LUA_TNIL;
  lua_pop(L, 1);
  if (is_array)
    write_array(L, w, depth);
  else
    write_object(L, w, depth);
}

/* stack: [value] -> [value] */
static void write_value(lua_State *L, walk *w, int depth) {
  switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
      mrpc_buf_adds(w->out, lua_toboolean(L, -1) ? "true" : "false");
      break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, -1))
        mrpc_json_write_int(w->out, lua_tointeger(L, -1));
      else if (mrpc_json_write_double(w->out, lua_tonumber(L, -1)) ==
               MRPC_ETYPE)
        refuse(w, "a number isn't finite; no limit is written false", "");
      break;
    case LUA_TSTRING: write_string(L, w, -1); break;
    case LUA_TTABLE: write_table(L, w, depth); break;
    default: refuse(w, "it can't hold a ", luaL_typename(L, -1));
  }
}

/* The allocator of the state: a file that only grows would take the machine
 * along before its time is over. */
static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize) {
  walk *w = ud;
  size_t had = ptr ? osize : 0;
  size_t max = (size_t)MAX_MIB * 1024 * 1024;
  if (nsize > had && (nsize > max || w->held - had > max - nsize)) {
    w->is_full = true;
    return NULL;
  }
  void *moved = w->mem->fn(w->mem->ud, ptr, osize, nsize);
  if (moved || nsize == 0) w->held += nsize - had;
  return moved;
}

static void open_libraries(lua_State *L) {
  static const luaL_Reg libraries[] = {
      {LUA_GNAME, luaopen_base},
      {LUA_STRLIBNAME, luaopen_string},
      {LUA_TABLIBNAME, luaopen_table},
      {LUA_MATHLIBNAME, luaopen_math},
      {LUA_UTF8LIBNAME, luaopen_utf8},
      {LUA_OSLIBNAME, luaopen_os},
      {NULL, NULL},
  };
  for (const luaL_Reg *l = libraries; l->name; l++) {
    luaL_requiref(L, l->name, l->func, 1);
    lua_pop(L, 1);
  }
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushnil(L);
  lua_setfield(L, -2, "exit"); /* it would look like a good end */
  lua_pop(L, 1);
}

/* A file that never ends would be a program that never starts. Once it is late
 * every instruction fails, so that no pcall can keep it running. */
static void hook(lua_State *L, lua_Debug *ar) {
  const walk *w = *(walk **)lua_getextraspace(L);
  struct timespec now;
  (void)ar;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double ran = (double)(now.tv_sec - w->start.tv_sec) +
               (double)(now.tv_nsec - w->start.tv_nsec) * 1e-9;
  if (ran < MAX_SECONDS) return;
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  luaL_where(L, 0);
  lua_pushfstring(L, "it ran longer than %d s", MAX_SECONDS);
  lua_concat(L, 2);
  lua_error(L);
}

static void start_deadline(lua_State *L, walk *w) {
  clock_gettime(CLOCK_MONOTONIC, &w->start);
  *(walk **)lua_getextraspace(L) = w;
  lua_sethook(L, hook, LUA_MASKCOUNT, HOOK_COUNT);
}

/* stack: [walk] -> [] */
static int run(lua_State *L) {
  walk *w = lua_touserdata(L, 1);
  open_libraries(L);
  start_deadline(L, w);
  int status = luaL_loadfilex(L, w->path, "t");
  if (status == LUA_OK) lua_call(L, 0, 1);
  if (status == LUA_ERRFILE) {
    w->result = errno == ENOENT ? MRPC_ENOTFOUND : MRPC_EIO;
    return lua_error(L);
  }
  if (status != LUA_OK) return lua_error(L);
  if (!lua_istable(L, -1))
    refuse(w, "it must return a table, not a ", luaL_typename(L, -1));
  else
    write_value(L, w, 0);
  return 0;
}

/* Lua has a chunk's file in front of its messages already. */
static void tell(lua_State *L, walk *w, int status) {
  const char *text = lua_tostring(L, -1);
  if (status == LUA_ERRMEM && w->is_full)
    snprintf(w->error, w->size, "%s: it took more than %d MiB", w->path,
             MAX_MIB);
  else if (text)
    snprintf(w->error, w->size, "%s", text);
  else
    snprintf(w->error, w->size, "%s: it raised no message", w->path);
  if (w->result == MRPC_OK) w->result = MRPC_ESCRIPT;
}

int mrpc_data_read(const mrpc_mem *mem, const char *path, mrpc_buf *json,
                   char *error, size_t size) {
  walk w = {
      .mem = mem, .path = path, .out = json, .error = error, .size = size};
  error[0] = '\0';
  lua_State *L = lua_newstate(allocate, &w);
  if (!L) return MRPC_ENOMEM;
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, &w);
  int status = lua_pcall(L, 1, 0, 0);
  if (status != LUA_OK) tell(L, &w, status);
  if (status == LUA_ERRMEM && !w.is_full) w.result = MRPC_ENOMEM;
  lua_close(L);
  return w.result ? w.result : json->err;
}
