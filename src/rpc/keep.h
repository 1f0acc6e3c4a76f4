/* SPDX-License-Identifier: MIT
 *
 * What a call keeps of its message when it isn't answered by the time its
 * start returns: the id, the token by which its caller wants to hear of its
 * progress, and the header fields that it came with. Nothing of this is
 * touched by a call that answers at once. */
#ifndef MRPC_RPC_KEEP_H
#define MRPC_RPC_KEEP_H

#include "rpc/core.h"

/* Bits of mrpc_call.owns. */
enum { MRPC_OWNS_ID = 1, MRPC_OWNS_TOKEN = 2, MRPC_OWNS_HEADERS = 4 };

/* Copies what `call` needs, while its message is there. Out of memory loses
 * the peer. */
void mrpc_keep(mrpc_call *call);
/* Frees what it has kept; call->owns isn't 0. */
void mrpc_keep_drop(mrpc_call *call);

/* Keeps the header fields of the message for a batch that queues. MRPC_ENOMEM.
 */
int mrpc_keep_headers(mrpc_batch *batch);
/* The batch has headers: the call shares them. */
void mrpc_keep_share(mrpc_call *call, const mrpc_batch *batch);
void mrpc_keep_release(mrpc_batch *batch);

#endif
