/* SPDX-License-Identifier: MIT
 *
 * Echoes text and binary messages verbatim over our WebSocket framing, one
 * connection at a time, until it is killed: what Autobahn's fuzzing client
 * talks to. Usage: tool_wsecho PORT */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/websocket.h"

enum { ROOM = 64 << 10, LARGEST = 64 << 20 };

static bool send_out(int fd, mrpc_framing *f) {
  size_t at = 0;
  while (at < f->out.len) {
    ssize_t n = send(fd, f->out.data + at, f->out.len - at, MSG_NOSIGNAL);
    if (n <= 0) return false;
    at += (size_t)n;
  }
  mrpc_buf_truncate(&f->out, 0);
  return true;
}

static void echo(mrpc_framing *f, const mrpc_message *msg) {
  mrpc_websocket *w = (mrpc_websocket *)f;
  uint8_t opcode = w->is_binary ? WSLAY_BINARY_FRAME : WSLAY_TEXT_FRAME;
  mrpc_websocket_send(w, opcode, msg->bytes, msg->len);
  f->vt->none(f, msg->token, MRPC_OUTCOME_SILENT);
}

/* The framing may be another one afterwards. False at its end. */
static bool take(mrpc_framing **f, const char *bytes, size_t len) {
  size_t at = 0, used;
  mrpc_message msg;
  while (at < len && !(*f)->closing) {
    int rc = (*f)->vt->recv(*f, bytes + at, len - at, &used, &msg);
    at += used;
    if (rc == MRPC_OK) echo(*f, &msg);
    mrpc_framing *next = (*f)->next;
    if (!next) continue;
    mrpc_buf_add(&next->out, (*f)->out.data, (*f)->out.len);
    (*f)->next = NULL;
    (*f)->vt->free(*f);
    *f = next;
  }
  return !(*f)->closing;
}

static void converse(mrpc_env *env, int fd) {
  static char room[ROOM];
  mrpc_limits limits = {.message = LARGEST};
  mrpc_http_config config = {.limits = &limits, .websocket = {.binary = true}};
  mrpc_framing *f;
  ssize_t n;
  if (mrpc_framing_http(env, &config, &f)) exit(1);
  while ((n = read(fd, room, sizeof room)) > 0) {
    bool goes_on = take(&f, room, (size_t)n);
    if (!send_out(fd, f) || !goes_on) break;
  }
  f->vt->free(f);
  shutdown(fd, SHUT_WR);
  while (n > 0) n = read(fd, room, sizeof room);
  close(fd);
}

int main(int argc, char **argv) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  mrpc_env_config config = {0};
  mrpc_env *env;
  int yes = 1, server = socket(AF_INET, SOCK_STREAM, 0);
  at.sin_port = htons((uint16_t)(argc > 1 ? strtoul(argv[1], NULL, 10) : 9001));
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(server, (struct sockaddr *)&at, sizeof at) || listen(server, 16) ||
      mrpc_env_new(&config, &env)) {
    perror("tool_wsecho");
    return 1;
  }
  for (;;) {
    int fd = accept(server, NULL, NULL);
    if (fd >= 0) converse(env, fd);
  }
}
