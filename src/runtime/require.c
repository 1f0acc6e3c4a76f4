/* SPDX-License-Identifier: MIT
 *
 * A name is looked up in what the latest scan saw, not on the disk, so that a
 * load works on one state of the source. What was looked for in vain is noted
 * as a dependency too: when such a file comes, its seekers are loaded again.
 *
 * A file that isn't loaded yet is run at once, inside of the require, so that
 * most requires need no wait. When it waits, or the slice is over, the task
 * that requires it is parked on the file's list of waiters. */
#include "runtime/require.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/chunk.h"
#include "runtime/generation.h"
#include "runtime/task.h"

enum { MAX_NAME = 480, MAX_NESTING = 30, MAX_NOTED = 1000 };

/* A task that waits for a file; a userdata on its own stack. */
typedef struct waiter {
  mrpc_link link; /* in file->waiters */
  mrpc_task *task;
  mrpc_file *owner; /* whose main chunk it is, or NULL */
} waiter;

/* What a require is about. */
typedef struct request {
  mrpc_loader *loader;
  mrpc_file *owner; /* whose code requires; NULL: nobody knows */
  bool is_main;     /* it is the owner's main chunk */
  bool is_aside;    /* the owner is part of a load */
  const char *name;
} request;

static const char builtin_key; /* in the registry: a set of names */

static request make_request(lua_State *L, const char *name) {
  mrpc_runtime *runtime = mrpc_runtime_of(L);
  mrpc_task *task = mrpc_task_current(runtime);
  mrpc_file *owner = task ? task->owner : NULL;
  request r = {.loader = runtime->loader, .name = name};
  if (!owner || owner->state == MRPC_FILE_RETIRED) return r;
  r.owner = owner;
  r.is_main = owner->task == task;
  r.is_aside = owner->generation == 0 && owner->epoch == 0;
  return r;
}

/* Finding a file. */

/* Notes what the file that is being loaded looks for, within reason. Calls
 * note only what they find, else a caller could fill the memory with names. */
static mrpc_tree_node *look_up(lua_State *L, const request *r, const char *path,
                               size_t len) {
  bool is_noted = r->owner && mrpc_file_is_loading(r->owner) &&
                  r->owner->dep_count < MAX_NOTED;
  mrpc_tree_node *node = is_noted
                             ? mrpc_tree_expect(&r->loader->tree, path, len)
                             : mrpc_tree_find(&r->loader->tree, path, len);
  if (is_noted && (!node || mrpc_file_depend(r->owner, node)))
    luaL_error(L, "not enough memory");
  return node && node->is_present ? node : NULL;
}

/* "user.admin" is user/admin.lua or user/admin/init.lua. */
static mrpc_tree_node *find_node(lua_State *L, const request *r) {
  char path[MAX_NAME + 16];
  size_t len = strlen(r->name);
  if (len == 0 || len > MAX_NAME) return NULL;
  for (size_t i = 0; i < len; i++)
    path[i] = r->name[i] == '.' ? '/' : r->name[i];
  memcpy(path + len, ".lua", 5);
  mrpc_tree_node *node = look_up(L, r, path, len + 4);
  if (node) return node;
  memcpy(path + len, "/init.lua", 10);
  return look_up(L, r, path, len + 9);
}

/* A file that a call requires and that doesn't serve yet joins the generation
 * that serves; one that a load requires joins its plan. */
static mrpc_file *make_file(lua_State *L, const request *r,
                            mrpc_tree_node *node) {
  mrpc_loader *loader = r->loader;
  mrpc_file *file = NULL;
  int rc = r->is_aside ? mrpc_plan_add(loader, node, &file)
                       : mrpc_file_new(loader, node, &file);
  if (rc) luaL_error(L, "not enough memory");
  if (file && !r->is_aside) {
    file->epoch = loader->generation ? loader->generation : 1;
    node->demand = file;
  }
  return file;
}

/* The file of the node that this code may see: a load sees nothing that a
 * call has made of what the load replaces. */
static mrpc_file *find_file(lua_State *L, const request *r,
                            mrpc_tree_node *node) {
  mrpc_file *file = node->file ? node->file : node->demand;
  if (r->is_aside) {
    file = node->next;
    if (!file && !mrpc_plan_is_late(r->loader, node)) file = node->file;
  }
  return file ? file : make_file(L, r, node);
}

