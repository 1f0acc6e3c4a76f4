/* SPDX-License-Identifier: MIT
 *
 * luv calls back on the main coroutine, outside of everything. So each of its
 * functions is put behind a guard, which packs the functions among the
 * arguments together with the file whose code runs; when luv calls such a
 * package, a task of that file is started. luv's own default would end the
 * process at a Lua error.
 *
 * Each handle gets a record, from its birth to its close. Handles that were
 * made while their file was loaded are closed at its swap; those that a call
 * made stay until the calls on the old code have ended. At the end all are
 * closed and the loop is run until luv's registry entries have gone, for luv
 * writes to the Lua state from its last callbacks. */
#include "host/luv.h"

#include <lauxlib.h>
#include <luv/lhandle.h>
#include <signal.h>

#include "runtime/callback.h"
#include "runtime/file.h"
#include "runtime/protect.h"
#include "runtime/schedule.h"

/* Which functions need more than a guard. */
typedef enum role { PLAIN, MAKER, CLOSER, WORK, STARTER } role;

struct mrpc_luv {
  mrpc_host *host;
  mrpc_runtime *runtime;
  mrpc_link records;
  mrpc_map map;     /* address of a handle to its record */
  mrpc_timer later; /* looks after the orphans */
  bool is_open;     /* a script has required it */
};

typedef struct record {
  mrpc_link link; /* in luv->records */
  mrpc_owned owned;
  mrpc_luv *luv;
  uv_handle_t *handle;
  mrpc_file *maker; /* held */
  bool at_load;
  bool is_orphan; /* to be closed when the maker's last task has ended */
} record;

static const char close_key; /* in the registry: luv's own close */

static mrpc_luv *luv_of(lua_State *L) {
  mrpc_host *host = mrpc_runtime_of(L)->ud;
  return host->luv;
}

/* luv's way to call a function. stack: [function argument...] -> [] */
static int call_back(lua_State *L, int nargs, int nresults, int flags) {
  (void)nresults;
  (void)flags;
  mrpc_callback_run(L, nargs, "luv callback failed");
  return 0;
}

/* Handles. */

static void forget(record *r) {
  mrpc_luv *luv = r->luv;
  mrpc_owned_remove(&r->owned);
  mrpc_list_remove(&r->link);
  mrpc_map_remove(&luv->map, (const char *)&r->handle, sizeof r->handle);
  mrpc_file_drop(r->maker);
  mrpc_mem_free(&luv->host->env->mem, r, sizeof *r);
}

static record *find(lua_State *L, int index) {
  uv_handle_t **handle = lua_touserdata(L, index);
  if (!handle) return NULL;
  return mrpc_map_get(&luv_of(L)->map, (const char *)handle, sizeof *handle);
}

/* Closes by luv's own function, which knows what else there is to do. */
static int close_protected(lua_State *L) {
  const record *r = lua_touserdata(L, 1);
  const luv_handle_t *data = r->handle->data;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &close_key);
  lua_rawgeti(L, LUA_REGISTRYINDEX, data->ref);
  lua_call(L, 1, 0);
  return 0;
}

static void close_handle(record *r) {
  if (!uv_is_closing(r->handle))
    mrpc_protect(r->luv->runtime, close_protected, r);
  forget(r);
}

static bool is_running(const mrpc_runtime *rt, const mrpc_file *file) {
  for (mrpc_link *l = rt->tasks.next; l != &rt->tasks; l = l->next)
    if (mrpc_list_of(l, mrpc_task, link)->owner == file) return true;
  return false;
}

static void look_later(mrpc_luv *luv) {
  mrpc_env *env = luv->host->env;
  if (mrpc_timer_is_started(&luv->later)) return;
  mrpc_timer_start(&env->timers, &luv->later, mrpc_env_after(env, 0.5));
}

static void on_later(mrpc_timer *timer) {
  mrpc_luv *luv = mrpc_list_of(timer, mrpc_luv, later);
  bool left = false;
  for (mrpc_link *l = luv->records.next, *next; l != &luv->records; l = next) {
    record *r = mrpc_list_of(l, record, link);
    next = l->next;
    if (!r->is_orphan) continue;
    if (is_running(luv->runtime, r->maker))
      left = true;
    else
      close_handle(r);
  }
  if (left) look_later(luv);
}

static void on_close(mrpc_owned *owned) {
  record *r = mrpc_list_of(owned, record, owned);
  if (r->at_load || !is_running(r->luv->runtime, r->maker)) {
    close_handle(r);
    return;
  }
  r->is_orphan = true;
  look_later(r->luv);
}

