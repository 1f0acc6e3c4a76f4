/* SPDX-License-Identifier: MIT
 *
 * Writes answers. It knows how a response looks, not when it is sent. */
#ifndef MRPC_HTTP_REPLY_H
#define MRPC_HTTP_REPLY_H

#include "http/check.h"
#include "http/order.h"

/* A JSON text with a status; no body at all when `len` is 0. `slot` says what
 * the connection needs. Failure is in to->err. */
void mrpc_http_write_json(mrpc_buf *to, const mrpc_http_slot *slot, int status,
                          const char *bytes, size_t len);

/* The plain text answer to a request that isn't a call. */
void mrpc_http_write_verdict(mrpc_buf *to, const mrpc_http_slot *slot,
                             const mrpc_http_verdict *verdict);

#endif
