/* SPDX-License-Identifier: MIT
 *
 * What the tests of WebSocket share: frames in short, in both directions. */
#ifndef MRPC_TEST_WS_H
#define MRPC_TEST_WS_H

#include "feed.h"
#include "http/websocket.h"

/* First bytes of frames: FIN and opcode. */
enum { CONT = 0x80, TEXT = 0x81, BIN = 0x82, CLOSE = 0x88, PING = 0x89 };
enum { PONG = 0x8a, MORE = 0x80 /* taken off: a fragment, more follow */ };

static const mrpc_limits limits = {.message = 70000, .body_time = 5};

__attribute__((unused)) static int make_with(mrpc_env *env,
                                             const mrpc_websocket_config *how,
                                             mrpc_framing **out) {
  mrpc_websocket *w;
  int rc = mrpc_websocket_new(env, &limits, how, &w);
  if (rc == MRPC_OK) *out = &w->base;
  return rc;
}

__attribute__((unused)) static int make(mrpc_env *env, mrpc_framing **out) {
  return make_with(env, NULL, out);
}

/* Appends a frame whose first byte is `first`; `key` NULL: not masked. */
__attribute__((unused)) static void frame_of(feed_text *to, int first,
                                             const char *bytes, size_t len,
                                             const char *key) {
  char head[10] = {(char)first};
  size_t more = len > 65535 ? 8 : len > 125 ? 2 : 0;
  head[1] = (char)(more == 8 ? 127 : more == 2 ? 126 : (int)len);
  for (size_t i = 0; i < more; i++)
    head[2 + i] = (char)(len >> 8 * (more - 1 - i));
  if (key) head[1] = (char)(head[1] | 0x80);
  feed_add(to, head, 2 + more);
  if (key) feed_add(to, key, 4);
  size_t at = to->len;
  feed_add(to, bytes, len);
  for (size_t i = 0; key && i < len; i++)
    to->at[at + i] = (char)(to->at[at + i] ^ key[i & 3]);
}

/* A client's frame, of a string. */
__attribute__((unused)) static void frame(feed_text *to, int first,
                                          const char *text) {
  frame_of(to, first, text, strlen(text), "\x37\xfa\x21\x3d");
}

__attribute__((unused)) static void frame_n(feed_text *to, int first,
                                            const char *bytes, size_t len) {
  frame_of(to, first, bytes, len, "\x37\xfa\x21\x3d");
}

static const char *frame_name(int first) {
  switch (first) {
    case TEXT: return "text";
    case BIN: return "binary";
    case CLOSE: return "close";
    case PING: return "ping";
    case PONG: return "pong";
    default: return "?";
  }
}

/* One line a frame: "< close 1002 why", "< text hello". */
__attribute__((unused)) static void show_frames(feed *t, const char *bytes,
                                                size_t len) {
  const unsigned char *at = (const unsigned char *)bytes, *end = at + len;
  while (end - at >= 2) {
    int first = at[0];
    bool is_masked = at[1] & 0x80;
    size_t size = at[1] & 0x7f, more = size == 127 ? 8 : size == 126 ? 2 : 0;
    if (more) size = 0;
    at += 2;
    for (size_t i = 0; i < more; i++) size = size << 8 | *at++;
    const unsigned char *key = at;
    if (is_masked) at += 4;
    char *text = malloc(size + 1);
    if (!text) abort();
    for (size_t i = 0; i < size; i++)
      text[i] = (char)(is_masked ? at[i] ^ key[i & 3] : at[i]);
    char line[64];
    size_t skip = 0;
    if (first == CLOSE && size >= 2) skip = 2;
    snprintf(line, sizeof line, "<%s %s ", is_masked ? "*" : "",
             frame_name(first));
    feed_adds(&t->log, line);
    snprintf(line, sizeof line, "%d ",
             skip ? (unsigned char)text[0] * 256 + (unsigned char)text[1] : 0);
    if (skip) feed_adds(&t->log, line);
    if (size > 200)
      feed_adds(&t->log, "(long)");
    else
      feed_add(&t->log, text + skip, size - skip);
    feed_adds(&t->log, "\n");
    free(text);
    at += size;
  }
}

__attribute__((unused)) static void echo(feed *t, const mrpc_message *msg,
                                         int rc) {
  (void)rc;
  t->f->vt->put(t->f, msg->token, msg->bytes, msg->len, MRPC_OUTCOME_ANSWERED);
}

__attribute__((unused)) static feed websocket(void) {
  return (feed){.make = make, .answer = echo, .show = show_frames};
}

#endif
