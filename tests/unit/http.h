/* SPDX-License-Identifier: MIT
 *
 * What the tests of HTTP share: requests in pieces, answers in short. */
#ifndef MRPC_TEST_HTTP_H
#define MRPC_TEST_HTTP_H

#include "feed.h"

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"
#define POST(fields, body) "POST / HTTP/1.1\r\n" HOST fields "\r\n" body
#define CL "Content-Length: "
#define CHUNKED(body) POST(JSON "Transfer-Encoding: chunked\r\n", body)
#define CALL POST(JSON "Content-Length: 3\r\n", "[1]")

__attribute__((unused)) static void show_text(feed *t, const char *from,
                                              const char *to) {
  if (to > from) feed_add(&t->log, from, (size_t)(to - from));
}

/* One line: "out 200 200 405 close". */
__attribute__((unused)) static void show_statuses(feed *t, const char *bytes,
                                                  size_t len) {
  const char *at = bytes, *end = bytes + len;
  feed_adds(&t->log, "out");
  while (at < end) {
    const char *body = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
    if (!body || memcmp(at, "HTTP/1.1 ", 9) != 0) break;
    size_t head = (size_t)(body - at) + 4;
    const char *length = memmem(at, head, "Content-Length: ", 16);
    show_text(t, at + 8, at + 12);
    if (memmem(at, head, "Connection: close", 17)) feed_adds(&t->log, " close");
    at += head + (length ? strtoul(length + 16, NULL, 10) : 0);
  }
  feed_adds(&t->log, at == end ? "\n" : " GARBAGE\n");
}

/* A small server. */
static const mrpc_limits limits = {.message = 40,
                                   .header = 250,
                                   .in_flight = 4,
                                   .header_time = 2,
                                   .body_time = 5,
                                   .idle_time = 40};
static const char *const hosts[] = {"api.example.com", "[fe80::1]:80", NULL};
static const char *const origins[] = {"https://app.example.com", "*", NULL};
__attribute__((unused)) static mrpc_http_config config = {.limits = &limits,
                                                          .bound = "127.0.0.1",
                                                          .hosts = hosts,
                                                          .origins = origins};

__attribute__((unused)) static int make(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_http(env, &config, out);
}

/* "n..." is a notification, "late" is never answered. */
__attribute__((unused)) static void answer(feed *t, const mrpc_message *msg,
                                           int rc) {
  (void)rc;
  if (msg->len && *msg->bytes == 'n')
    t->f->vt->none(t->f, msg->token, MRPC_OUTCOME_SILENT);
  else if (!msg->len || *msg->bytes != 'l')
    t->f->vt->put(t->f, msg->token, "{}", 2, MRPC_OUTCOME_ANSWERED);
}

__attribute__((unused)) static feed server(void) {
  return (feed){.make = make, .answer = answer, .show = show_statuses};
}

/* A server whose calls are answered later: tokens[i] is the i-th. */
__attribute__((unused)) static uint64_t tokens[128];
__attribute__((unused)) static size_t count;

__attribute__((unused)) static int open_server(mrpc_env *env,
                                               mrpc_framing **out) {
  count = 0;
  return make(env, out);
}

/* Notes the token for a later answer. */
__attribute__((unused)) static void note(feed *t, const mrpc_message *msg,
                                         int rc) {
  (void)t;
  (void)rc;
  if (count < 128) tokens[count++] = msg->token;
}

__attribute__((unused)) static feed later(void) {
  return (feed){.make = open_server, .answer = note};
}

__attribute__((unused)) static void put(feed *t, size_t i, const char *text) {
  t->f->vt->put(t->f, tokens[i], text, strlen(text), MRPC_OUTCOME_ANSWERED);
}

__attribute__((unused)) static void play(feed *t, const char *bytes) {
  feed_piece(t, bytes, strlen(bytes));
}

__attribute__((unused)) static void end(feed *t) {
  free(feed_close(t));
}

/* The failure line names the rule; only that it is refused is checked. */
__attribute__((unused)) static bool refuses(const feed *t, const char *bytes,
                                            size_t len, const char *status) {
  char want[64];
  snprintf(want, sizeof want, "out %s close\nclosing\n", status);
  for (size_t cut = 0; cut <= len + 1; cut++) {
    char *got = cut > len ? feed_play(*t, bytes, len, 0, 1)
                          : feed_play(*t, bytes, len, cut, len);
    const char *out = strstr(got, "\nout ");
    bool same = out && !strcmp(out + 1, want) && !strncmp(got, "proto: ", 7);
    if (!same) printf("# cut at %zu of %zu: %s\n", cut, len, got);
    free(got);
    if (!same) return false;
  }
  return true;
}

#define REFUSED(status, bytes, name)                                        \
  do {                                                                      \
    feed t_ = server();                                                     \
    ok(refuses(&t_, "" bytes, sizeof(bytes) - 1, status), "%s: %s", status, \
       name);                                                               \
  } while (0)

#endif
