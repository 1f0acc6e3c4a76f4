/* SPDX-License-Identifier: MIT
 *
 * Bounded pools of what each call needs, in the dispatch that many peers
 * share: a busy host allocates nothing for a call, an idle one holds little. */
#ifndef MRPC_RPC_POOL_H
#define MRPC_RPC_POOL_H

#include "rpc/core.h"

/* A call with its links empty and its stash unused; NULL: out of memory. */
mrpc_call *mrpc_pool_take_call(mrpc_dispatch *dispatch);
/* May free the dispatch, if that was only waiting for its last call. */
void mrpc_pool_give_call(mrpc_call *call);

/* A batch with a document and an empty reply; NULL: out of memory. */
mrpc_batch *mrpc_pool_take_batch(mrpc_peer *peer);
/* Gives the document and the copy of the text back. */
void mrpc_pool_give_loan(mrpc_batch *batch);
void mrpc_pool_give_batch(mrpc_batch *batch);

/* Frees what the pools hold. */
void mrpc_pool_clear(mrpc_dispatch *dispatch);

/* Ends one use of the dispatch. */
void mrpc_dispatch_release(mrpc_dispatch *dispatch);

#endif