/* MRPC_ESTATE: nobody is there to own it. */
static int note(mrpc_luv *luv, uv_handle_t *handle, const mrpc_task *by) {
  const mrpc_mem *mem = &luv->host->env->mem;
  record *r = mrpc_mem_new(mem, sizeof *r);
  if (!r) return MRPC_ENOMEM;
  *r = (record){.luv = luv, .handle = handle};
  r->owned.on_close = on_close;
  int rc = by && !luv->runtime->closing ? mrpc_file_own(by->owner, &r->owned)
                                        : MRPC_ESTATE;
  if (!rc) {
    rc = mrpc_map_set(&luv->map, (const char *)&r->handle, sizeof r->handle, r);
    if (rc) mrpc_owned_remove(&r->owned);
  }
  if (rc) {
    mrpc_mem_free(mem, r, sizeof *r);
    return rc;
  }
  r->at_load = mrpc_task_is_at_load(by);
  r->maker = by->owner;
  mrpc_file_hold(r->maker);
  mrpc_list_insert(&luv->records, &r->link);
  return MRPC_OK;
}

/* stack: [handle result...] -> the same */
static void adopt(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  uv_handle_t **handle = lua_touserdata(L, 1);
  if (!handle) return; /* nil and an error */
  int rc = note(luv_of(L), *handle, rt->current);
  if (!rc) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &close_key);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 0);
  luaL_error(L, rc == MRPC_ENOMEM ? "not enough memory"
                                  : "no loaded file is there to own a handle");
}

/* The module. */

static bool is_callable(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (!luaL_getmetafield(L, index, "__call")) return false;
  lua_pop(L, 1);
  return true;
}

/* A handle for a signal by which the program is steered, or the deadlines are
 * kept, would take it away. stack: [handle signal ...] -> the same */
static void check_signal(lua_State *L) {
  const record *r = find(L, 1);
  if (!r || r->handle->type != UV_SIGNAL) return;
  static const char *const names[] = {"sigterm", "sigint", "sighup", "sigalrm"};
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM};
  int number = lua_isnumber(L, 2) ? (int)lua_tonumber(L, 2) : 0;
  const char *name = number ? NULL : lua_tostring(L, 2);
  bool is_taken = number && number == luv_of(L)->host->config.interrupt_signal;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    is_taken |= number == numbers[i] || (name && !strcmp(name, names[i]));
  if (is_taken) luaL_argerror(L, 2, "this signal is the host's");
}

/* Stands before a function of luv's. Upvalues: it, its role. */
static int guard(lua_State *L) {
  role kind = (role)lua_tointeger(L, lua_upvalueindex(2));
  record *closed = kind == CLOSER ? find(L, 1) : NULL;
  luaL_checkstack(L, 8, NULL);
  if (kind == STARTER) check_signal(L);
  for (int i = kind == WORK ? 2 : 1; i <= lua_gettop(L); i++)
    if (is_callable(L, i)) mrpc_callback_pack(L, i);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  if (kind == MAKER) adopt(L);
  if (closed && uv_is_closing(closed->handle)) forget(closed);
  return lua_gettop(L);
}

static role role_of(const char *name) {
  if (!strcmp(name, "new_work")) return WORK;
  if (!strcmp(name, "new_thread")) return PLAIN;
  if (!strncmp(name, "new_", 4) || !strcmp(name, "spawn")) return MAKER;
  if (!strncmp(name, "start", 5) || !strncmp(name, "signal_start", 12))
    return STARTER;
  if (!strcmp(name, "close") || strstr(name, "close_reset")) return CLOSER;
  return PLAIN;
}

/* Puts guards before all functions of the table on top. */
static void guard_all(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_type(L, -2) == LUA_TSTRING && lua_iscfunction(L, -1) &&
        lua_tocfunction(L, -1) != guard) {
      const char *name = lua_tostring(L, -2);
      lua_pushinteger(L, role_of(name));
      lua_pushcclosure(L, guard, 2);
      lua_setfield(L, -3, name);
    } else {
      lua_pop(L, 1);
    }
  }
}

/* The methods of handles stand in one table a type. */
static void guard_handles(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, "uv_handle") != LUA_TTABLE) return;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    lua_getfield(L, -1, "__index");
    if (lua_istable(L, -1)) guard_all(L);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* What would hijack or crash the host. */
static void take_out(lua_State *L) {
  static const char *const names[] = {"run", "stop", "loop_close", "walk"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_pushnil(L);
    lua_setfield(L, -2, names[i]);
  }
}

/* A thread has a Lua state of its own, where an error would end the process:
 * its function is called by one that catches. stack: [luv] -> [luv] */
