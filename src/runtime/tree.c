/* SPDX-License-Identifier: MIT
 *
 * A stamp that changed, or one so young that a second write could have left it
 * the same (the clocks of file systems tick slowly), makes a node stale: its
 * content is read and hashed again. Nodes outlive their files, so that what
 * depends on a file that isn't there yet is found when it comes. */
#include "runtime/tree.h"

#include <string.h>

enum { MAX_SCRIPTS = 10000, MAX_SCRIPT = 8 << 20 };
static const double YOUNG = 2.0; /* the coarsest clock in use (FAT) */
static const uint64_t SETTLE_NS = UINT64_C(1000000000);

void mrpc_tree_init(mrpc_tree *tree, mrpc_env *env, const mrpc_source *source) {
  *tree = (mrpc_tree){.env = env, .source = *source};
  mrpc_map_init(&tree->map, &env->mem, env->seed);
  mrpc_list_init(&tree->nodes);
}

static void free_node(mrpc_tree *tree, mrpc_tree_node *node) {
  const mrpc_mem *mem = &tree->env->mem;
  mrpc_list_remove(&node->link);
  mrpc_map_remove(&tree->map, node->path, node->len);
  mrpc_buf_clear(&node->text);
  mrpc_mem_free(mem, node->path, node->len + 1);
  mrpc_mem_free(mem, node, sizeof *node);
}

void mrpc_tree_clear(mrpc_tree *tree) {
  while (!mrpc_list_is_empty(&tree->nodes))
    free_node(tree, mrpc_list_of(tree->nodes.next, mrpc_tree_node, link));
  mrpc_map_clear(&tree->map);
}

void mrpc_tree_prune(mrpc_tree *tree) {
  for (mrpc_link *at = tree->nodes.next, *next; at != &tree->nodes; at = next) {
    mrpc_tree_node *node = mrpc_list_of(at, mrpc_tree_node, link);
    next = at->next;
    bool is_used = node->users || node->file || node->next || node->demand;
    if (!node->is_present && !is_used) free_node(tree, node);
  }
}

mrpc_tree_node *mrpc_tree_find(const mrpc_tree *tree, const char *path,
                               size_t len) {
  return mrpc_map_get(&tree->map, path, len);
}

static bool is_private_path(const char *path) {
  return path[0] == '_' || strstr(path, "/_") != NULL;
}

mrpc_tree_node *mrpc_tree_expect(mrpc_tree *tree, const char *path,
                                 size_t len) {
  mrpc_tree_node *node = mrpc_tree_find(tree, path, len);
  if (node) return node;
  const mrpc_mem *mem = &tree->env->mem;
  char *copy = mrpc_mem_copy(mem, path, len);
  if (!copy) return NULL;
  node = mrpc_mem_new(mem, sizeof *node);
  if (!node || mrpc_map_set(&tree->map, copy, len, node)) {
    mrpc_mem_free(mem, node, sizeof *node);
    mrpc_mem_free(mem, copy, len + 1);
    return NULL;
  }
  node->path = copy;
  node->len = len;
  node->is_private = is_private_path(copy);
  mrpc_buf_init(&node->text, mem, MAX_SCRIPT);
  mrpc_list_insert(&tree->nodes, &node->link);
  return node;
}

/* A file that comes or becomes empty may be about to be written. One that was
 * empty long before we first saw it is not. */
static void note_size(mrpc_tree *tree, mrpc_tree_node *node,
                      const mrpc_script *script) {
  bool was_empty = node->is_present && node->size == 0;
  bool is_old = !node->is_present && script->age * 1e9 >= (double)SETTLE_NS;
  node->size = script->size;
  if (script->size > 0 || is_old)
    node->empty_since = 0;
  else if (!was_empty)
    node->empty_since = mrpc_env_now(tree->env);
}

/* What had a fault is tried again each time: its cause may lie outside. */
static int found(const mrpc_script *script, void *to) {
  mrpc_tree *tree = to;
  if (tree->present >= MAX_SCRIPTS) return MRPC_ELIMIT;
  mrpc_tree_node *node =
      mrpc_tree_expect(tree, script->path, strlen(script->path));
  if (!node) return MRPC_ENOMEM;
  bool is_same = node->is_present && node->stamp == script->stamp;
  if (!is_same) tree->changes++;
  if (!is_same || node->is_doubted || node->fault || script->fault)
    node->is_stale = true;
  note_size(tree, node, script);
  node->is_present = true;
  node->is_doubted = !(script->age >= YOUNG);
  node->list_fault = script->fault;
  node->stamp = script->stamp;
  node->scan = tree->scan;
  tree->present++;
  return MRPC_OK;
}

static void note_gone(mrpc_tree *tree, mrpc_tree_node *node) {
  if (!node->is_present) return;
  node->is_present = node->is_stale = false;
  node->fault = node->list_fault = NULL;
  node->empty_since = 0;
  mrpc_tree_drop_text(node);
  tree->changes++;
}

int mrpc_tree_scan(mrpc_tree *tree) {
  tree->scan++;
  tree->present = 0;
  int rc = tree->source.list(tree->source.ud, found, tree);
  if (rc) return rc;
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(tree, node)))
    if (node->scan != tree->scan) note_gone(tree, node);
  return MRPC_OK;
}

bool mrpc_tree_is_settling(const mrpc_tree *tree) {
  uint64_t now = mrpc_env_now(tree->env);
  const mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(tree, node)))
    if (node->is_present && node->empty_since &&
        now - node->empty_since < SETTLE_NS)
      return true;
  return false;
}

static uint64_t hash_text(const char *text, size_t len) {
  uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (size_t at = 0; at < len; at += 8) {
    uint64_t word = 0;
    memcpy(&word, text + at, len - at < 8 ? len - at : 8);
    h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
  }
  return h;
}

static int keep_text(const char *bytes, size_t len, void *to) {
  mrpc_buf *text = to;
  mrpc_buf_add(text, bytes, len);
  return text->err;
}

static const char *explain(int rc) {
  if (rc == MRPC_OK) return NULL;
  return rc == MRPC_ELIMIT ? "larger than 8 MiB" : "the file can't be read";
}

int mrpc_tree_read(mrpc_tree *tree, mrpc_tree_node *node) {
  mrpc_tree_drop_text(node);
  const char *fault = node->list_fault;
  uint64_t hash = 0;
  if (!fault) {
    int rc =
        tree->source.read(tree->source.ud, node->path, keep_text, &node->text);
    if (rc == MRPC_ENOMEM) return rc;
    fault = explain(rc);
    hash = hash_text(node->text.data, node->text.len);
  }
  if (fault != node->fault || hash != node->hash) tree->changes++;
  node->fault = fault;
  node->hash = hash;
  node->is_stale = false;
  return MRPC_OK;
}

void mrpc_tree_drop_text(mrpc_tree_node *node) {
  mrpc_buf_clear(&node->text);
}
