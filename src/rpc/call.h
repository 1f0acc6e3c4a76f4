/* SPDX-License-Identifier: MIT
 *
 * One request or notification that came in, from its start to its one answer.
 * The runtime's view of a call; moonrpc.h has the public part.
 *
 * The quick way to answer writes the result straight behind its envelope:
 *
 *   mrpc_buf *buf = mrpc_call_open_result(call);
 *   ... write one JSON value to buf ...
 *   mrpc_call_close_result(call);
 *
 * Between open and close nothing else may happen to the same peer: no other
 * answer, no drop. */
#ifndef MRPC_RPC_CALL_H
#define MRPC_RPC_CALL_H

#include "base/buf.h"
#include "framing/framing.h"
#include "json/document.h"

enum { MRPC_NO_NODE = UINT32_MAX };

/* The document that holds the params, and their node; MRPC_NO_NODE when there
 * are none (absent or null). Valid until the method's start returns. */
const mrpc_doc *mrpc_call_doc(const mrpc_call *call, uint32_t *params);

/* A buffer that stands behind `"result":`. Never NULL; for a notification, or
 * when the caller has gone, what is written is thrown away. */
mrpc_buf *mrpc_call_open_result(mrpc_call *call);
/* Ends the answer. When the buffer struck its limit, the answer becomes
 * "reply too large" (MRPC_REPLY_TOO_LARGE); out of memory, an internal error.
 * The call is gone afterwards. MRPC_OK, or MRPC_ELIMIT, MRPC_ENOMEM for the
 * log. */
int mrpc_call_close_result(mrpc_call *call);
/* Takes back an open result, so that mrpc_call_error can follow. */
void mrpc_call_undo_result(mrpc_call *call);

/* Like mrpc_call_error, with lengths, and the code is sent as it is; `message`
 * need not be valid UTF-8. */
int mrpc_call_fail(mrpc_call *call, int64_t code, const char *message,
                   size_t message_len, const char *data, size_t data_len);

/* The header fields of the request that carries this call (HTTP) or that
 * opened the conversation (WebSocket), ended by a NULL name; NULL where there
 * are none. Valid while the call is. */
const mrpc_header_field *mrpc_call_headers(const mrpc_call *call);

/* The raw id as it came, "" for a notification. */
const char *mrpc_call_id(const mrpc_call *call, size_t *len);

#endif
