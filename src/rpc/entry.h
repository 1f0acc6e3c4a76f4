/* SPDX-License-Identifier: MIT
 *
 * One entry of a batch, on its way from nodes to a method: read, found,
 * admitted, started; or answered with an error; or an answer to a call of
 * ours. */
#ifndef MRPC_RPC_ENTRY_H
#define MRPC_RPC_ENTRY_H

#include "rpc/core.h"

/* Runs the entry at `node` of the batch's document. */
void mrpc_entry_run(mrpc_batch *batch, uint32_t node);

#endif
