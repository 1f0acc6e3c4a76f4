/* SPDX-License-Identifier: MIT
 *
 * What a client of HTTP can ask its framing beyond the table. */
#ifndef MRPC_HTTP_CLIENT_H
#define MRPC_HTTP_CLIENT_H

#include "framing/framing.h"

/* The status of the last answer, 0 before the first. When recv failed,
 * f->error says why and this what the server said. */
int mrpc_http_client_status(const mrpc_framing *f);
/* The first line of what a server said that refused a request; "" if it said
 * nothing, or in HTML. Lives as long as the framing. */
const char *mrpc_http_client_said(const mrpc_framing *f);

/* The same of a WebSocket client while its handshake isn't through; then 0
 * and "". */
int mrpc_ws_client_status(const mrpc_framing *f);
const char *mrpc_ws_client_said(const mrpc_framing *f);
/* How the server has closed a WebSocket: its reason, "" if it gave none, and
 * the code, 0 when it hasn't. Lives as long as the framing. */
const char *mrpc_ws_client_farewell(const mrpc_framing *f, int *code);
/* Adds header fields to all requests, or to the handshake of a WebSocket, of a
 * framing to which nothing was given yet: whole lines, each with its CRLF.
 * MRPC_ENOMEM. */
int mrpc_http_client_add(mrpc_framing *f, const char *lines, size_t len);
int mrpc_ws_client_add(mrpc_framing *f, const char *lines, size_t len);

/* For the tables of framings that nobody can ask: what a server asks in an
 * answer, or before its handshake is through, has no way back. */
int mrpc_client_put(mrpc_framing *f, uint64_t token, const char *bytes,
                    size_t len, mrpc_outcome outcome);
int mrpc_client_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome);

#endif
