/* SPDX-License-Identifier: MIT
 *
 * The client's side of a WebSocket connection, as far as the benchmark needs
 * it: text messages of one frame and at most 64 KiB, and pings, which are
 * answered. Anything else ends the program.
 */
#ifndef BENCH_WSCLIENT_H
#define BENCH_WSCLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WS_BUFFER = 16 * 1024 };

typedef struct ws {
  int fd;
  uint32_t key; /* the latest mask */
  size_t in_from, in_len, out_from, out_len;
  char in[WS_BUFFER + 1], out[WS_BUFFER];
} ws;

/* Connects and shakes hands. The connection doesn't block afterwards. */
void ws_open(ws *w, int port);
/* Room for a message of `len` bytes; the caller writes it there, then calls
 * ws_end with the same. NULL: there is none before the next flush. */
char *ws_begin(ws *w, size_t len);
void ws_end(ws *w, char *at, size_t len);
/* Sends what was written, as much as goes. */
void ws_flush(ws *w);
/* Reads what has arrived; false when that is nothing. */
bool ws_receive(ws *w);
/* The next whole message, valid until the next receive. False: there is none
 * yet. */
bool ws_take(ws *w, const char **text, size_t *len);

#endif
