/* SPDX-License-Identifier: MIT
 *
 * Flow control and order, over every framing that carries both directions:
 * limits stop reading and resume, nothing is lost, and what one peer sends is
 * started in the order sent. */
#include "talk.h"
#include "ws.h"

static int make_ws(mrpc_env *env, const mrpc_limits *l, mrpc_framing **out) {
  mrpc_websocket *w;
  int rc = mrpc_websocket_new(env, l, NULL, &w);
  if (rc == MRPC_OK) *out = &w->base;
  return rc;
}

static void put_line(feed_text *to, const char *text) {
  feed_adds(to, text);
  feed_adds(to, "\n");
}

static void put_header(feed_text *to, const char *text) {
  char head[40];
  snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(text));
  feed_adds(to, head);
  feed_adds(to, text);
}

static void put_frame(feed_text *to, const char *text) {
  frame(to, TEXT, text);
}

typedef struct way {
  const char *name;
  int (*make)(mrpc_env *, const mrpc_limits *, mrpc_framing **);
  void (*put)(feed_text *to, const char *text);
} way;

static const way ways[] = {{"line", mrpc_framing_line, put_line},
                           {"header", mrpc_framing_header, put_header},
                           {"auto", mrpc_framing_auto, put_header},
                           {"ws", make_ws, put_frame}};

static const way *by; /* the one that is tested */

/* `mark(n)` notes that it has started, and answers n, at once or later. */

enum { MANY = 600, IN_FLIGHT = 3 };
static struct {
  mrpc_call *call;
  int n;
} kept[MANY];
static unsigned kept_count, most_kept, started;
static bool is_ordered, answers_later;
static uint64_t seed;

static unsigned chance(unsigned below) {
  seed = seed * 6364136223846793005U + 1442695040888963407U;
  return (unsigned)(seed >> 33) % below;
}

static void answer(mrpc_call *call, int n) {
  char text[16];
  snprintf(text, sizeof text, "%d", n);
  mrpc_call_reply(call, text, strlen(text));
}

static void mark(mrpc_call *call, void *ud) {
  size_t len;
  int n = atoi(mrpc_call_params(call, &len) + 1);
  (void)ud;
  is_ordered &= n == (int)started++;
  if (!answers_later || chance(3) == 0) {
    answer(call, n);
    return;
  }
  kept[kept_count].n = n;
  kept[kept_count++].call = call;
  if (kept_count > most_kept) most_kept = kept_count;
}

static void answer_one(void) {
  unsigned i = chance(kept_count);
  mrpc_call *call = kept[i].call;
  int n = kept[i].n;
  kept[i] = kept[--kept_count];
  answer(call, n);
}

static void begin(talk *t) {
  t->framing = by->make;
  talk_begin(t);
  if (mrpc_dispatch_add(t->dispatch, "mark", mark, NULL)) abort();
  kept_count = most_kept = started = 0;
  is_ordered = true;
  answers_later = false;
}

static void hear(talk *t, const char *text) {
  feed_text bytes = {0};
  by->put(&bytes, text);
  mrpc_peer_recv(t->peer, bytes.at, bytes.len);
  free(bytes.at);
}

/* How often a text stands in what was sent. */
static unsigned said(const talk *t, const char *text) {
  unsigned count = 0;
  const char *end = t->out + t->out_len;
  for (const char *at = t->out; at && at < end; count++, at++) {
    at = memmem(at, (size_t)(end - at), text, strlen(text));
    if (!at) break;
  }
  return count;
}

/* A storm: singles, notifications and batches, cut anywhere, answered in any
 * order. */

static bool is_asked[MANY];

static void add_entry(feed_text *to, int n) {
  char text[120];
  is_asked[n] = chance(3) > 0;
  if (is_asked[n])
    snprintf(text, sizeof text, REQ("mark", "[%d]", "%d"), n, n);
  else
    snprintf(text, sizeof text, NOTE("mark", "[%d]"), n);
  feed_adds(to, text);
}

