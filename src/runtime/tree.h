/* SPDX-License-Identifier: MIT
 *
 * What is known of the files of a source: one node a path, brought up to date
 * by a scan, which compares stamps, and by reading what the stamps leave open.
 * The content alone decides what has changed, so a touch changes nothing.
 * Knows neither Lua nor what loading means. */
#ifndef MRPC_RUNTIME_TREE_H
#define MRPC_RUNTIME_TREE_H

#include "base/buf.h"
#include "base/env.h"
#include "base/list.h"
#include "base/map.h"

typedef struct mrpc_file mrpc_file;

/* A path where there is a file, was one, or might come one. */
typedef struct mrpc_tree_node {
  mrpc_link link; /* in tree->nodes */
  char *path;     /* "user/admin.lua" */
  size_t len;
  uint32_t scan;     /* that saw it last */
  uint32_t users;    /* loaded files that depend on it; see mrpc_tree_prune */
  bool is_present;   /* in the latest scan */
  bool is_private;   /* a part of its path begins with "_": no methods */
  bool is_stale;     /* the content is to be read: mrpc_tree_read */
  bool is_doubted;   /* its stamp is too young to prove anything */
  bool is_marked;    /* for the loader's walks */
  const char *fault; /* it can't be had, and this is why; constant */
  const char *list_fault; /* the same, from the latest scan */
  uint64_t stamp;
  uint64_t size;
  uint64_t hash;        /* of the content */
  uint64_t empty_since; /* when a scan found it empty first; 0: it isn't */
  mrpc_buf text;        /* the content, from reading until it is dropped */
  mrpc_file *file;      /* the loader's: what serves now */
  mrpc_file *next;      /* the loader's: what a load makes of it */
  mrpc_file *demand;    /* the loader's: what a call is loading */
} mrpc_tree_node;

typedef struct mrpc_tree {
  mrpc_env *env;
  mrpc_source source;
  mrpc_map map; /* path to node */
  mrpc_link nodes;
  uint32_t scan;    /* number of the latest scan */
  uint32_t present; /* files in the latest scan */
  uint32_t changes; /* counts stamps, presences and contents that changed */
} mrpc_tree;

void mrpc_tree_init(mrpc_tree *tree, mrpc_env *env, const mrpc_source *source);
void mrpc_tree_clear(mrpc_tree *tree);

/* Lists the source and marks what must be read. Passes the source's result on;
 * after a failure what was known before holds, and a later scan mends it. */
int mrpc_tree_scan(mrpc_tree *tree);
/* Is a file empty that a moment ago wasn't, or wasn't there? Then somebody is
 * about to write it: scan again soon. It is believed after a second. */
bool mrpc_tree_is_settling(const mrpc_tree *tree);
/* Reads a file. What can't be read gets a fault; what has vanished counts as
 * a change, for the next scan to see. Fails for lack of memory only. */
int mrpc_tree_read(mrpc_tree *tree, mrpc_tree_node *node);
/* Frees the text. */
void mrpc_tree_drop_text(mrpc_tree_node *node);

/* NULL when the path was never heard of. */
mrpc_tree_node *mrpc_tree_find(const mrpc_tree *tree, const char *path,
                               size_t len);
/* The same, but makes a node that isn't present; NULL for lack of memory. */
mrpc_tree_node *mrpc_tree_expect(mrpc_tree *tree, const char *path, size_t len);
/* Walks the nodes: NULL starts, NULL ends. New nodes are added last. */
static inline mrpc_tree_node *mrpc_tree_next(const mrpc_tree *tree,
                                             const mrpc_tree_node *after) {
  mrpc_link *link = after ? after->link.next : tree->nodes.next;
  if (link == &tree->nodes) return NULL;
  return mrpc_list_of(link, mrpc_tree_node, link);
}
/* Forgets the nodes that are neither present nor used. */
void mrpc_tree_prune(mrpc_tree *tree);

#endif