/* Runs it at once, unless this turn of the loop has lasted long enough. */
static void start_file(const request *r, mrpc_file *file) {
  mrpc_loader *loader = r->loader;
  mrpc_env *env = loader->runtime->env;
  const mrpc_task *task = mrpc_task_current(loader->runtime);
  uint64_t before = mrpc_env_now(env), outer = loader->slice_since;
  if (!loader->nesting)
    loader->slice_since = task && task->since ? task->since : before;
  bool later = loader->nesting >= MAX_NESTING ||
               before - loader->slice_since >= MRPC_SLICE_NS;
  loader->nesting++;
  mrpc_chunk_start(file, later);
  loader->nesting--;
  loader->slice_since = outer;
  if (r->is_main && r->is_aside)
    loader->counted_twice += mrpc_env_now(env) - before;
}

/* Waiting for it. */

/* Does the file wait, by others, for the owner? */
static bool is_cycle(const request *r, const mrpc_file *file) {
  for (; file; file = file->waits_for)
    if (file == r->owner) return true;
  return false;
}

static int raise_cycle(lua_State *L, const request *r, const mrpc_file *file) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, r->owner->path);
  for (; file != r->owner; file = file->waits_for) {
    luaL_addstring(&text, " -> ");
    luaL_addstring(&text, file->path);
  }
  luaL_addstring(&text, " -> ");
  luaL_addstring(&text, r->owner->path);
  luaL_pushresult(&text);
  return luaL_error(L, "files require each other: %s", lua_tostring(L, -1));
}

/* stack: [name ... why] -> raises */
static int raise_failure(lua_State *L) {
  const char *why = lua_tostring(L, -1);
  return luaL_error(L, "module '%s' can't be loaded: %s", lua_tostring(L, 1),
                    why ? why : "its load was given up");
}

/* stack: [name waiter is_ready value] -> [value] */
static int finish_wait(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  return lua_toboolean(L, -2) ? 1 : raise_failure(L);
}

static void stop_waiting(mrpc_task *task, void *ud) {
  waiter *w = ud;
  (void)task;
  mrpc_list_remove(&w->link);
  if (w->owner) w->owner->waits_for = NULL;
}

/* stack: [name] -> yields */
static int wait_for(lua_State *L, const request *r, mrpc_file *file) {
  mrpc_task *task = mrpc_task_check_wait(L);
  waiter *w = lua_newuserdatauv(L, sizeof *w, 0);
  w->task = task;
  w->owner = r->is_main ? r->owner : NULL;
  if (w->owner) w->owner->waits_for = file;
  mrpc_list_insert(&file->waiters, &w->link);
  return mrpc_task_park(L, stop_waiting, w, finish_wait, 0);
}

/* The fault of a file of a load is noted; those that require it needn't tell
 * it again. */
static void block(mrpc_file *owner, const mrpc_file *file) {
  if (owner && file->state == MRPC_FILE_FAILED && !file->epoch)
    owner->is_blocked = true;
}

/* Nothing here may throw. A stack is never short of three slots: the waiter's
 * C function had more. */
void mrpc_require_ended(mrpc_file *file) {
  while (!mrpc_list_is_empty(&file->waiters)) {
    waiter *w = mrpc_list_of(file->waiters.next, waiter, link);
    mrpc_list_remove(&w->link);
    if (w->owner) w->owner->waits_for = NULL;
    block(w->owner, file);
    lua_State *L = mrpc_task_values(w->task);
    lua_pushboolean(L, file->state == MRPC_FILE_READY);
    lua_rawgeti(L, LUA_REGISTRYINDEX, file->value);
    mrpc_task_wake_later(w->task, 2);
  }
}

/* stack: [name] -> [value] */
static int require_file(lua_State *L, const request *r, mrpc_tree_node *node) {
  mrpc_file *file = find_file(L, r, node);
  if (file->state == MRPC_FILE_NEW) {
    if (r->is_main) r->owner->waits_for = file;
    start_file(r, file);
    if (r->is_main) r->owner->waits_for = NULL;
  }
  if (file->state == MRPC_FILE_LOADING) {
    if (r->is_main && is_cycle(r, file)) return raise_cycle(L, r, file);
    return wait_for(L, r, file);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, file->value);
  if (file->state != MRPC_FILE_READY) {
    if (r->is_main) block(r->owner, file);
    return raise_failure(L);
  }
  if (r->owner && mrpc_file_depend(r->owner, node))
    return luaL_error(L, "not enough memory");
  return 1;
}

/* What is installed. */

/* stack: [name loaded data value] -> [value data] */
static int finish_installed(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  if (!lua_isnil(L, 4))
    lua_setfield(L, 2, lua_tostring(L, 1));
  else
    lua_pop(L, 1);
  if (lua_getfield(L, 2, lua_tostring(L, 1)) == LUA_TNIL) {
    lua_pushboolean(L, true);
    lua_copy(L, -1, -2);
    lua_setfield(L, 2, lua_tostring(L, 1));
  }
  lua_insert(L, 3);
  return 2;
}

