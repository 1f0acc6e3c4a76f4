/* SPDX-License-Identifier: MIT
 *
 * Outgoing connections: a name is resolved, its addresses are tried in
 * order. */
#ifndef MRPC_TRANSPORT_CONNECT_H
#define MRPC_TRANSPORT_CONNECT_H

#include "transport/loop.h"

struct mrpc_conn;

/* The end of an attempt: a connected stream, which the callback opens or
 * closes, or NULL with loop->error. Called once, never from inside the
 * connecting function. */
typedef void (*mrpc_connect_fn)(struct mrpc_conn *stream, void *ud);

int mrpc_connect_tcp(mrpc_loop *loop, const char *host, uint16_t port,
                     mrpc_connect_fn fn, void *ud);
int mrpc_connect_unix(mrpc_loop *loop, const char *path, mrpc_connect_fn fn,
                      void *ud);

#endif
