/* SPDX-License-Identifier: MIT
 *
 * The message handler runs where the error happened, before anything is
 * unwound: the only moment at which a traceback can be made. What it makes is
 * a userdata with the texts as user values. Scripts see it in one place, as
 * the error that their __close metamethods are given; tostring shows its text
 * there. */
#include "runtime/error.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/foreign.h"
#include "runtime/object.h"
#include "runtime/protect.h"
#include "runtime/task.h"
#include "runtime/trace.h"

enum { TEXT_BYTES = 1 << 14 };                       /* of a failure's text */
enum { TEXT = 1, FILE_NAME, TRACE, VALUES = TRACE }; /* its user values */

typedef struct failure_box {
  int line;
  size_t place; /* bytes of the text that tell the place */
} failure_box;

/* Keys in the registry: their addresses count. */
static const char error_meta_key, failure_meta_key, cancelled_key, code_key,
    message_key, data_key;

/* Error objects. */

/* Pushes a field of the table at `index`; no string has to be made.
 * stack: [] -> [value] */
static int push_field(lua_State *L, int index, const char *key) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  return lua_rawget(L, index);
}

bool mrpc_error_object_get(lua_State *L, int index, mrpc_error_object *out) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index) || !lua_checkstack(L, 3)) return false;
  int is_integer = 0;
  push_field(L, index, &code_key);
  if (lua_type(L, -1) == LUA_TNUMBER)
    out->code = lua_tointegerx(L, -1, &is_integer);
  bool is_text = push_field(L, index, &message_key) == LUA_TSTRING;
  if (is_text) out->message = lua_tolstring(L, -1, &out->message_len);
  lua_pop(L, 2);
  if (!is_integer || !is_text) return false;
  push_field(L, index, &data_key);
  return true;
}

/* stack: [message data] -> [error object] */
static void make_object(lua_State *L, lua_Integer code) {
  lua_createtable(L, 0, 3);
  lua_insert(L, -3);
  lua_setfield(L, -3, "data");
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, code);
  lua_setfield(L, -2, "code");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &error_meta_key);
  lua_setmetatable(L, -2);
}

void mrpc_error_push(lua_State *L, int code, const char *message) {
  lua_pushstring(L, message);
  lua_pushnil(L);
  make_object(L, code);
  mrpc_foreign_mark(L);
}

int mrpc_error_raise(lua_State *L, int code, const char *message) {
  mrpc_error_push(L, code, message);
  return lua_error(L);
}

int mrpc_error_raise_cancelled(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &cancelled_key);
  return lua_error(L);
}

void mrpc_error_push_gone(lua_State *L, const char *why) {
  const mrpc_dispatch *dispatch = mrpc_runtime_of(L)->dispatch;
  const char *text =
      lua_pushfstring(L, "The peer went away%s%s", *why ? ": " : "", why);
  mrpc_error_push(L, mrpc_dispatch_code(dispatch, MRPC_PEER_GONE), text);
  lua_remove(L, -2);
}

int mrpc_error_raise_gone(lua_State *L, const char *why) {
  mrpc_error_push_gone(L, why);
  return lua_error(L);
}

/* stack: [code message data?] -> [error object] */
static int error_new(lua_State *L) {
  lua_Integer code = luaL_checkinteger(L, 1);
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_settop(L, 3);
  make_object(L, code);
  return 1;
}

/* rpc.error(code, message, data): its first argument is rpc.error itself. */
static int error_call(lua_State *L) {
  lua_remove(L, 1);
  error_new(L);
  return lua_error(L);
}

/* stack: [error object] -> [text] */
static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  push_field(L, 1, &message_key);
  luaL_tolstring(L, -1, NULL);
  return 1;
}

/* Failures. */

static int to_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* stack: [failure] -> [text] */
static int failure_tostring(lua_State *L) {
  if (!mrpc_object_is(L, 1, &failure_meta_key))
    return luaL_argerror(L, 1, "a failure");
  lua_getiuservalue(L, 1, TEXT);
  return 1;
}

/* What is said of a table that was meant as an error object and is none; false
 * when it wasn't meant as one. stack: [] -> [text] or [] */
static bool push_misfit(lua_State *L, int index) {
  static const char why[] =
      "an error object needs an integer code and a string message";
  bool has_code = push_field(L, index, &code_key) != LUA_TNIL;
  if (!has_code && luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
    lua_pop(L, 2);
    return false;
  }
  bool has_text = push_field(L, index, &message_key) == LUA_TSTRING;
  if (has_text)
    lua_pushfstring(L, "%s (%s)", lua_tostring(L, -1), why);
  else if (has_code)
    lua_pushstring(L, why);
  else
    lua_pushnil(L);
  lua_replace(L, -3);
  lua_pop(L, 1);
  if (has_text || has_code) return true;
  lua_pop(L, 1);
  return false;
}

/* What is said of a value that was raised. A __tostring may fail in turn.
 * stack: [] -> [text] */
static void push_text(lua_State *L, int index) {
  if (lua_istable(L, index) && push_misfit(L, index)) return;
  if (lua_isnil(L, index)) {
    lua_pushliteral(L, "nil error value");
    return;
  }
  lua_pushcfunction(L, to_text);
  lua_pushvalue(L, index);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return;
  lua_pop(L, 1);
  lua_pushfstring(L, "a %s value whose __tostring fails",
                  luaL_typename(L, index));
}

