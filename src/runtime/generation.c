/* SPDX-License-Identifier: MIT
 *
 *   plan     the changed files, and by the edges of `require` backwards all
 *            that depend on them, get a new struct each: node->next
 *   commit   a new map of all methods, kept and new, is made first, which is
 *            what can fail; then the map is swapped, node->next becomes
 *            node->file, and the old structs are retired
 *
 * Retiring runs script code (__close), so it comes when all is in place. */
#include "runtime/generation.h"

#include <stdio.h>
#include <string.h>

#include "runtime/chunk.h"

/* Planning. */

/* A private file is loaded when somebody needs it, so a new one is no change;
 * but files that looked for it in vain depend on it. */
static bool has_changed(const mrpc_tree_node *node, bool everything) {
  const mrpc_file *file = node->file;
  if (!node->is_present) return file != NULL;
  if (!file) return !node->is_private || (node->users && !node->demand);
  return everything || node->fault || file->hash != node->hash;
}

static bool depends_on_marked(const mrpc_file *file) {
  for (size_t i = 0; i < file->dep_count; i++)
    if (file->deps[i]->is_marked) return true;
  return false;
}

/* Marks what depends on marked nodes, one step further; false: nothing did.
 * `late`: only what calls have loaded. */
static bool spread(mrpc_loader *loader, bool late) {
  bool has_spread = false;
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    const mrpc_file *file = node->file;
    if (node->is_marked || !file || (late && !file->epoch)) continue;
    if (depends_on_marked(file)) node->is_marked = has_spread = true;
  }
  return has_spread;
}

static bool mark(mrpc_loader *loader) {
  bool is_any = false;
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    node->is_marked = has_changed(node, loader->mode == MRPC_LOAD_EVERYTHING);
    is_any |= node->is_marked;
  }
  while (is_any && spread(loader, false)) continue;
  return is_any;
}

static int make_room(mrpc_loader *loader) {
  if (loader->plan_count < loader->plan_cap) return MRPC_OK;
  size_t cap = loader->plan_cap ? loader->plan_cap * 2 : 16;
  size_t each = sizeof *loader->plan;
  mrpc_file **plan = mrpc_mem_resize(&loader->runtime->env->mem, loader->plan,
                                     loader->plan_cap * each, cap * each);
  if (!plan) return MRPC_ENOMEM;
  loader->plan = plan;
  loader->plan_cap = cap;
  return MRPC_OK;
}

int mrpc_plan_add(mrpc_loader *loader, mrpc_tree_node *node, mrpc_file **out) {
  mrpc_file *file;
  int rc = make_room(loader);
  if (!rc) rc = mrpc_file_new(loader, node, &file);
  if (rc) return rc;
  node->next = file;
  loader->plan[loader->plan_count++] = file;
  *out = file;
  return MRPC_OK;
}

/* By path, so that loads go the same way every time. Shell's sort: it needs no
 * memory, unlike qsort. */
static void sort_plan(mrpc_loader *loader) {
  mrpc_file **plan = loader->plan;
  for (size_t gap = loader->plan_count / 2; gap; gap /= 2)
    for (size_t i = gap; i < loader->plan_count; i++) {
      mrpc_file *file = plan[i];
      size_t at = i;
      for (; at >= gap && strcmp(file->path, plan[at - gap]->path) < 0;
           at -= gap)
        plan[at] = plan[at - gap];
      plan[at] = file;
    }
}

int mrpc_plan_make(mrpc_loader *loader, bool *is_needed) {
  *is_needed = mark(loader) || loader->generation == 0;
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    mrpc_file *file;
    bool is_wanted = node->is_marked && node->is_present &&
                     (!node->is_private || node->file);
    if (is_wanted && mrpc_plan_add(loader, node, &file)) return MRPC_ENOMEM;
    if (!is_wanted) mrpc_tree_drop_text(node);
  }
  sort_plan(loader);
  return MRPC_OK;
}

bool mrpc_plan_is_late(mrpc_loader *loader, const mrpc_tree_node *node) {
  if (!node->file || !node->file->epoch) return false;
  while (spread(loader, true)) continue;
  return node->is_marked;
}

void mrpc_plan_discard(mrpc_loader *loader) {
  for (size_t i = 0; i < loader->plan_count; i++)
    if (loader->plan[i]->state == MRPC_FILE_LOADING)
      mrpc_chunk_stop(loader->plan[i], "the load was given up");
  for (size_t i = 0; i < loader->plan_count; i++) {
    mrpc_file *file = loader->plan[i];
    mrpc_tree_drop_text(file->node);
    file->node->next = NULL;
    mrpc_file_retire(file);
  }
  loader->plan_count = 0;
}

/* The swap. */

/* What will serve under the node's path. */
static mrpc_file *find_survivor(const mrpc_tree_node *node) {
  if (node->next) return node->next;
  return node->is_marked ? NULL : node->file;
}

