/* SPDX-License-Identifier: MIT */
#include "runtime/file.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/loader.h"

static void free_file(mrpc_file *file) {
  const mrpc_mem *mem = &file->runtime->env->mem;
  mrpc_list_remove(&file->link);
  mrpc_methods_free(file);
  mrpc_mem_free(mem, file->path, file->len + 1);
  mrpc_mem_free(mem, file, sizeof *file);
}

int mrpc_file_new(mrpc_loader *loader, mrpc_tree_node *node, mrpc_file **out) {
  const mrpc_mem *mem = &loader->runtime->env->mem;
  mrpc_file *file = mrpc_mem_new(mem, sizeof *file);
  if (!file) return MRPC_ENOMEM;
  file->path = mrpc_mem_copy(mem, node->path, node->len);
  if (!file->path) {
    mrpc_mem_free(mem, file, sizeof *file);
    return MRPC_ENOMEM;
  }
  file->len = node->len;
  file->runtime = loader->runtime;
  file->loader = loader;
  file->node = node;
  file->hash = node->hash;
  file->users = 1;
  file->value = LUA_NOREF;
  mrpc_list_init(&file->owned);
  mrpc_list_init(&file->waiters);
  mrpc_list_insert(&loader->files, &file->link);
  *out = file;
  return MRPC_OK;
}

void mrpc_file_hold(mrpc_file *file) {
  if (file) file->users++;
}

void mrpc_file_drop(mrpc_file *file) {
  if (file && --file->users == 0) free_file(file);
}

/* What it owns may own more while it is being closed (a to-be-closed variable
 * that sets a timer); that goes to the successor. */
static void close_owned(mrpc_file *file) {
  while (!mrpc_list_is_empty(&file->owned)) {
    mrpc_owned *owned = mrpc_list_of(file->owned.next, mrpc_owned, link);
    mrpc_list_remove(&owned->link);
    owned->on_close(owned);
  }
}

static void release_deps(mrpc_file *file) {
  for (size_t i = 0; i < file->dep_count; i++) file->deps[i]->users--;
  mrpc_mem_free(&file->runtime->env->mem, file->deps,
                file->dep_cap * sizeof *file->deps);
  file->deps = NULL;
  file->dep_count = file->dep_cap = 0;
}

void mrpc_file_retire(mrpc_file *file) {
  file->state = MRPC_FILE_RETIRED;
  file->node = NULL;
  close_owned(file);
  release_deps(file);
  mrpc_methods_release(file);
  luaL_unref(file->runtime->L, LUA_REGISTRYINDEX, file->value);
  file->value = LUA_NOREF;
  mrpc_file_drop(file);
}

static bool depends_on(const mrpc_file *file, const mrpc_tree_node *node) {
  for (size_t i = 0; i < file->dep_count; i++)
    if (file->deps[i] == node) return true;
  return false;
}

int mrpc_file_depend(mrpc_file *file, mrpc_tree_node *node) {
  if (depends_on(file, node)) return MRPC_OK;
  if (file->dep_count == file->dep_cap) {
    size_t cap = file->dep_cap ? file->dep_cap * 2 : 4;
    size_t each = sizeof *file->deps;
    mrpc_tree_node **deps = mrpc_mem_resize(
        &file->runtime->env->mem, file->deps, file->dep_cap * each, cap * each);
    if (!deps) return MRPC_ENOMEM;
    file->deps = deps;
    file->dep_cap = cap;
  }
  file->deps[file->dep_count++] = node;
  node->users++;
  return MRPC_OK;
}

/* The file that serves under the same path now. */
static mrpc_file *find_successor(const mrpc_file *file) {
  if (!file->loader || file->generation == 0) return NULL;
  const mrpc_tree_node *node =
      mrpc_tree_find(&file->loader->tree, file->path, file->len);
  return node ? node->file : NULL;
}

int mrpc_file_own(mrpc_file *file, mrpc_owned *owned) {
  mrpc_list_init(&owned->link);
  if (file && file->state == MRPC_FILE_RETIRED) file = find_successor(file);
  if (!file || file->state == MRPC_FILE_RETIRED) return MRPC_ESTATE;
  mrpc_list_insert(&file->owned, &owned->link);
  return MRPC_OK;
}

void mrpc_owned_remove(mrpc_owned *owned) {
  mrpc_list_remove(&owned->link);
}

bool mrpc_file_is_loading(const mrpc_file *file) {
  return file && file->state == MRPC_FILE_LOADING;
}

const char *mrpc_file_path(const mrpc_file *file) {
  return file->path;
}
