/* SPDX-License-Identifier: MIT */
#include "wsclient.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

/* The key of RFC 6455's own example, and the answer that it must have. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

enum { FIN = 0x80, MASKED = 0x80, TEXT = 1, PING = 9, PONG = 10, HEAD = 8 };

static void read_answer(ws *w) {
  char *end = NULL;
  while (!end) {
    ssize_t n = recv(w->fd, w->in + w->in_len, WS_BUFFER - w->in_len, 0);
    if (n <= 0) tool_fail("no answer to the handshake: %.*s", 200, w->in);
    w->in_len += (size_t)n;
    w->in[w->in_len] = 0;
    end = strstr(w->in, "\r\n\r\n");
  }
  if (!strstr(w->in, "HTTP/1.1 101 ") || !strstr(w->in, ACCEPT))
    tool_fail("not an answer to the handshake: %.*s", 200, w->in);
  w->in_from = (size_t)(end + 4 - w->in);
}

void ws_open(ws *w, int port) {
  char text[512];
  int len = snprintf(text, sizeof text,
                     "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                     "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: " KEY "\r\n\r\n",
                     port);
  w->in_from = w->in_len = w->out_from = w->out_len = 0;
  w->key = 0x9e3779b9;
  w->fd = tool_connect(port);
  if (send(w->fd, text, (size_t)len, MSG_NOSIGNAL) != len)
    tool_fail("can't send the handshake: %s", strerror(errno));
  read_answer(w);
  tool_set_nonblocking(w->fd);
}

/* Writes a frame's head; gives the place of its payload. */
static char *put_head(ws *w, int opcode, size_t len) {
  char *at = w->out + w->out_len;
  *at++ = (char)(FIN | opcode);
  if (len < 126) {
    *at++ = (char)(MASKED | len);
  } else {
    *at++ = (char)(MASKED | 126);
    *at++ = (char)(len >> 8);
    *at++ = (char)len;
  }
  w->key ^= w->key << 13, w->key ^= w->key >> 17, w->key ^= w->key << 5;
  memcpy(at, &w->key, sizeof w->key);
  return at + sizeof w->key;
}

char *ws_begin(ws *w, size_t len) {
  if (w->out_from == w->out_len) w->out_from = w->out_len = 0;
  if (len + HEAD > WS_BUFFER - w->out_len) return NULL;
  return put_head(w, TEXT, len);
}

void ws_end(ws *w, char *at, size_t len) {
  uint64_t key = (uint64_t)w->key << 32 | w->key, part;
  size_t i = 0;
  for (; i + sizeof part <= len; i += sizeof part) {
    memcpy(&part, at + i, sizeof part);
    part ^= key;
    memcpy(at + i, &part, sizeof part);
  }
  for (; i < len; i++) at[i] ^= (char)(w->key >> 8 * (i & 3));
  w->out_len = (size_t)(at + len - w->out);
}

void ws_flush(ws *w) {
  size_t len = w->out_len - w->out_from;
  ssize_t n = len ? send(w->fd, w->out + w->out_from, len, MSG_NOSIGNAL) : 0;
  if (n < 0 && errno != EAGAIN && errno != EINTR)
    tool_fail("can't send: %s", strerror(errno));
  if (n > 0) w->out_from += (size_t)n;
}

bool ws_receive(ws *w) {
  ssize_t n;
  if (w->in_from) {
    w->in_len -= w->in_from;
    memmove(w->in, w->in + w->in_from, w->in_len);
    w->in_from = 0;
  }
  n = recv(w->fd, w->in + w->in_len, WS_BUFFER - w->in_len, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) tool_fail("the server went away");
  w->in_len += (size_t)n;
  w->in[w->in_len] = 0;
  return true;
}

static void answer_ping(ws *w, const char *text, size_t len) {
  char *at;
  if (w->out_from == w->out_len) w->out_from = w->out_len = 0;
  if (len + HEAD > WS_BUFFER - w->out_len) return;
  at = put_head(w, PONG, len);
  memcpy(at, text, len);
  ws_end(w, at, len);
  ws_flush(w);
}

/* Reads the frame at the front; 0 when it isn't there as a whole. */
static int take_frame(ws *w, const char **text, size_t *len) {
  const unsigned char *at = (unsigned char *)w->in + w->in_from;
  size_t have = w->in_len - w->in_from, head = 2;
  if (have < 2) return 0;
  *len = at[1];
  if (*len == 126) {
    if (have < 4) return 0;
    *len = (size_t)at[2] << 8 | at[3];
    head = 4;
  }
  if (!(at[0] & FIN) || at[1] > 126 || *len + head > WS_BUFFER)
    tool_fail("a frame that isn't expected: %02x %02x", at[0], at[1]);
  if (have < head + *len) return 0;
  *text = (const char *)at + head;
  w->in_from += head + *len;
  return at[0] & 15;
}

bool ws_take(ws *w, const char **text, size_t *len) {
  int opcode;
  while ((opcode = take_frame(w, text, len)) == PING)
    answer_ping(w, *text, *len);
  if (opcode != 0 && opcode != TEXT)
    tool_fail("a frame that isn't expected: opcode %d", opcode);
  return opcode == TEXT;
}