static feed_text make_storm(void) {
  feed_text all = {0};
  for (int n = 0; n < MANY;) {
    feed_text message = {0};
    int size = chance(4) ? 0 : 1 + (int)chance(8);
    if (size == 0) add_entry(&message, n++);
    for (int i = 0; i < size && n < MANY; i++) {
      feed_adds(&message, i ? "," : "[");
      add_entry(&message, n++);
    }
    if (size) feed_adds(&message, "]");
    by->put(&all, message.at);
    free(message.at);
  }
  return all;
}

static bool is_each_answered(const talk *t) {
  char text[60];
  for (int n = 0; n < MANY; n++) {
    snprintf(text, sizeof text, "\"result\":%d,\"id\":%d}", n, n);
    if (said(t, text) != is_asked[n]) return false;
  }
  return said(t, "\"id\":") == said(t, "\"result\":");
}

static void storm(uint64_t number) {
  talk t = {.limits.in_flight = IN_FLIGHT};
  unsigned pauses = 0;
  seed = number;
  begin(&t);
  answers_later = true;
  feed_text all = make_storm();
  for (size_t at = 0; at < all.len || kept_count;) {
    bool may_read = mrpc_peer_wants_read(t.peer);
    pauses += !may_read;
    if (kept_count && (!may_read || at == all.len || chance(4) == 0))
      answer_one();
    if (may_read) {
      size_t len = 1 + chance(300);
      if (len > all.len - at) len = all.len - at;
      mrpc_peer_recv(t.peer, all.at + at, len);
      at += len;
    }
    if (chance(2) || !may_read) talk_run(&t);
    talk_flush(&t);
  }
  talk_run(&t);
  talk_flush(&t);
  ok(started == MANY && is_ordered, "%s: %d start in the order sent", by->name,
     MANY);
  ok(pauses > 10 && most_kept == IN_FLIGHT, "over %u pauses", pauses);
  ok(is_each_answered(&t), "each request is answered once");
  free(all.at);
  ok(talk_end(&t), "all memory came back");
}

/* The mark of held output. */

static size_t held(const talk *t) {
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(t->peer, &stats);
  return stats.held;
}

static void output(void) {
  enum { MARK = 1000, ASKED = 100 };
  talk t = {.limits.output = MARK, .is_stuck = true};
  char text[120];
  int n = 0;
  begin(&t);
  for (; n < ASKED && mrpc_peer_wants_read(t.peer); n++) {
    snprintf(text, sizeof text, REQ("mark", "[%d]", "%d"), n, n);
    hear(&t, text);
  }
  ok(n < ASKED && held(&t) > MARK && held(&t) < MARK + 100,
     "%s: reading stops at limits.output", by->name);
  size_t before = held(&t);
  hear(&t, REQ("mark", "[0]", "0"));
  talk_run(&t);
  ok(held(&t) == before && (int)started == n, "nothing starts behind it");
  const char *bytes;
  while (held(&t) > MARK / 2 + 10) {
    mrpc_peer_output(t.peer, &bytes);
    mrpc_peer_sent(t.peer, 10);
    talk_run(&t);
  }
  ok(!mrpc_peer_wants_read(t.peer) && (int)started == n, "nor up to its half");
  mrpc_peer_output(t.peer, &bytes);
  mrpc_peer_sent(t.peer, 10);
  talk_run(&t);
  ok(mrpc_peer_wants_read(t.peer) && (int)started == n + 1,
     "then what was held back, and reading");
  t.is_stuck = false;
  talk_flush(&t);
  ok(held(&t) == 0 && said(&t, "\"id\":0}") == 1, "all leaves");
  ok(talk_end(&t), "all memory came back");
}

/* A call of ours waits for the peer. */

static void note_answer(mrpc_peer *peer, const mrpc_answer *a, void *ud) {
  (void)peer;
  *(bool *)ud = !a->result && !a->is_error;
}

