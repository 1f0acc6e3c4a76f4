/* SPDX-License-Identifier: MIT
 *
 * One loading of one file: what its code made and who still uses it. A file
 * that is loaded again gets a new struct; the old one is retired (what it owns
 * is closed) and goes away when the last task that runs its code has ended.
 * Knows nothing of how files are found and loaded (load.h). */
#ifndef MRPC_RUNTIME_FILE_H
#define MRPC_RUNTIME_FILE_H

#include "base/arena.h"
#include "base/list.h"
#include "runtime/runtime.h"

/* A resource that dies with the file that made it: a timer, a handle, a task
 * that was spawned while the file was loaded. It stands in its owner's
 * struct. */
typedef struct mrpc_owned mrpc_owned;
struct mrpc_owned {
  mrpc_link link; /* in file->owned; points to itself when nobody owns it */
  /* Ends the resource. It has been disowned already. */
  void (*on_close)(mrpc_owned *owned);
};

/* Counts a user: a task that runs the file's code. NULL is fine. */
void mrpc_file_hold(mrpc_file *file);
void mrpc_file_drop(mrpc_file *file);

/* Gives a resource to the file. Code of a retired file that still runs gives
 * to the file's successor. MRPC_ESTATE when there is none (the file was
 * deleted, its load was given up) or `file` is NULL: then the resource must
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
