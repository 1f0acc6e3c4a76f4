/* SPDX-License-Identifier: MIT
 *
 * The end of a call before its answer, asked for by the other side. Two
 * notifications are built in, unless a method of that name exists:
 *
 *   $/cancelRequest          {id}         the call is still answered
 *   notifications/cancelled  {requestId}  it isn't
 *
 * This module says which call is meant and marks it; what the method does
 * about it is its own business. */
#ifndef MRPC_RPC_CANCEL_H
#define MRPC_RPC_CANCEL_H

#include "rpc/core.h"

/* Marks of entries that are cancelled while they queue, in the spare field of
 * the id's node. */
enum { MRPC_ENTRY_CANCELLED = 1, MRPC_ENTRY_SILENCED = 2 };

/* Takes the notification if its name is one of the two; params that don't
 * make sense and ids of no call are ignored. */
bool mrpc_cancel_take(mrpc_peer *peer, const mrpc_doc *doc, uint32_t params,
                      const char *method, size_t len);
/* Is the string at node `method` one of the two names? */
bool mrpc_cancel_is(const mrpc_doc *doc, uint32_t method);
/* The oldest call in flight that has this raw id and isn't cancelled. */
mrpc_call *mrpc_cancel_find(const mrpc_peer *peer, const char *id, size_t len);

#endif
