/* SPDX-License-Identifier: MIT
 *
 * The line framing: src/framing/line.c, and auto.c where it becomes one. */
#include "feed.h"
#include "framing/stream.h"
#include "oom.h"

enum { MAX = 8 };

static const mrpc_limits limits = {.message = MAX, .body_time = 5};

static int make(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_line(env, &limits, out);
}

static int make_plain(mrpc_env *env, mrpc_framing **out) {
  return mrpc_stream_new(env, &limits, &mrpc_line_vt, MRPC_LINE_PLAIN, out);
}

static int make_noisy(mrpc_env *env, mrpc_framing **out) {
  return mrpc_stream_new(env, NULL, &mrpc_line_vt, MRPC_LINE_NOISY, out);
}

static int make_noisy_short(mrpc_env *env, mrpc_framing **out) {
  return mrpc_stream_new(env, &limits, &mrpc_line_vt, MRPC_LINE_NOISY, out);
}

static int make_wide(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_line(env, NULL, out);
}

static int make_auto(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_auto(env, NULL, out);
}

static void test_lines(const feed *t) {
  feed_is(t, "{1}\n{2}\n", "message {1}\nmessage {2}\n", "two lines");
  feed_is(t, "{1}\r\n[2]\r\n", "message {1}\nmessage [2]\n", "CRLF");
  feed_is(t, "\n\r\n{1}\n\n \t \n{2}\n\r\n", "message {1}\nmessage {2}\n",
          "empty and blank lines are skipped");
  feed_is(t, "{1}\n{2}", "message {1}\nmessage {2}\n",
          "a last line without newline");
  feed_is(t, "{1}\n{2}\r", "message {1}\nmessage {2}\n",
          "a last line with half a line end");
  feed_is(t, "  {1}\n", "message {1}\n", "leading white space");
  feed_is(t, "{1}\nx\n7\n", "message {1}\nmessage x\nmessage 7\n",
          "later lines needn't begin as objects");
  feed_is(t, "", "", "nothing");
  feed_is(t, "\n \n", "", "only blank lines");
  feed_is_n(t, "{\0}\n", 4, "message {\\0}\n", "a NUL is a byte");
}

static void test_limit(void) {
  feed t = {.make = make};
  feed_is(&t, "{234567}\n{2}\n", "message {234567}\nmessage {2}\n",
          "a line of limits.message bytes");
  feed_is(&t, "{234567}\r\n{2}\r\n", "message {234567}\nmessage {2}\n",
          "the carriage return doesn't count");
  feed_is(&t, "{2345678}\n{2}\n", "limit\nmessage {2}\n", "one byte more");
  feed_is(&t, "{2345678}\r\n{2}\n", "limit\nmessage {2}\n", "and with CRLF");
  feed_is(&t, "{234567}\r\r\n{2}\n", "limit\nmessage {2}\n",
          "the first of two carriage returns counts");
  feed_is(&t, "{23456789012345678901234567890}\n{2}\n", "limit\nmessage {2}\n",
          "four times the limit");
  feed_is(&t, "{1}\n{234567890", "message {1}\nlimit\n",
          "over the limit at the end of input");
  feed_is(&t, "{234567890}\n{234567890}\n{1}\n", "limit\nlimit\nmessage {1}\n",
          "twice");
}

static void test_noise(void) {
  feed t = {.make = make_noisy};
  feed_is(&t, "{\"a\":1}\n[{}]\n{}\n[]\n",
          "message {\"a\":1}\nmessage [{}]\nmessage {}\nmessage []\n",
          "what begins as messages do");
  feed_is(&t, "{ \"a\":1}\n[ \t{}]\n", "message { \"a\":1}\nmessage [ \t{}]\n",
          "with white space, too");
  feed_is(&t, "ready\r\n{}\n7\n\"x\"\n{}\n",
          "noise ready\nmessage {}\nnoise 7\nnoise \"x\"\nmessage {}\n",
          "other lines are told as what they are");
  feed_is(&t, "[info] up\n{ 1 }\n[\n{\n[1,2]\n",
          "noise [info] up\nnoise { 1 }\nnoise [\nnoise {\nnoise [1,2]\n",
          "a bracket alone is no beginning");
  feed_is(&t, "{}\nbye", "message {}\nnoise bye\n", "at the end of input");
  feed_is(&t, "GET / HTTP/1.1\n", "noise GET / HTTP/1.1\n", "a request");
  feed long_one = {.make = make_noisy_short};
  feed_is(&long_one, "123456789012345678\n{}\n[{234567}]\n",
          "noise (a line over limits.message)\nmessage {}\nlimit\n",
          "what is too long is one or the other");
}

