/* SPDX-License-Identifier: MIT
 *
 * An address that the host serves: a listener that makes a peer for each
 * connection, or stdio, which is one peer. */
#ifndef MRPC_HOST_ENDPOINT_H
#define MRPC_HOST_ENDPOINT_H

#include "host/host.h"
#include "host/url.h"

struct mrpc_listener;

typedef struct mrpc_endpoint {
  mrpc_link link; /* in host->endpoints */
  mrpc_host *host;
  mrpc_url url;
  struct mrpc_listener *listener; /* NULL: stdio, or closed */
  struct mrpc_conn *stdio;        /* NULL: not stdio, or ended */
  char text[MRPC_URL_MAX + 8];    /* the address with its real port */
} mrpc_endpoint;

/* Binds. The endpoint belongs to the host's list. */
int mrpc_endpoint_new(mrpc_host *host, const char *url);
/* Takes calls from now on. */
int mrpc_endpoint_open(mrpc_endpoint *endpoint);
/* There may be room for one more connection. */
void mrpc_endpoint_resume(mrpc_endpoint *endpoint);
/* Takes no more connections; those that exist stay. */
void mrpc_endpoint_close(mrpc_endpoint *endpoint);
/* Its streams must be closed already. */
void mrpc_endpoint_free(mrpc_endpoint *endpoint);

/* A peer for a conversation over `conn` at `url`. Takes the framing. */
int mrpc_endpoint_peer(mrpc_host *host, const mrpc_url *url,
                       struct mrpc_conn *conn, const char *address,
                       mrpc_framing *framing, mrpc_peer **out);

#endif
