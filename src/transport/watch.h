/* SPDX-License-Identifier: MIT
 *
 * Tells that something below a directory may have changed. Directories are
 * watched, never files (a watch of a file dies at the first save by rename),
 * and so is what leads to the directory, since that may be a link that is
 * turned elsewhere. Whatever happens means "look again"; what it was is found
 * by whoever looks. Knows nothing of Lua.
 *
 * Where the system has no more watches, or the file system tells of no
 * changes, it says "look again" once a second. */
#ifndef MRPC_TRANSPORT_WATCH_H
#define MRPC_TRANSPORT_WATCH_H

#include "transport/loop.h"

typedef struct mrpc_watch mrpc_watch;
typedef void (*mrpc_watch_fn)(void *ud);

/* Calls `on_change` when nothing has happened for 50 ms after something
 * did, or a second after it at the latest. The directory needn't exist yet.
 * What happens after this function has returned is told of. */
int mrpc_watch_new(mrpc_loop *loop, const char *path, mrpc_watch_fn on_change,
                   void *ud, mrpc_watch **out);
/* The handles close on the loop later; on_change isn't called any more. */
void mrpc_watch_free(mrpc_watch *watch);
/* NULL, or why it has to look once a second. */
const char *mrpc_watch_polls(const mrpc_watch *watch);

#endif
