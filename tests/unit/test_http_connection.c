/* SPDX-License-Identifier: MIT
 *
 * HTTP, server side, over time: the order of answers, deadlines, draining,
 * 100 Continue, header fields, half-close. */
#include "http.h"
#include "http/server.h"

#define SECONDS(n) ((uint64_t)((n)*1e9))

/* The bodies and statuses of what was sent so far. */
static void sent(feed *t, const char *want, const char *name) {
  feed text = {0};
  feed_adds(&text.log, "");
  for (size_t at = 0; at < t->f->out.len;) {
    const char *from = t->f->out.data + at;
    size_t left = t->f->out.len - at;
    const char *body = (const char *)memmem(from, left, "\r\n\r\n", 4) + 4;
    const char *length = memmem(from, (size_t)(body - from), "Length: ", 8);
    size_t len = length ? strtoul(length + 8, NULL, 10) : 0;
    feed_add(&text.log, from + 9, 3);
    feed_adds(&text.log, " ");
    if (from[9] == '2') feed_add(&text.log, body, len);
    feed_adds(&text.log, "|");
    at += (size_t)(body - from) + len;
  }
  is_str(text.log.at, want, name);
  free(text.log.at);
}

static bool has_sent(const feed *t, const char *text) {
  const mrpc_buf *out = &t->f->out;
  return memmem(out->data, out->len, text, strlen(text)) != NULL;
}

static void test_order(void) {
  feed t = later();
  feed_open(&t);
  play(&t, CALL CALL CALL "GET /healthz HTTP/1.1\r\n" HOST "\r\n");
  ok(count == 3, "9112 9.3.2: three calls wait");
  put(&t, 2, "c");
  put(&t, 1, "b");
  sent(&t, "", "later answers are held back");
  ok(t.f->held > 0, "what is held is counted");
  put(&t, 0, "a");
  sent(&t, "200 a|200 b|200 c|200 ok\n|", "all leave in order");
  ok(t.f->held == 0, "nothing is held any more");
  put(&t, 0, "x");
  put(&t, 2, "x");
  sent(&t, "200 a|200 b|200 c|200 ok\n|", "a second answer is ignored");
  play(&t, CALL);
  put(&t, 3, "d");
  sent(&t, "200 a|200 b|200 c|200 ok\n|200 d|", "and so on");
  end(&t);
}

static void test_order_and_close(void) {
  feed t = later();
  feed_open(&t);
  play(&t,
       CALL POST(JSON "Connection: close\r\nContent-Length: 1\r\n", "1") CALL);
  ok(count == 2, "nothing is read behind Connection: close");
  put(&t, 1, "b");
  ok(!t.f->closing, "the connection waits for the earlier answer");
  put(&t, 0, "a");
  sent(&t, "200 a|200 b|", "then both leave");
  ok(t.f->closing, "and it closes");
  end(&t);
  feed_open(&t);
  play(&t, CALL "rubbish\r\n");
  ok(!t.f->closing && !t.dead, "a bad request behind a call waits for it");
  play(&t, CALL);
  ok(count == 1, "nothing is read behind it");
  put(&t, 0, "a");
  sent(&t, "200 a|400 |", "its 400 follows");
  ok(t.f->closing, "and the connection closes");
  end(&t);
}

static void test_many(void) {
  feed t = later();
  feed_open(&t);
  for (int i = 0; i < 80; i++) play(&t, CALL);
  ok(count == 68, "in_flight and 64 more may wait");
  for (size_t i = count; i-- > 0;) put(&t, i, "a");
  ok(t.f->closing, "the next one is refused and the connection closed");
  ok(has_sent(&t, "503 too many requests are waiting"), "with 503");
  end(&t);
}

/* The room for a crowd isn't kept. */
static void test_crowd(void) {
  feed t = later();
  feed_open(&t);
  const mrpc_http_order *order = &((mrpc_http_server *)t.f)->order;
  for (int i = 0; i < 60; i++) play(&t, CALL);
  ok(order->cap == 64, "sixty requests wait");
  for (size_t i = 0; i < count; i++) put(&t, i, "a");
  ok(order->cap == 0, "their places are given back");
  play(&t, CALL);
  put(&t, 60, "b");
  ok(t.f->out.data[t.f->out.len - 1] == 'b', "and made anew");
  end(&t);
}