static void waiting(void) {
  talk t = {.limits.in_flight = 2};
  bool is_answered = false;
  begin(&t);
  hear(&t, REQ("wait", "[\"a\"]", "1"));
  hear(&t, REQ("wait", "[\"b\"]", "2"));
  talk_run(&t);
  ok(!mrpc_peer_wants_read(t.peer), "%s: full", by->name);
  if (mrpc_peer_call(t.peer, "ask", NULL, 0, note_answer, &is_answered, NULL))
    abort();
  talk_run(&t);
  ok(mrpc_peer_wants_read(t.peer), "who is asked is read on");
  hear(&t, REQ("mark", "[0]", "3"));
  hear(&t, "[" REQ("mark", "[0]", "4") "]");
  hear(&t, "[" NOTE("mark", "[0]") "]");
  talk_run(&t);
  talk_flush(&t);
  ok(said(&t, "\"code\":-32050") == 2 && started == 0,
     "excess requests get -32050, notifications wait");
  hear(&t, NOTE("$/cancelRequest", "{\"id\":1}"));
  talk_run(&t);
  talk_flush(&t);
  ok(said(&t, CANCELLED("1")) == 1, "a cancel gets through");
  hear(&t, REQ("wait", "[\"c\"]", "5"));
  hear(&t, RES("1", "1"));
  talk_run(&t);
  ok(is_answered && !mrpc_peer_wants_read(t.peer),
     "so does the answer; then the limit holds again");
  talk_release(&t, "\"b\"");
  ok(mrpc_peer_wants_read(t.peer) && started == 1, "and reading goes on");
  ok(talk_end(&t), "all memory came back");
}

/* The same while entries of a batch queue: nothing overtakes them. */
static void behind_a_batch(void) {
  talk t = {.limits.in_flight = 1};
  bool is_answered = false;
  begin(&t);
  hear(&t, "[" REQ("wait", "[\"a\"]", "1") "," REQ("mark", "[0]", "2") "," NOTE(
               "mark", "[1]") "]");
  if (mrpc_peer_call(t.peer, "ask", NULL, 0, note_answer, &is_answered, NULL))
    abort();
  hear(&t, NOTE("mark", "[2]"));
  hear(&t, REQ("mark", "[9]", "3"));
  talk_run(&t);
  ok(started == 0, "%s: a notification waits behind a batch", by->name);
  talk_flush(&t);
  ok(said(&t, "\"code\":-32050") == 1, "a request doesn't");
  methods_let_go(&t.methods, "\"a\"", 3);
  hear(&t, NOTE("mark", "[3]"));
  hear(&t, REQ("mark", "[4]", "4"));
  talk_run(&t);
  ok(started == 5 && is_ordered, "when there is room again all start in order");
  hear(&t, RES("1", "1"));
  ok(is_answered && talk_end(&t), "all memory came back");
}

/* What waits so is bounded; the rest is told in the log. */
static void bounded(void) {
  talk t = {.limits = {.in_flight = 1, .output = 1000}};
  bool is_answered = false;
  begin(&t);
  hear(&t, REQ("wait", "[\"a\"]", "1"));
  if (mrpc_peer_call(t.peer, "ask", NULL, 0, note_answer, &is_answered, NULL))
    abort();
  unsigned fit = 1000 / (unsigned)strlen(NOTE("mark", "[0]"));
  for (unsigned i = 0; i < fit; i++) hear(&t, NOTE("mark", "[0]"));
  ok(started == 0 && t.warnings == 0, "%s: as many wait as fit", by->name);
  for (int i = 0; i < 10; i++) hear(&t, NOTE("mark", "[0]"));
  ok(t.warnings == 1, "those that don't are logged, once");
  hear(&t, NOTE("$/cancelRequest", "{\"id\":1}"));
  talk_run(&t);
  ok(started == fit && t.methods.cancelled == 1, "a cancel frees all");
  hear(&t, RES("1", "1"));
  ok(is_answered && talk_end(&t), "all memory came back");
}

int main(void) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    by = &ways[i];
    for (uint64_t number = 1; number <= 20; number++) storm(number);
    output();
    waiting();
    behind_a_batch();
    bounded();
  }
  return tap_finish();
}