static void test_guard(void) {
  feed t = {.make = make_wide};
  feed_is(&t, "POST / HTTP/1.1\r\nHost: x\r\n\r\n{1}\n",
          "proto: the first line isn't JSON\n", "a browser's request");
  feed_is(&t, "hello\n{1}\n", "proto: the first line isn't JSON\n",
          "a first line that isn't JSON");
  feed_is(&t, "\r\n x\n", "proto: the first line isn't JSON\n",
          "after blank ones, too");
  feed_is(&t, "1\n", "message 1\n", "a number is JSON");
  feed_is(&t, "\"x\"\n-1\n", "message \"x\"\nmessage -1\n", "and a string");
  feed_is(&t, "null\n", "message null\n", "and a word");
  feed_is(&t, "trace / HTTP/1.1\n", "proto: an HTTP request on a line socket\n",
          "but no request");
  const char *why = "message {1}\nproto: an HTTP request on a line socket\n";
  feed_is(&t, "{1}\nPOST / HTTP/1.1\r\n{2}\n", why, "a request at any line");
  feed_is(&t, "{1}\npatch /x HTTP/1.0\n{2}\n", why, "with any method");
  feed_is(&t, "{1}\nGET /a b HTTP/2\n", why, "and any target");
  feed_is(&t, "{1}\nGET / HTTP/1.1", why, "at the end of input");
  feed_is(&t, "{1}\n{\"x\": \"GET / HTTP/1.1\n",
          "message {1}\nmessage {\"x\": \"GET / HTTP/1.1\n",
          "an object that mentions one is none");
  feed_is(&t, "{1}\nHTTP/1.1\n", "message {1}\nmessage HTTP/1.1\n",
          "a version alone is none");
  t.make = make;
  feed_is(&t, "{1}\nPOST /0123456789 HTTP/1.1\n{1}\n",
          "message {1}\nproto: an overlong line isn't JSON\n",
          "a request line over the limit");
}

static void test_plain(void) {
  feed t = {.make = make_plain};
  feed_is(&t, "x\n{1}\n", "message x\nmessage {1}\n",
          "without rules a first line may be anything");
  feed_is(&t, "GET / HTTP/1.1\n", "limit\n", "and overlong requests too");
}

static void test_auto(void) {
  feed t = {.make = make_auto};
  test_lines(&t);
  feed_is(&t, "POST / HTTP/1.1\r\n", "proto: the first line isn't JSON\n",
          "auto: what is neither falls under the rules of lines");
  feed_open(&t);
  ok(!t.f->vt->can_push(t.f), "auto: no push before the first byte");
  feed_piece(&t, "{", 1);
  is_str(t.f->vt->name, "line", "auto: a brace means lines");
  ok(t.f->vt->can_push(t.f), "auto: now it can push");
  free(feed_close(&t));
}

/* The message stands where it was received. */
static void test_copies(void) {
  feed t = {.make = make_wide};
  feed_open(&t);
  const char *bytes = "{1}\n{2}\n";
  size_t consumed;
  mrpc_message msg;
  t.f->vt->recv(t.f, bytes, 8, &consumed, &msg);
  ok(consumed == 4 && msg.bytes == bytes, "a whole line isn't copied");
  t.f->vt->recv(t.f, bytes + 4, 4, &consumed, &msg);
  ok(consumed == 4 && msg.bytes == bytes + 4, "nor is the next one");
  free(feed_close(&t));
}

static void test_output(void) {
  feed t = {.make = make_wide};
  feed_open(&t);
  t.f->vt->put(t.f, 0, "{1}", 3, MRPC_OUTCOME_ANSWERED);
  t.f->vt->none(t.f, 0, MRPC_OUTCOME_SILENT);
  t.f->vt->push(t.f, "{\n\"a\":\n2\n}", 10);
  is_bytes(t.f->out.data, t.f->out.len, "{1}\n{ \"a\": 2 }\n", 15,
           "one line each, newlines inside become spaces");
  free(feed_close(&t));
}

static void test_deadline(void) {
  feed t = {.make = make};
  feed_open(&t);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "an idle line has no deadline");
  t.now = 100;
  feed_piece(&t, "{1}\n{", 5);
  ok(t.f->vt->deadline(t.f) == 5000000100, "half a line has body_time");
  t.now = 4000000000;
  feed_piece(&t, "2", 1);
  ok(t.f->vt->deadline(t.f) == 5000000100, "more of it gives no more time");
  t.f->vt->tick(t.f, 4000000000);
  ok(!t.f->closing, "a tick before it does nothing");
  feed_piece(&t, "}\n", 2);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "its end takes the deadline away");
  feed_piece(&t, "{23456789", 9);
  ok(t.f->vt->deadline(t.f) == 9000000000, "a skipped line has one too");
  t.f->vt->tick(t.f, 9000000000);
  ok(t.f->closing && t.f->error, "what is due closes the connection");
  free(feed_close(&t));
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  size_t consumed;
  mrpc_message msg;
  if (mrpc_env_new(&config, &env)) return;
  if (!mrpc_framing_line(env, NULL, &f)) {
    f->vt->recv(f, "{", 1, &consumed, &msg);
    f->vt->recv(f, "}\n[", 3, &consumed, &msg);
    f->vt->put(f, 0, "{}", 2, MRPC_OUTCOME_ANSWERED);
    f->vt->push(f, "{}", 2);
    f->vt->eof(f, &msg);
    f->vt->free(f);
  }
  mrpc_env_free(env);
}

int main(void) {
  feed wide = {.make = make_wide};
  test_lines(&wide);
  test_limit();
  test_guard();
  test_noise();
  test_plain();
  test_auto();
  test_copies();
  test_output();
  test_deadline();
  oom_each("line", scenario, false);
  oom_each("line", scenario, true);
  return tap_finish();
}