static void test_outcomes(void) {
  feed t = later();
  feed_open(&t);
  play(&t, CALL CALL CALL CALL);
  t.f->vt->none(t.f, tokens[0], MRPC_OUTCOME_DENIED);
  t.f->vt->put(t.f, tokens[1], "{}", 2, MRPC_OUTCOME_LIMITED);
  t.f->vt->put(t.f, tokens[2], "{}", 2, MRPC_OUTCOME_DRAINING);
  t.f->vt->none(t.f, tokens[3], MRPC_OUTCOME_SILENT);
  sent(&t, "401 |429 |503 |204 |", "outcomes are statuses");
  ok(has_sent(&t, "WWW-Authenticate: "), "9110 15.5.2: a challenge");
  end(&t);
}

static void test_continue(void) {
  feed t = later();
  feed_open(&t);
#define EXPECT "Expect: 100-continue\r\nContent-Length: 3\r\n"
  play(&t, POST(JSON EXPECT, ""));
  sent(&t, "100 |", "9110 10.1.1: 100 when the body is awaited");
  play(&t, "[1]");
  put(&t, 0, "a");
  sent(&t, "100 |200 a|", "then the answer");
  play(&t, POST(JSON EXPECT, "[1]"));
  put(&t, 1, "b");
  sent(&t, "100 |200 a|200 b|", "no 100 when the body is there");
  play(&t, CALL POST(JSON EXPECT, ""));
  sent(&t, "100 |200 a|200 b|", "no 100 before earlier answers");
  put(&t, 2, "c");
  sent(&t, "100 |200 a|200 b|200 c|100 |", "but behind them");
  end(&t);
  feed_open(&t);
  play(&t, "POST / HTTP/1.0\r\n" HOST JSON EXPECT "\r\n");
  sent(&t, "", "no 100 in HTTP/1.0");
  end(&t);
  feed_open(&t);
  play(&t, POST("Content-Type: text/plain\r\n" EXPECT, ""));
  sent(&t, "415 |", "a refused one gets its answer at once");
  ok(t.f->closing, "and the connection closes");
  end(&t);
}

static void test_drain(void) {
  feed t = later();
  feed_open(&t);
  t.f->vt->drain(t.f);
  ok(t.f->closing, "draining closes an idle connection");
  end(&t);
  feed_open(&t);
  play(&t, CALL CALL);
  t.f->vt->drain(t.f);
  put(&t, 0, "a");
  ok(!t.f->closing, "calls in flight are waited for");
  put(&t, 1, "b");
  ok(t.f->closing, "the last answer closes");
  ok(has_sent(&t, "Connection: close\r\n"), "and says so");
  end(&t);
  feed_open(&t);
  play(&t, "GET /healthz HTTP/1.1\r\n");
  t.f->vt->drain(t.f);
  play(&t, HOST "\r\n");
  sent(&t, "503 |", "the health check says it");
  ok(t.f->closing, "and closes");
  end(&t);
  feed_open(&t);
  play(&t, CALL "P");
  t.f->vt->drain(t.f);
  put(&t, 0, "a");
  play(&t, CALL + 1);
  sent(&t, "200 a|503 |", "a request that was being read gets 503");
  end(&t);
}

