/* SPDX-License-Identifier: MIT
 *
 * What the clients of HTTP and of WebSocket share. */
#ifndef MRPC_HTTP_CLIENT_H
#define MRPC_HTTP_CLIENT_H

#include "framing/framing.h"

/* May a request be for that path of that host? */
bool mrpc_client_is_target(const char *host, const char *path);

/* For the tables of framings that nobody can ask: what a server asks in an
 * answer, or before its handshake is through, has no way back. */
int mrpc_client_put(mrpc_framing *f, uint64_t token, const char *bytes,
                    size_t len, mrpc_outcome outcome);
int mrpc_client_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome);

#endif
