/* SPDX-License-Identifier: MIT */
#include "runtime/loader.h"

#include <lauxlib.h>

#include "runtime/generation.h"
#include "runtime/protect.h"
#include "runtime/require.h"
#include "runtime/task.h"

/* stack: [light userdata] -> [] */
static int open_require(lua_State *L) {
  mrpc_require_open(L);
  return 0;
}

static int open_source(mrpc_loader *loader, const mrpc_runtime_config *config) {
  mrpc_source source;
  if (config->source) {
    source = *config->source;
  } else {
    const char *path = config->dir ? config->dir : ".";
    int rc = mrpc_directory_new(loader->runtime->env, path, &loader->dir);
    if (rc) return rc;
    source = mrpc_directory_source(loader->dir);
  }
  mrpc_tree_init(&loader->tree, loader->runtime->env, &source);
  return MRPC_OK;
}

int mrpc_loader_new(mrpc_runtime *runtime, const mrpc_runtime_config *config,
                    mrpc_loader **out) {
  mrpc_env *env = runtime->env;
  mrpc_loader *loader = mrpc_mem_new(&env->mem, sizeof *loader);
  if (!loader) return MRPC_ENOMEM;
  loader->runtime = runtime;
  loader->turn.fn = mrpc_load_turn;
  loader->deadline.fn = mrpc_load_deadline;
  loader->tried_result = MRPC_ESTATE;
  loader->is_strict = config->strict;
  mrpc_list_init(&loader->files);
  mrpc_list_init(&loader->leaving);
  for (int i = 0; i < 2; i++) {
    mrpc_map_init(&loader->maps[i], &env->mem, env->seed);
    mrpc_faults_init(&loader->faults[i], &env->mem);
  }
  int rc = open_source(loader, config);
  if (!rc) rc = mrpc_protect(runtime, open_require, NULL);
  if (rc) {
    if (loader->dir || config->source) mrpc_tree_clear(&loader->tree);
    mrpc_directory_free(loader->dir);
    mrpc_mem_free(&env->mem, loader, sizeof *loader);
    return rc;
  }
  *out = loader;
  return MRPC_OK;
}

/* Files that somebody still holds lose their successors. */
static void let_go(mrpc_loader *loader) {
  while (!mrpc_list_is_empty(&loader->files)) {
    mrpc_file *file = mrpc_list_of(loader->files.next, mrpc_file, link);
    mrpc_list_remove(&file->link);
    file->loader = NULL;
  }
}

void mrpc_loader_free(mrpc_loader *loader) {
  if (!loader) return;
  mrpc_env *env = loader->runtime->env;
  mrpc_load_give_up(loader);
  mrpc_dispatch_swap(loader->runtime->dispatch, NULL);
  mrpc_generation_clear(loader);
  mrpc_load_retire(loader);
  let_go(loader);
  mrpc_timer_stop(&env->timers, &loader->turn);
  for (int i = 0; i < 2; i++) {
    mrpc_map_clear(&loader->maps[i]);
    mrpc_faults_clear(&loader->faults[i]);
  }
  mrpc_tree_clear(&loader->tree);
  mrpc_directory_free(loader->dir);
  mrpc_mem_free(&env->mem, loader->plan,
                loader->plan_cap * sizeof *loader->plan);
  mrpc_mem_free(&env->mem, loader, sizeof *loader);
}

/* For others. */

int mrpc_runtime_reload(mrpc_runtime *runtime, bool everything) {
  return mrpc_loader_request(
      runtime->loader, everything ? MRPC_LOAD_EVERYTHING : MRPC_LOAD_AGAIN);
}

bool mrpc_runtime_is_loading(const mrpc_runtime *runtime) {
  return runtime->loader->phase != MRPC_LOAD_IDLE;
}

const mrpc_report *mrpc_runtime_report(const mrpc_runtime *runtime) {
  return &runtime->loader->report;
}

int mrpc_load_method(lua_State *L) {
  size_t len;
  const char *name = luaL_checklstring(L, 1, &len);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  mrpc_task *task = mrpc_task_current(mrpc_runtime_of(L));
  mrpc_file *owner = task ? task->owner : NULL;
  if (!owner || !mrpc_file_is_loading(owner) || owner->epoch)
    return luaL_error(L, "methods are declared while a file is loaded");
  if (len == 0) return luaL_error(L, "a method's name must not be empty");
  const char *why = mrpc_methods_refuse(owner, name, len);
  if (why) return luaL_error(L, "%s", why);
  mrpc_methods_add(L, owner, name, len);
  return 0;
}
