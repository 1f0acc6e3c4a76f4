/* SPDX-License-Identifier: MIT
 *
 * Throws bytes at the framings. The first byte says at which (line, header,
 * auto, HTTP server, HTTP client, WebSocket from either side, WebSocket's
 * handshake from the client's), the second how the rest is cut; what comes
 * out must not depend on the cuts, so each input is played twice: in pieces
 * and whole. */
#include "feed.h"
#include "http/websocket.h"

static const mrpc_limits limits = {
    .message = 200, .header = 400, .in_flight = 4};
static const char *const hosts[] = {"h", NULL};
static const char *const origins[] = {"http://o", NULL};
static const mrpc_http_config config = {.limits = &limits,
                                        .bound = "0.0.0.0",
                                        .hosts = hosts,
                                        .origins = origins,
                                        .dev = true};

static int make_line(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_line(env, &limits, out);
}

static int make_header(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_header(env, &limits, out);
}

static int make_auto(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_auto(env, &limits, out);
}

static int make_server(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_http(env, &config, out);
}

static int make_client(mrpc_env *env, mrpc_framing **out) {
  int rc = mrpc_framing_http_client(env, &limits, "h", "/", out);
  for (int i = 0; rc == MRPC_OK && i < 3; i++)
    rc = (*out)->vt->push(*out, "{}", 2);
  return rc;
}

static int make_websocket(mrpc_env *env, mrpc_framing **out) {
  static const mrpc_websocket_config both = {.binary = true};
  mrpc_websocket *w;
  int rc = mrpc_websocket_new(env, &limits, &both, &w);
  if (rc == MRPC_OK) *out = &w->base;
  return rc;
}

/* Its key is always the same, so that what it sends is. */
static int make_ws_client(mrpc_env *env, mrpc_framing **out) {
  int rc = make_websocket(env, out);
  mrpc_websocket *w = (mrpc_websocket *)*out;
  if (rc == MRPC_OK) w->mask = mrpc_mem_new(&env->mem, sizeof *w->mask);
  return rc;
}

static int make_opening(mrpc_env *env, mrpc_framing **out) {
  int rc = mrpc_framing_ws_client(env, &limits, "h", "/", NULL, out);
  if (rc == MRPC_OK) mrpc_buf_truncate(&(*out)->out, 0);
  return rc;
}

/* Some calls are notifications, the others are answered with what they
 * said. */
static void answer(feed *t, const mrpc_message *msg, int rc) {
  (void)rc;
  if (t->f->vt->headers) t->f->vt->headers(t->f);
  if (msg->len && msg->bytes[0] == 'n')
    t->f->vt->none(t->f, msg->token, MRPC_OUTCOME_SILENT);
  else
    t->f->vt->put(t->f, msg->token, msg->bytes, msg->len,
                  MRPC_OUTCOME_ANSWERED);
}

/* Whether 100 Continue is sent depends on what has arrived, so it doesn't
 * count; nor does the reason of a refusal, which may be found in two ways. */
static void show(feed *t, const char *bytes, size_t len) {
  static const char skip[] = "HTTP/1.1 100 Continue\r\n\r\n";
  static const char refused[] = "Connection: close\r\n";
  const size_t n = sizeof skip - 1;
  for (size_t at = 0; at < len; at++) {
    if (len - at >= n && !memcmp(bytes + at, skip, n)) at += n;
    if (at == len) break;
    if (len - at >= sizeof refused - 1 &&
        !memcmp(bytes + at, refused, sizeof refused - 1))
      break;
    feed_add(&t->log, bytes + at, 1);
  }
  feed_adds(&t->log, "\n");
}

static void strip_reason(char *log) {
  char *at = strstr(log, "\nproto: ");
  if (!strncmp(log, "proto: ", 7)) at = log;
  if (!at) return;
  char *end = strchr(at + 1, '\n');
  if (end) memmove(at, end, strlen(end) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int (*const makers[])(mrpc_env *, mrpc_framing **) = {
      make_line,   make_header,    make_auto,      make_server,
      make_client, make_websocket, make_ws_client, make_opening};
  if (size < 2) return 0;
  feed t = {.make = makers[data[0] % 8], .answer = answer, .show = show};
  const char *bytes = (const char *)data + 2;
  size -= 2;
  size_t step = data[1] % 32 + 1, cut = data[1] / 32 * size / 8;
  char *pieces = feed_play(t, bytes, size, cut, step);
  char *whole = feed_play(t, bytes, size, size, 1);
  strip_reason(pieces);
  strip_reason(whole);
  if (strcmp(pieces, whole) != 0) {
    printf("pieces of %zu behind %zu:\n%s\nwhole:\n%s\n", step, cut, pieces,
           whole);
    abort();
  }
  free(pieces);
  free(whole);
  return 0;
}