/* A file that ends in the path of that name, further down than it was sought:
 * NULL, there is none. */
static const char *find_elsewhere(lua_State *L) {
  const mrpc_loader *loader = mrpc_runtime_of(L)->loader;
  const char *end = luaL_gsub(L, lua_tostring(L, 1), ".", "/");
  end = lua_pushfstring(L, "/%s.lua", end);
  size_t len = strlen(end);
  const mrpc_tree_node *node = NULL;
  while (loader && (node = mrpc_tree_next(&loader->tree, node))) {
    size_t path_len = strlen(node->path);
    if (!node->is_present || path_len < len) continue;
    if (!strcmp(node->path + path_len - len, end)) return node->path;
  }
  return NULL;
}

/* stack: [name ...] */
static int raise_not_found(lua_State *L) {
  const char *name = lua_tostring(L, 1), *path = find_elsewhere(L);
  if (!path)
    return luaL_error(L,
                      "module '%s' not found: it is neither a file in the "
                      "methods directory nor on package.path or package.cpath",
                      name);
  lua_pushlstring(L, path, strlen(path) - 4);
  return luaL_error(L,
                    "module '%s' not found: names begin at the methods "
                    "directory, so %s is '%s'",
                    name, path, luaL_gsub(L, lua_tostring(L, -1), "/", "."));
}

/* Asks the searchers of `package`.
 * stack: [name loaded] -> [name loaded searchers loader data] */
static void find_loader(lua_State *L) {
  if (lua_getfield(L, lua_upvalueindex(1), "searchers") != LUA_TTABLE)
    luaL_error(L, "'package.searchers' must be a table");
  for (int i = 1; lua_rawgeti(L, 3, i) != LUA_TNIL; i++) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
    if (lua_isfunction(L, -2)) return;
    lua_pop(L, 2);
  }
  raise_not_found(L);
}

/* As Lua's own, but a wait inside the module suspends the task.
 * stack: [name] -> [value data] */
static int require_installed(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, 2, lua_tostring(L, 1));
  if (lua_toboolean(L, -1)) return 1;
  lua_pop(L, 1);
  find_loader(L);
  lua_replace(L, 3);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_callk(L, 2, 1, 0, finish_installed);
  return finish_installed(L, LUA_OK, 0);
}

/* stack: [name] -> [name] */
static bool is_builtin(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &builtin_key);
  lua_pushvalue(L, 1);
  bool is_there = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  if (is_there) return true;
  if (lua_getfield(L, lua_upvalueindex(1), "preload") == LUA_TTABLE) {
    lua_pushvalue(L, 1);
    is_there = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return is_there;
}

/* stack: [name] -> [value ...] */
static int require(lua_State *L) {
  size_t len;
  const char *name = luaL_checklstring(L, 1, &len);
  luaL_argcheck(L, strlen(name) == len, 1, "a name without zero bytes");
  lua_settop(L, 1);
  if (is_builtin(L)) return require_installed(L);
  request r = make_request(L, name);
  mrpc_tree_node *node = r.loader ? find_node(L, &r) : NULL;
  return node ? require_file(L, &r, node) : require_installed(L);
}

/* Opening. */

/* What begins with "./" would be looked for wherever the host was started.
 * stack: [package] -> [package] */
static void strip_path(lua_State *L, const char *field) {
  luaL_Buffer kept;
  if (lua_getfield(L, -1, field) != LUA_TSTRING) {
    lua_pop(L, 1);
    return;
  }
  const char *at = lua_tostring(L, -1);
  luaL_buffinit(L, &kept);
  for (const char *end; at; at = end ? end + 1 : NULL) {
    end = strchr(at, ';');
    size_t len = end ? (size_t)(end - at) : strlen(at);
    if (len == 0 || strncmp(at, "./", 2) == 0) continue;
    if (luaL_bufflen(&kept)) luaL_addchar(&kept, ';');
    luaL_addlstring(&kept, at, len);
  }
  luaL_pushresult(&kept);
  lua_setfield(L, -3, field);
  lua_pop(L, 1);
}

/* stack: [] -> [] */
static void note_builtins(lua_State *L) {
  lua_newtable(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  for (lua_pushnil(L); lua_next(L, -2);) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushboolean(L, true);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &builtin_key);
}

void mrpc_require_open(lua_State *L) {
  note_builtins(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "package");
  strip_path(L, "path");
  strip_path(L, "cpath");
  lua_pushcclosure(L, require, 1);
  lua_setglobal(L, "require");
  lua_pop(L, 1);
}
