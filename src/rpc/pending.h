/* SPDX-License-Identifier: MIT
 *
 * Calls out: those of ours that the other side has yet to answer. An answer
 * finds its call by id, on the peer that the call was sent to, never by order.
 * One that finds none, or isn't well formed, is counted, logged and dropped;
 * whoever waits goes on waiting. */
#ifndef MRPC_RPC_PENDING_H
#define MRPC_RPC_PENDING_H

#include "rpc/core.h"
#include "rpc/envelope.h"

/* Delivers a response. */
void mrpc_pending_answer(mrpc_peer *peer, const mrpc_doc *doc,
                         const mrpc_envelope *e);
/* All that was sent has been answered: so have the notifications. */
void mrpc_pending_taken(mrpc_peer *peer);
/* Fails all with `result`. */
void mrpc_pending_fail(mrpc_peer *peer, int result);

#endif
