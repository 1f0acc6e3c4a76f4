/* SPDX-License-Identifier: MIT
 *
 * A package is a C closure with the function, an anchor that holds the file,
 * and whether it was made while the file was loaded. */
#include "runtime/callback.h"

#include <lauxlib.h>

#include "runtime/error.h"
#include "runtime/file.h"
#include "runtime/task.h"

static const char anchors_key; /* in the registry: its address counts */

/* Holds a file for as long as a callback may run its code. */
static int drop_anchor(lua_State *L) {
  mrpc_file **file = lua_touserdata(L, 1);
  mrpc_file_drop(*file);
  *file = NULL;
  return 0;
}

/* The anchors of all files, weak. stack: [] -> [anchors] */
static void push_anchors(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &anchors_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &anchors_key);
}

/* The one anchor of the file. stack: [] -> [anchor] */
static void push_anchor(lua_State *L, mrpc_file *file) {
  push_anchors(L);
  if (lua_rawgetp(L, -1, file) == LUA_TNIL) {
    lua_pop(L, 1);
    mrpc_file **held = lua_newuserdatauv(L, sizeof *held, 0);
    *held = NULL;
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, drop_anchor);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    *held = file;
    mrpc_file_hold(file);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, file);
  }
  lua_remove(L, -2);
}

/* A package: function, anchor or nil, made while loading? Called by anybody
 * else than luv it is the function. */
static int package(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

void mrpc_callback_pack(lua_State *L, int index) {
  const mrpc_task *by = mrpc_runtime_of(L)->current;
  lua_pushvalue(L, index);
  if (by && by->owner)
    push_anchor(L, by->owner);
  else
    lua_pushnil(L);
  lua_pushboolean(L, by && mrpc_task_is_at_load(by));
  lua_pushcclosure(L, package, 3);
  lua_replace(L, index);
}

static void on_end(mrpc_task *task, lua_State *co, int status) {
  const char *what = task->ud;
  if (status != LUA_OK) mrpc_failure_log(task, co, what);
}

/* What a package holds. stack: [... package argument...] -> the same with the
 * function in the package's place */
static mrpc_file *unpack(lua_State *L, int index, bool *at_load) {
  mrpc_file *owner = NULL;
  if (lua_tocfunction(L, index) != package) return NULL;
  if (lua_getupvalue(L, index, 2)) {
    mrpc_file **held = lua_touserdata(L, -1);
    if (held) owner = *held;
    lua_pop(L, 1);
  }
  lua_getupvalue(L, index, 3);
  *at_load = lua_toboolean(L, -1);
  lua_pop(L, 1);
  lua_getupvalue(L, index, 1);
  lua_replace(L, index);
  return owner;
}

static int start(lua_State *L, int nargs, const char *what) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_task *task;
  bool at_load = false;
  if (!lua_checkstack(L, 2)) return MRPC_ENOMEM;
  mrpc_file *owner = unpack(L, lua_gettop(L) - nargs, &at_load);
  int rc = mrpc_task_new(rt, owner, on_end, (void *)(uintptr_t)what, &task);
  if (rc) return rc;
  if (at_load) rc = mrpc_task_tie(task);
  if (!rc && !lua_checkstack(task->co, nargs + 1)) rc = MRPC_ENOMEM;
  if (rc) {
    mrpc_task_discard(task);
    return rc;
  }
  task->limit_ns = rt->handler_ns;
  lua_xmove(L, task->co, nargs + 1);
  mrpc_task_start(task, nargs);
  return MRPC_OK;
}

void mrpc_callback_run(lua_State *L, int nargs, const char *what) {
  int top = lua_gettop(L) - nargs - 1;
  int rc = start(L, nargs, what);
  lua_settop(L, top);
  if (rc && rc != MRPC_ESTATE)
    mrpc_log(mrpc_runtime_of(L)->env, MRPC_LOG_ERROR, "callback can't run",
             "error", mrpc_strerror(rc), NULL);
}
