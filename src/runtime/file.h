/* SPDX-License-Identifier: MIT
 *
 * One loading of one file: what its code made and who still uses it. A file
 * that is loaded again gets a new struct; the old one is retired (what it owns
 * is closed) and goes away when the last task that runs its code has ended.
 * Knows nothing of how files are found and run (load.h). */
#ifndef MRPC_RUNTIME_FILE_H
#define MRPC_RUNTIME_FILE_H

#include "base/list.h"
#include "runtime/runtime.h"

typedef struct mrpc_tree_node mrpc_tree_node;
typedef struct mrpc_lua_method mrpc_lua_method;

/* A resource that dies with the file that made it: a timer, a handle, a task
 * that was spawned while the file was loaded. It stands in its owner's
 * struct. */
typedef struct mrpc_owned mrpc_owned;
struct mrpc_owned {
  mrpc_link link; /* in file->owned; points to itself when nobody owns it */
  /* Ends the resource. It has been disowned already. */
  void (*on_close)(mrpc_owned *owned);
};

typedef enum mrpc_file_state {
  MRPC_FILE_NEW,     /* not begun */
  MRPC_FILE_LOADING, /* its main chunk runs or waits */
  MRPC_FILE_READY,   /* the main chunk has ended well */
  MRPC_FILE_FAILED,
  MRPC_FILE_RETIRED /* replaced, deleted or given up */
} mrpc_file_state;

/* The fields are the loader's; others use the functions below. */
struct mrpc_file {
  mrpc_link link; /* in loader->files */
  mrpc_runtime *runtime;
  mrpc_loader *loader;  /* NULL once it has gone */
  mrpc_tree_node *node; /* NULL once retired */
  char *path;           /* "user/admin.lua" */
  size_t len;
  mrpc_file_state state;
  uint32_t users;      /* the loader is one, until it retires the file */
  uint32_t generation; /* in which it serves; 0: not yet */
  uint32_t epoch;      /* a call's require began it in this generation, and it
                          isn't part of a load; 0: it is */
  uint32_t group;      /* of rpc.serial; 0: its calls don't queue */
  bool is_blocked;     /* it failed since what it requires did */
  uint64_t hash;       /* of its text */
  int end_line;        /* of its text, once that is compiled */
  mrpc_link owned;
  mrpc_lua_method *methods; /* the latest first */
  uint32_t method_count;
  int value;             /* what the main chunk returned: registry reference */
  mrpc_tree_node **deps; /* what it requires, or would if it were there */
  size_t dep_count;
  size_t dep_cap;
  mrpc_task *task;      /* that runs the main chunk */
  mrpc_file *waits_for; /* what its main chunk is requiring */
  mrpc_link waiters;    /* who requires it while it loads: require.c */
};

/* A file with one user. */
int mrpc_file_new(mrpc_loader *loader, mrpc_tree_node *node, mrpc_file **out);
/* Closes what it owns, lets go of its values and its methods, and drops it.
 * It must stand in no map any more, and its task must have ended. */
void mrpc_file_retire(mrpc_file *file);
/* Notes that the file depends on the node. MRPC_ENOMEM. */
int mrpc_file_depend(mrpc_file *file, mrpc_tree_node *node);

/* Counts a user: a task that runs the file's code. NULL is fine. */
void mrpc_file_hold(mrpc_file *file);
void mrpc_file_drop(mrpc_file *file);

/* Gives a resource to the file. Code of a replaced file that still runs gives
 * to the file's successor. MRPC_ESTATE when there is none (the file was
 * deleted, or its load was given up) or `file` is NULL: then the resource must
 * not be made. */
int mrpc_file_own(mrpc_file *file, mrpc_owned *owned);
/* The resource ended by itself. Fine for one that nobody owns. */
void mrpc_owned_remove(mrpc_owned *owned);
/* Is its main chunk still running? Tasks that are spawned meanwhile belong to
 * the file; those that are spawned later, in calls, finish. */
bool mrpc_file_is_loading(const mrpc_file *file);
/* "user/admin.lua" */
const char *mrpc_file_path(const mrpc_file *file);

#endif
