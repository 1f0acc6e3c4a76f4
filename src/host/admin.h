/* SPDX-License-Identifier: MIT
 *
 * The host's own methods: rpc.discover, rpc.status, rpc.reload. */
#ifndef MRPC_HOST_ADMIN_H
#define MRPC_HOST_ADMIN_H

#include "host/host.h"

/* Puts them into the dispatch. */
int mrpc_admin_open(mrpc_host *host);
/* Ends the rpc.reload calls that still wait. */
void mrpc_admin_close(mrpc_host *host);
/* A load has ended: logs it, answers the rpc.reload calls. */
void mrpc_admin_report(mrpc_host *host, const mrpc_report *report);
/* Adds a peer's counters to sums. */
void mrpc_admin_add_stats(mrpc_peer_stats *sums, const mrpc_peer *peer);

#endif