static void note_clash(mrpc_loader *loader, const mrpc_lua_method *method,
                       const mrpc_lua_method *other) {
  mrpc_faults *faults = &loader->faults[loader->noting];
  char line[16] = ""; /* a C function has none */
  if (other && other->line > 0) snprintf(line, sizeof line, ":%d", other->line);
  if (other)
    mrpc_faults_add(faults, method->owner->path, method->line,
                    "'%s' is defined in %s%s too", method->base.name,
                    other->owner->path, line);
  else
    mrpc_faults_add(faults, method->owner->path, method->line,
                    "'%s' is defined by the host too", method->base.name);
}

/* Of two that clash the one that is new is the one to tell about. */
static int add_method(mrpc_loader *loader, mrpc_map *map,
                      mrpc_lua_method *method) {
  const char *name = method->base.name;
  size_t len = method->base.len;
  const mrpc_map *native = mrpc_dispatch_native(loader->runtime->dispatch);
  if (mrpc_map_get(native, name, len)) {
    note_clash(loader, method, NULL);
    return MRPC_EEXIST;
  }
  int rc = mrpc_map_set(map, name, len, &method->base);
  if (rc != MRPC_EEXIST) return rc;
  const mrpc_method *there = mrpc_map_get(map, name, len);
  mrpc_lua_method *other = there->ud;
  if (method->owner->generation && !other->owner->generation)
    note_clash(loader, other, method);
  else
    note_clash(loader, method, other);
  return MRPC_EEXIST;
}

static int add_methods(mrpc_loader *loader, mrpc_map *map, mrpc_file *file) {
  int result = MRPC_OK;
  for (mrpc_lua_method *at = file->methods; at; at = at->next) {
    int rc = add_method(loader, map, at);
    if (rc == MRPC_ENOMEM) return rc;
    if (rc) result = rc;
  }
  return result;
}

static int build_map(mrpc_loader *loader, mrpc_map *map) {
  int result = MRPC_OK;
  const mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    mrpc_file *file = find_survivor(node);
    int rc = file ? add_methods(loader, map, file) : MRPC_OK;
    if (rc == MRPC_ENOMEM) return rc;
    if (rc) result = rc;
  }
  return result;
}

static void begin_serving(mrpc_file *file, uint32_t generation) {
  file->generation = generation;
  for (mrpc_lua_method *at = file->methods; at; at = at->next)
    at->generation = generation;
}

/* Takes the file out of its node, to be retired when all are out. */
static void take_out(mrpc_tree_node *node, mrpc_link *old) {
  if (!node->file) return;
  mrpc_list_remove(&node->file->link);
  mrpc_list_insert(old, &node->file->link);
  node->file = NULL;
}

/* Marks what marked files depend on, one step further; false: nothing. */
static bool spread_down(mrpc_loader *loader) {
  bool has_spread = false;
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    const mrpc_file *file = node->is_marked ? node->file : NULL;
    for (size_t i = 0; file && i < file->dep_count; i++) {
      has_spread |= !file->deps[i]->is_marked;
      file->deps[i]->is_marked = true;
    }
  }
  return has_spread;
}

/* Private files that no file that serves requires any more. */
static void take_unneeded(mrpc_loader *loader, mrpc_link *old) {
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node)))
    node->is_marked = node->file && !node->is_private;
  while (spread_down(loader)) continue;
  while ((node = mrpc_tree_next(&loader->tree, node)))
    if (!node->is_marked) take_out(node, old);
}

static void retire_all(mrpc_loader *loader, mrpc_link *old) {
  while (!mrpc_list_is_empty(old)) {
    mrpc_file *file = mrpc_list_of(old->next, mrpc_file, link);
    mrpc_list_remove(&file->link);
    mrpc_list_insert(&loader->files, &file->link);
    mrpc_file_retire(file);
  }
}

/* What calls have loaded since the plan was made goes too if it depends on
 * files that go; the next call that requires it loads it again. */
int mrpc_plan_commit(mrpc_loader *loader) {
  mrpc_link old;
  mrpc_map *map = &loader->maps[1 - loader->serving];
  while (spread(loader, true)) continue;
  int rc = build_map(loader, map);
  if (rc) {
    mrpc_map_clear(map);
    return rc;
  }
  mrpc_list_init(&old);
  loader->generation++;
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    if (node->is_marked || node->next) take_out(node, &old);
    if (!node->next) continue;
    node->file = node->next;
    node->next = NULL;
    begin_serving(node->file, loader->generation);
  }
  loader->plan_count = 0;
  mrpc_dispatch_swap(loader->runtime->dispatch, map);
  loader->serving = 1 - loader->serving;
  mrpc_map_clear(&loader->maps[1 - loader->serving]);
  take_unneeded(loader, &old);
  retire_all(loader, &old);
  mrpc_tree_prune(&loader->tree);
  return MRPC_OK;
}

void mrpc_generation_clear(mrpc_loader *loader) {
  mrpc_link old;
  mrpc_list_init(&old);
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) take_out(node, &old);
  retire_all(loader, &old);
}