static void test_deadlines(void) {
  feed t = later();
  t.now = SECONDS(1);
  feed_open(&t);
  play(&t, "POST ");
  ok(t.f->vt->deadline(t.f) == SECONDS(3), "header_time for a header block");
  t.now = SECONDS(2);
  play(&t, "/ HTTP/1.1\r\n");
  ok(t.f->vt->deadline(t.f) == SECONDS(3), "which isn't renewed");
  play(&t, HOST JSON "Content-Length: 3\r\n\r\n");
  ok(t.f->vt->deadline(t.f) == SECONDS(7), "body_time for a body");
  play(&t, "[1");
  t.f->vt->tick(t.f, SECONDS(7) - 1);
  sent(&t, "", "a tick before it does nothing");
  t.f->vt->tick(t.f, SECONDS(7));
  sent(&t, "408 |", "9110 15.5.9: then 408");
  ok(t.f->closing && t.f->error, "and the connection closes");
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "no deadline is left");
  end(&t);
  t.now = 0;
  feed_open(&t);
  play(&t, CALL "P");
  t.f->vt->tick(t.f, SECONDS(2));
  ok(!t.f->closing, "408 waits for the answers before it");
  put(&t, 0, "a");
  sent(&t, "200 a|408 |", "and follows them");
  end(&t);
}

/* Lets the time pass as a peer would, up to `until`; says when it closed. */
static uint64_t wait_close(feed *t, uint64_t until) {
  for (;;) {
    uint64_t at = t->f->vt->deadline(t->f);
    if (at > until) return UINT64_MAX;
    t->f->vt->tick(t->f, at);
    if (t->f->closing) return at;
  }
}

static void test_idle(void) {
  feed t = later();
  t.now = 0;
  feed_open(&t);
  ok(wait_close(&t, SECONDS(100)) == SECONDS(40), "idle_time of nothing");
  sent(&t, "", "closes without a word");
  end(&t);
  feed_open(&t);
  play(&t, CALL);
  ok(wait_close(&t, SECONDS(100)) == UINT64_MAX, "a call in flight isn't idle");
  t.now = SECONDS(105);
  put(&t, 0, "a");
  play(&t, "\r\n");
  uint64_t at = wait_close(&t, SECONDS(200));
  ok(at >= SECONDS(145) && at <= SECONDS(155),
     "idle_time behind an answer, and a quarter at most");
  end(&t);
  t.now = 0;
  feed_open(&t);
  while (!t.f->closing && t.now < SECONDS(100)) {
    play(&t, "\r\n");
    t.now = t.f->vt->deadline(t.f);
    t.f->vt->tick(t.f, t.now);
  }
  ok(t.now == SECONDS(40), "empty lines keep no connection alive");
  end(&t);
}

static const char *field(const mrpc_header_field *list, const char *name) {
  for (; list && list->name; list++)
    if (!strcmp(list->name, name)) return list->value;
  return "(none)";
}

static void test_fields(void) {
  feed t = later();
  feed_open(&t);
  ok(!t.f->vt->headers(t.f), "no fields before the first request");
  play(&t,
       POST(JSON "X-Key: \t a b \r\nX-None:\r\nContent-Length: 3\r\n", "[1"));
  const mrpc_header_field *list = t.f->vt->headers(t.f);
  is_str(field(list, "x-key"), "a b", "a field without the space around");
  is_str(field(list, "x-none"), "", "an empty one");
  is_str(field(list, "host"), "localhost", "the first one");
  play(&t, "]");
  size_t consumed;
  mrpc_message msg;
  t.f->vt->recv(t.f, CALL, strlen(CALL), &consumed, &msg);
  list = t.f->vt->headers(t.f);
  is_str(field(list, "x-key"), "(none)", "the next request has its own");
  is_str(field(list, "content-length"), "3", "the last one");
  ok(t.f->vt->headers(t.f) == list, "they are made once");
  t.f->vt->recv(t.f, CALL, strlen(CALL), &consumed, &msg);
  is_str(field(t.f->vt->headers(t.f), "content-type"), "application/json",
         "a repeated head has them too");
  end(&t);
}

static void test_eof(void) {
  feed t = later();
  feed_open(&t);
  play(&t, CALL);
  feed_eof(&t);
  ok(!t.f->closing, "half-close: the answer is waited for");
  put(&t, 0, "a");
  sent(&t, "200 a|", "and sent");
  ok(t.f->closing, "then the connection closes");
  end(&t);
}

int main(void) {
  test_order();
  test_order_and_close();
  test_many();
  test_crowd();
  test_outcomes();
  test_continue();
  test_drain();
  test_deadlines();
  test_idle();
  test_fields();
  test_eof();
  return tap_finish();
}