/* A failure is told to people; megabytes aren't. stack: [text] -> [text] */
static void shorten(lua_State *L) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  if (len <= TEXT_BYTES) return;
  lua_pushlstring(L, text, TEXT_BYTES);
  lua_pushliteral(L, "...");
  lua_concat(L, 2);
  lua_replace(L, -2);
}

/* stack: [text] -> [failure]; with the stack's trace when `traced` */
static void push_failure(lua_State *L, bool traced) {
  int text = lua_gettop(L);
  shorten(L);
  failure_box *box = lua_newuserdatauv(L, sizeof *box, VALUES);
  *box = (failure_box){0};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &failure_meta_key);
  lua_setmetatable(L, -2);
  lua_insert(L, text);
  const char *bytes = lua_tostring(L, text + 1);
  size_t file_len;
  box->place = mrpc_trace_place(bytes, &file_len, &box->line);
  if (box->place) {
    lua_pushlstring(L, bytes, file_len);
  } else if (!traced || !mrpc_trace_push_file(L, &box->line)) {
    lua_pushliteral(L, "");
  }
  lua_setiuservalue(L, text, FILE_NAME);
  lua_setiuservalue(L, text, TEXT);
  if (traced)
    mrpc_trace_push(L);
  else
    lua_pushliteral(L, "");
  lua_setiuservalue(L, text, TRACE);
}

void mrpc_failure_trace(lua_State *L) {
  push_failure(L, true);
}

void mrpc_failure_push(lua_State *L) {
  push_text(L, lua_gettop(L));
  lua_remove(L, -2);
  push_failure(L, false);
}

int mrpc_error_handler(lua_State *L) {
  mrpc_error_object object;
  lua_settop(L, 1);
  if (mrpc_is_killed(L)) return 1;
  if (mrpc_error_object_get(L, 1, &object)) {
    lua_settop(L, 1);
    mrpc_foreign_trace(L);
    return 1;
  }
  mrpc_task *task = mrpc_runtime_of(L)->current;
  if (task && mrpc_trace_is_deep(L)) task->is_worn = true;
  push_text(L, 1);
  push_failure(L, true);
  return 1;
}

static const char *get_value(lua_State *L, int index, int n, size_t *len) {
  lua_getiuservalue(L, index, n);
  const char *text = lua_tolstring(L, -1, len);
  lua_pop(L, 1);
  return text;
}

void mrpc_failure_get(lua_State *L, int index, mrpc_failure *out) {
  static const char unknown[] = "unknown error";
  size_t len;
  index = lua_absindex(L, index);
  *out = (mrpc_failure){.file = "", .traceback = ""};
  const failure_box *box = lua_touserdata(L, index);
  if (lua_type(L, index) == LUA_TUSERDATA && lua_checkstack(L, 1)) {
    out->text = get_value(L, index, TEXT, &out->text_len);
    out->file = get_value(L, index, FILE_NAME, &len);
    out->traceback = get_value(L, index, TRACE, &out->traceback_len);
    out->line = box->line;
    out->message = out->text + box->place;
    return;
  }
  if (lua_type(L, index) == LUA_TSTRING)
    out->text = lua_tolstring(L, index, &out->text_len);
  else
    out->text = unknown, out->text_len = sizeof unknown - 1;
  out->message = out->text;
}

static void log_failure(const mrpc_env *env, int level, const char *text,
                        const mrpc_failure *failure) {
  mrpc_log(env, level, text, "error", failure->text,
           *failure->traceback ? "traceback" : NULL, failure->traceback, NULL);
}

void mrpc_failure_log(const mrpc_task *task, lua_State *co, const char *text) {
  const mrpc_env *env = task->runtime->env;
  mrpc_error_object object;
  mrpc_failure failure;
  if (task->cancelled) return;
  if (task->killed) {
    if (task->kill_code == MRPC_SCRIPT_LIMIT)
      mrpc_log(env, MRPC_LOG_ERROR, text, "error", task->kill_why, NULL);
  } else if (mrpc_foreign_get(co, -1, &failure)) {
    bool is_told = mrpc_foreign_is_told(co, -1);
    log_failure(env, is_told ? MRPC_LOG_DEBUG : MRPC_LOG_ERROR, text, &failure);
  } else if (mrpc_error_object_get(co, -1, &object)) {
    lua_pop(co, 1);
    mrpc_log(env, MRPC_LOG_ERROR, text, "error", object.message, NULL);
  } else {
    mrpc_failure_get(co, -1, &failure);
    log_failure(env, MRPC_LOG_ERROR, text, &failure);
  }
}

/* What scripts see. */

static void set_key(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

static void open_metas(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushliteral(L, "rpc.error");
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  mrpc_foreign_open(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &error_meta_key);
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, failure_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &failure_meta_key);
}

void mrpc_error_open(lua_State *L) {
  set_key(L, &code_key, "code");
  set_key(L, &message_key, "message");
  set_key(L, &data_key, "data");
  open_metas(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, error_new);
  lua_setfield(L, -2, "new");
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, error_call);
  lua_setfield(L, -2, "__call");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "error");
  lua_pushliteral(L, "Request cancelled");
  lua_pushnil(L);
  make_object(L, MRPC_REQUEST_CANCELLED);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &cancelled_key);
  lua_setfield(L, -2, "cancelled");
}
