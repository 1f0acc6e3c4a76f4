/* SPDX-License-Identifier: MIT
 *
 * One message and its one reply. A single call is a batch of one without
 * brackets. Replies stand in the order of the requests, whatever the order in
 * which they are ready. */
#ifndef MRPC_RPC_BATCH_H
#define MRPC_RPC_BATCH_H

#include "rpc/core.h"

/* Takes a message: parses it, checks it, runs its entries. */
void mrpc_batch_take(mrpc_peer *peer, const mrpc_message *msg);
/* Goes on with the entries of a queued batch, until none is left or the calls
 * in flight are at their limit again. */
void mrpc_batch_run(mrpc_batch *batch);
/* Frees the batch; its calls go on without it. */
void mrpc_batch_abandon(mrpc_batch *batch);

/* Answers a message that is over a limit with one error and a null id; the
 * words are those of mrpc_envelope_add_limit. */
void mrpc_batch_refuse(mrpc_peer *peer, uint64_t token, const char *what,
                       uint64_t limit, const char *unit);
/* Answers bytes in which no message can be found with a parse error that says
 * why. */
void mrpc_batch_break(mrpc_peer *peer, const char *why);

/* The buffer for the answer of `call`, which stands in `order`; call->mark is
 * where it begins. Its limit keeps room for the errors of the entries that
 * aren't answered yet. */
mrpc_buf *mrpc_batch_place(mrpc_batch *batch, mrpc_call *call);
/* Goes back to the mark, and lifts the limit for a short error. */
void mrpc_batch_replace(mrpc_batch *batch, mrpc_call *call, mrpc_buf *buf);
/* Puts behind an answer that is whole what ends it there. */
void mrpc_batch_seal(mrpc_batch *batch, mrpc_buf *buf);
/* The call is answered in its place, or won't be answered. Sends the reply
 * when it was the last. Afterwards call->batch is NULL, unless the answer must
 * wait for its turn; then the batch gives the call back. */
void mrpc_batch_settle(mrpc_batch *batch, mrpc_call *call, bool is_answered);

#endif
