/* SPDX-License-Identifier: MIT
 *
 * HTTP, server side: what is copied, what a repeated header block saves, what
 * an idle connection costs, and what happens when memory ends. */
#include "http.h"
#include "oom.h"

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

/* Behind a known head: the next one differs in its length only. */
static void test_lengths(void) {
  feed t = {.make = open_server, .answer = answer, .show = show_statuses};
#define SIZED(length, body) POST(JSON CL length "\r\n", body)
  feed_is(&t, CALL SIZED("12", "[1,2,3,4,56]") SIZED("2", "[]") CALL,
          "message [1]\nmessage [1,2,3,4,56]\nmessage []\nmessage [1]\n"
          "out 200 200 200 200\nclosing\n",
          "other lengths");
  feed_is(&t, CALL SIZED("0", "") SIZED("0003", "[1]"),
          "message [1]\nmessage \nmessage [1]\nout 200 200 200\nclosing\n",
          "no length, leading zeros");
  feed_is(&t, CALL SIZED("41", "["),
          "message [1]\nproto: the body is over the limit\n"
          "out 200 413 close\nclosing\n",
          "a length over the limit");
  feed_is(&t, CALL SIZED("4294967299", "[1]"),
          "message [1]\nproto: the body is over the limit\n"
          "out 200 413 close\nclosing\n",
          "one beyond 32 bits");
  feed_is(&t, CALL SIZED("+3", "[1]"),
          "message [1]\nproto: Invalid character in Content-Length\n"
          "out 200 400 close\nclosing\n",
          "a plus sign");
  feed_is(&t, CALL SIZED("", "[1]"),
          "message [1]\nproto: Empty Content-Length\n"
          "out 200 400 close\nclosing\n",
          "none at all");
  feed_is(&t, CALL POST(JSON CL "3 \r\n", "[1]") CALL,
          "message [1]\nmessage [1]\nmessage [1]\n"
          "out 200 200 200\nclosing\n",
          "a space behind it");
  feed_is(&t, CALL POST(JSON CL "3\r\nHost: x\r\n", "[1]"),
          "message [1]\n"
          "proto: a header field that may stand once stands twice\n"
          "out 200 400 close\nclosing\n",
          "a field more");
}

int main(void) {
  test_lengths();
  test_copies();
  test_repeated();
  test_memory();
  oom_each("http", scenario, false);
  oom_each("http", scenario, true);
  return tap_finish();
}
