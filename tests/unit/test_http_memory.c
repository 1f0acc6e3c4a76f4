/* SPDX-License-Identifier: MIT
 *
 * HTTP, server side: what is copied, what a repeated header block saves, what
 * an idle connection costs, and what happens when memory ends. */
#include "http.h"
#include "oom.h"

static uint64_t tokens[128];
static size_t count;

static int open_server(mrpc_env *env, mrpc_framing **out) {
  count = 0;
  return make(env, out);
}

/* Notes the token for a later answer. */
static void note(feed *t, const mrpc_message *msg, int rc) {
  (void)t;
  (void)rc;
  if (count < 128) tokens[count++] = msg->token;
}

static feed later(void) {
  return (feed){.make = open_server, .answer = note};
}

static void put(feed *t, size_t i, const char *text) {
  t->f->vt->put(t->f, tokens[i], text, strlen(text), MRPC_OUTCOME_ANSWERED);
}

static void play(feed *t, const char *bytes) {
  feed_piece(t, bytes, strlen(bytes));
}

static void end(feed *t) {
  free(feed_close(t));
}

static void test_copies(void) {
  feed t = later();
  feed_open(&t);
  const char *bytes = CALL CALL;
  size_t len = strlen(bytes), consumed;
  for (int i = 0; i < 2; i++) {
    mrpc_message msg = {0};
    int rc = t.f->vt->recv(t.f, bytes, len, &consumed, &msg);
    ok(rc == MRPC_OK && consumed == strlen(CALL) && msg.len == 3 &&
           msg.bytes == bytes + consumed - 3,
       "a whole body isn't copied");
    bytes += consumed;
    len -= consumed;
  }
  mrpc_message msg = {0};
  t.f->vt->recv(t.f, POST(JSON "Content-Length: 3\r\n", "[7]"), strlen(CALL),
                &consumed, &msg);
  is_bytes(msg.bytes, msg.len, "[7]", 3, "the same head, another body");
  t.f->vt->recv(t.f, POST(JSON "Content-Length: 2\r\n", "[7]"), strlen(CALL),
                &consumed, &msg);
  is_bytes(msg.bytes, msg.len, "[7", 2, "almost the same head");
  end(&t);
}

/* Known head or not: the same answers. */
static void test_repeated(void) {
  feed t = later();
  feed_open(&t);
#define APP "Origin: https://app.example.com\r\n"
#define SHARED POST(JSON APP "Content-Length: 3\r\n", "[1]")
  play(&t, SHARED SHARED CALL CALL SHARED);
  for (size_t i = 0; i < count; i++) put(&t, i, "a");
  size_t echoes = 0;
  const char *at = t.f->out.data;
  mrpc_buf_addc(&t.f->out, '\0');
  while ((at = strstr(at, "Access-Control-Allow-Origin"))) at++, echoes++;
  ok(count == 5 && echoes == 3, "a repeated head keeps its origin");
  end(&t);
  feed_open(&t);
  play(&t, CALL CALL "P");
  t.f->vt->drain(t.f);
  play(&t, CALL + 1);
  ok(count == 2, "a repeated head is refused while draining");
  end(&t);
}

/* What an idle connection holds in memory after a call. */
static void test_memory(void) {
  oom o = {0};
  mrpc_env_config env_config = {.alloc = oom_alloc, .alloc_ud = &o};
  mrpc_env *env;
  mrpc_framing *f;
  mrpc_message msg;
  size_t consumed;
  mrpc_env_new(&env_config, &env);
  size_t before = o.live;
  mrpc_framing_http(env, &config, &f);
  printf("# a new connection: %zu bytes\n", o.live - before);
  for (const char *at = CALL; *at; at++) f->vt->recv(f, at, 1, &consumed, &msg);
  f->vt->put(f, 0, "{}", 2, MRPC_OUTCOME_ANSWERED);
  mrpc_buf_clear(&f->out);
  printf("# after a call: %zu bytes\n", o.live - before);
  ok(o.live - before < 2048, "an idle connection costs less than 2 KiB");
  size_t calls = o.count;
  for (int i = 0; i < 3; i++) {
    f->vt->recv(f, CALL, strlen(CALL), &consumed, &msg);
    f->vt->put(f, msg.token, "{}", 2, MRPC_OUTCOME_ANSWERED);
    mrpc_buf_truncate(&f->out, 0);
  }
  ok(o.count - calls <= 1, "further calls allocate nothing");
  f->vt->free(f);
  mrpc_env_free(env);
}

static void scenario(oom *o) {
  mrpc_env_config env_config = {.alloc = oom_alloc, .alloc_ud = o};
  static const char *const parts[] = {
      CALL,
      "POST / HTT",
      "P/1.1\r\n" HOST JSON "Content-Length: 3\r\n\r\n[",
      "1]",
      CALL "GET / HTTP/1.1\r\n" HOST "\r\n",
      CALL,
      POST(JSON "Transfer-Encoding: chunked\r\n",
           "1\r\n1\r\n1\r\n2\r\n0\r\n\r\n"),
      "rubbish\r\n"};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  if (mrpc_env_new(&env_config, &env)) return;
  int rc = mrpc_framing_http(env, &config, &f);
  count = 0;
  for (size_t i = 0; !rc && i < sizeof parts / sizeof *parts; i++) {
    size_t consumed, len = strlen(parts[i]);
    for (size_t at = 0; at < len && !f->closing; at += consumed) {
      if (f->vt->recv(f, parts[i] + at, len - at, &consumed, &msg)) continue;
      tokens[count++] = msg.token;
      f->vt->headers(f);
    }
  }
  while (f && count)
    f->vt->put(f, tokens[--count], "{}", 2, MRPC_OUTCOME_ANSWERED);
  if (f) f->vt->free(f);
  mrpc_env_free(env);
}

int main(void) {
  test_copies();
  test_repeated();
  test_memory();
  oom_each("http", scenario, false);
  oom_each("http", scenario, true);
  return tap_finish();
}
