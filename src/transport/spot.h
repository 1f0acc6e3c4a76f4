/* SPDX-License-Identifier: MIT
 *
 * The directories that a watch watches: all below its root, and those on the
 * way to it, and to what links inside it lead to. A walk brings the set up to
 * date. */
#ifndef MRPC_TRANSPORT_SPOT_H
#define MRPC_TRANSPORT_SPOT_H

#include "base/list.h"
#include "base/map.h"
#include "transport/loop.h"

typedef struct mrpc_spots {
  mrpc_loop *loop;
  mrpc_link list;
  mrpc_map map;        /* key of a spot to spot */
  uint32_t walk;       /* number of the latest walk */
  int status;          /* libuv's code of the first failure in it; 0: none */
  const char *silence; /* that it met (silence.h), or NULL */
  uint32_t idle;       /* events so far that were about nothing of ours */
  void (*on_event)(void *ud);
  void *ud;
} mrpc_spots;

void mrpc_spots_init(mrpc_spots *spots, mrpc_loop *loop,
                     void (*on_event)(void *ud), void *ud);
/* Closes all. The struct may go at once. */
void mrpc_spots_clear(mrpc_spots *spots);
/* Watches what is there now below `root`, each directory before its content
 * is listed. Failures are kept in `status` and `silence`. */
void mrpc_spots_walk(mrpc_spots *spots, const char *root);

#endif