static void wrap_threads(lua_State *L) {
  static const char text[] =
      "local uv = ...\n"
      "local new_thread, dump = uv.new_thread, string.dump\n"
      "local function entry(code, ...)\n"
      "  local fn, err = load(code, '=thread')\n"
      "  local ok = fn ~= nil\n"
      "  if ok then ok, err = xpcall(fn, debug.traceback, ...) end\n"
      "  if not ok then\n"
      "    io.stderr:write('thread failed: ', tostring(err), '\\n')\n"
      "  end\n"
      "end\n"
      "local function pack(fn)\n"
      "  return type(fn) == 'function' and dump(fn) or fn\n"
      "end\n"
      "function uv.new_thread(options, ...)\n"
      "  if type(options) ~= 'table' then\n"
      "    return new_thread(entry, pack(options), ...)\n"
      "  end\n"
      "  return new_thread(options, entry, pack((...)), select(2, ...))\n"
      "end\n";
  if (luaL_loadbufferx(L, text, sizeof text - 1, "=luv", "t")) lua_error(L);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 0);
}

/* stack: [luv] -> [luv] */
static void keep_close(lua_State *L) {
  lua_getfield(L, -1, "close");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &close_key);
}

/* stack: [...] -> [luv] */
static int open_luv(lua_State *L) {
  mrpc_luv *luv = luv_of(L);
  lua_settop(L, 0);
  luv_set_loop(luv->runtime->L, luv->host->loop->uv);
  luv_set_callback(luv->runtime->L, call_back);
  luaopen_luv(L);
  if (!luv->is_open) {
    keep_close(L);
    guard_handles(L);
  }
  luv->is_open = true;
  take_out(L);
  wrap_threads(L);
  guard_all(L);
  return 1;
}

/* Birth and death. */

int mrpc_luv_open(mrpc_host *host) {
  mrpc_env *env = host->env;
  if (!host->runtime) return MRPC_OK;
  mrpc_luv *luv = mrpc_mem_new(&env->mem, sizeof *luv);
  if (!luv) return MRPC_ENOMEM;
  luv->host = host;
  luv->runtime = host->runtime;
  luv->later.fn = on_later;
  mrpc_list_init(&luv->records);
  mrpc_map_init(&luv->map, &env->mem, env->seed);
  host->luv = luv;
  return mrpc_runtime_preload(host->runtime, "luv", open_luv);
}

/* What luv has in the registry until its last callback. */
typedef struct pending {
  size_t handles;
  size_t requests; /* finished listings of directories among them */
} pending;

/* stack: [value metatable] -> the same */
static bool is_request(lua_State *L) {
  static const char *const types[] = {"uv_req", "uv_fs", "luv_work_ctx"};
  bool found = false;
  for (size_t i = 0; i < sizeof types / sizeof *types && !found; i++) {
    lua_getfield(L, LUA_REGISTRYINDEX, types[i]);
    found = lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
  }
  return found;
}

/* stack: [value metatable] -> the same */
static bool is_handle(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "uv_handle");
  lua_pushvalue(L, -2);
  lua_rawget(L, -2);
  bool found = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return found;
}

static int count_pending(lua_State *L) {
  pending *p = lua_touserdata(L, 1);
  lua_Unsigned size = lua_rawlen(L, LUA_REGISTRYINDEX);
  for (lua_Unsigned i = 1; i <= size; i++) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, (lua_Integer)i);
    if (lua_isuserdata(L, -1) && lua_getmetatable(L, -1)) {
      if (is_handle(L)) p->handles++;
      if (is_request(L)) p->requests++;
    }
    lua_settop(L, 1);
  }
  return 0;
}

static bool has_pending(mrpc_luv *luv) {
  pending p = {0};
  if (mrpc_protect(luv->runtime, count_pending, &p)) return false;
  return p.handles ||
         (p.requests && luv->host->loop->uv->active_reqs.count > 0);
}

void mrpc_luv_close(mrpc_host *host) {
  mrpc_luv *luv = host->luv;
  if (!luv || !luv->is_open) return;
  mrpc_tasks_free(luv->runtime);
  while (!mrpc_list_is_empty(&luv->records))
    close_handle(mrpc_list_of(luv->records.next, record, link));
  mrpc_timer_stop(&host->env->timers, &luv->later);
  while (has_pending(luv)) uv_run(host->loop->uv, UV_RUN_ONCE);
}

void mrpc_luv_free(mrpc_host *host) {
  mrpc_luv *luv = host->luv;
  if (!luv) return;
  mrpc_map_clear(&luv->map);
  mrpc_mem_free(&host->env->mem, luv, sizeof *luv);
  host->luv = NULL;
}
