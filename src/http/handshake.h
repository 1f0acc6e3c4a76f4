/* SPDX-License-Identifier: MIT
 *
 * WebSocket's handshake, server side (RFC 6455 section 4.2): what a request
 * must bear beyond what every request must (Host, Origin: check.h), and the
 * answer that agrees. */
#ifndef MRPC_HTTP_HANDSHAKE_H
#define MRPC_HTTP_HANDSHAKE_H

#include "base/buf.h"
#include "framing/text.h"

typedef struct mrpc_ws_offer {
  mrpc_text key;
  const char *protocol; /* that both want, one of ours; NULL: none */
  mrpc_text wished;     /* the first of its subprotocols; empty: none */
  int status;           /* of the refusal */
  mrpc_text got;        /* what stood there, when it was refused */
} mrpc_ws_offer;

/* Reads the handshake in a scanned header block. `protocols`: what we speak,
 * NULL-terminated, or NULL. NULL when all is well, else a constant phrase. */
const char *mrpc_ws_read_offer(mrpc_text block, const char *const *protocols,
                               mrpc_ws_offer *out);

/* The answer that changes the protocol. */
void mrpc_ws_write_accept(mrpc_buf *to, const mrpc_ws_offer *offer);

#endif
