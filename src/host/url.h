/* SPDX-License-Identifier: MIT
 *
 * The addresses that people write:
 *
 *   http://host:port[/path]      tcp://host:port[?framing=line|header]
 *   http+unix:/path[?path=/p]    unix:/path[?framing=line|header]
 *   ws://host:port[/path]        ws+unix:/path[?path=/p]
 *   stdio:[?framing=line|header]
 *
 * and, to connect to, a program that is started and spoken with over its
 * standard input and output. What follows the colon are words as in
 * transport/words.h, so the framing stands in front of it:
 *
 *   exec:command [argument]...   exec+header:command [argument]...
 *
 * Pure text; nothing is resolved or opened. */
#ifndef MRPC_HOST_URL_H
#define MRPC_HOST_URL_H

#include "moonrpc.h"

enum { MRPC_URL_MAX = 1024 }; /* bytes of an address, its NUL included */

typedef enum mrpc_url_kind {
  MRPC_URL_HTTP,
  MRPC_URL_HTTP_UNIX,
  MRPC_URL_WS, /* to listen on, the same as HTTP */
  MRPC_URL_WS_UNIX,
  MRPC_URL_TCP,
  MRPC_URL_UNIX,
  MRPC_URL_STDIO,
  MRPC_URL_EXEC
} mrpc_url_kind;

typedef enum mrpc_url_framing {
  MRPC_URL_AUTO,
  MRPC_URL_LINE,
  MRPC_URL_HEADER
} mrpc_url_framing;

typedef struct mrpc_url {
  mrpc_url_kind kind;
  mrpc_url_framing framing;
  uint16_t port;
  char host[256];           /* IPv6 without its brackets */
  char file[MRPC_URL_MAX];  /* of a Unix socket; exec: the command line */
  char path[MRPC_URL_MAX];  /* of the HTTP endpoint; "" when not given */
  char text[MRPC_URL_MAX];  /* as it was written */
  size_t port_at, port_len; /* where the port stands in it */
  char error[160];          /* after a failure: what is wrong */
} mrpc_url;

/* MRPC_ESYNTAX with url->error. */
int mrpc_url_parse(mrpc_url *url, const char *text);
/* The address as it was written, with another port in its place. */
void mrpc_url_write(const mrpc_url *url, uint16_t port, char *out, size_t size);

/* "http", "ws", "tcp", "unix", "stdio", "exec": how log entries call the
 * transport. */
const char *mrpc_url_transport(const mrpc_url *url);

static inline bool mrpc_url_is_ws(const mrpc_url *url) {
  return url->kind == MRPC_URL_WS || url->kind == MRPC_URL_WS_UNIX;
}

/* Does its conversation begin as HTTP? */
static inline bool mrpc_url_is_http(const mrpc_url *url) {
  return url->kind == MRPC_URL_HTTP || url->kind == MRPC_URL_HTTP_UNIX ||
         mrpc_url_is_ws(url);
}

#endif
