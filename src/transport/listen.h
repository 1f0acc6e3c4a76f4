/* SPDX-License-Identifier: MIT
 *
 * Listening sockets, TCP and Unix. A listener binds at once, so that faults
 * and the port are known, and accepts when it's told to; beyond the loop's
 * max_streams it leaves newcomers in the kernel's queue. */
#ifndef MRPC_TRANSPORT_LISTEN_H
#define MRPC_TRANSPORT_LISTEN_H

#include "transport/loop.h"

struct mrpc_conn;
typedef struct mrpc_listener mrpc_listener;

/* A connection has come in. The callback opens the stream or closes it. */
typedef void (*mrpc_accept_fn)(struct mrpc_conn *stream, void *ud);

/* `host` is a name or an address, IPv6 without brackets. MRPC_EIO with
 * loop->error. */
int mrpc_listen_tcp(mrpc_loop *loop, const char *host, uint16_t port,
                    mrpc_accept_fn fn, void *ud, mrpc_listener **out);
/* The socket file is readable and writable by its owner only. A file that
 * nobody listens on any more is replaced; MRPC_EEXIST where somebody does, or
 * where it is no socket. */
int mrpc_listen_unix(mrpc_loop *loop, const char *path, mrpc_accept_fn fn,
                     void *ud, mrpc_listener **out);

/* The port that it is bound to; 0 for a Unix socket. */
uint16_t mrpc_listener_port(const mrpc_listener *listener);
/* Starts to accept; also to be called when a stream has ended. */
void mrpc_listener_accept(mrpc_listener *listener);
/* Closes it; removes the socket file if it is still ours. */
void mrpc_listener_close(mrpc_listener *listener);

#endif
