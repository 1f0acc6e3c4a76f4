/* SPDX-License-Identifier: MIT
 *
 * A whole conversation, both ways. The first byte tells the framing: P and G
 * HTTP, which may become WebSocket, W WebSocket from behind its handshake on,
 * C the header framing, { and [ lines, L lines without the shim, whose replies
 * are written right into the output, anything else detection. What is said
 * on a WebSocket behind W is put into frames, see say_frame. Control
 * characters that neither JSON nor HTTP have are no input but events: a cut
 * between two reads, time that passes, an answer, a call out, an allocation
 * that fails, the end (see `happen`). Calls out are made by events and by the
 * methods `ask` and `tell`; the input may answer them, cancel, close.
 *
 * The shim of shim.h keeps the books. In the end, unless the peer was lost,
 * every message is answered, each call out has had one end, who opened has
 * ended, and all memory comes back. */
#include "shim.h"

/* Events. */

static int calls_made, calls_ended, opens, ends;
static int64_t last_id;

static void on_open(mrpc_peer *peer, void *ud) {
  (void)ud;
  opens++;
  mrpc_peer_notify(peer, "hello", NULL);
}

static void on_end(mrpc_peer *peer, void *ud) {
  (void)ud;
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(peer, &stats);
  CHECK(stats.pending == 0 && stats.in_flight == 0);
  ends++;
}

static const mrpc_peer_watch watch = {on_open, on_end};

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  (void)ud;
  CHECK(answer->json != NULL);
  calls_ended++;
}

static void call_out(talk *t) {
  if (mrpc_peer_call(t->peer, "ask", "[1]", 5, on_answer, NULL, &last_id) ==
      MRPC_OK)
    calls_made++;
}

/* Gives up the latest call out, or one that is none. */
static void give_up(talk *t) {
  if (mrpc_peer_cancel(t->peer, last_id) == MRPC_OK) calls_made--;
  CHECK(mrpc_peer_cancel(t->peer, last_id) == MRPC_ENOTFOUND);
}

/* All that waits tells how far it is, and looks at its header fields. */
static void tell_progress(talk *t) {
  for (methods_wait *w = t->methods.waits; w; w = w->next) {
    if (!w->call) continue;
    mrpc_call_progress(w->call, "{\"at\":1}", 8);
    const mrpc_header_field *f = mrpc_call_headers(w->call);
    for (; f && f->name; f++) CHECK(*f->name && f->value);
  }
}

/* Answers the wait that is the oldest; false when there is none. */
static bool release(talk *t) {
  for (methods_wait *w = t->methods.waits; w; w = w->next)
    if (w->call) {
      methods_let_go(&t->methods, w->name, w->len);
      return true;
    }
  return false;
}

static void send_some(talk *t) {
  const char *bytes;
  size_t len = mrpc_peer_output(t->peer, &bytes);
  mrpc_peer_sent(t->peer, len / 2);
}

static void fail_soon(talk *t, size_t after) {
  t->mem.fail_at = t->mem.count + after;
}

static bool is_event(char c) {
  return (unsigned char)c < ' ' && c != '\n' && c != '\r' && c != '\t';
}

static void happen(talk *t, char event) {
  switch (event) {
    case 1: break; /* a cut between two reads */
    case 2: talk_run(t); break;
    case 3: release(t); break;
    case 4: call_out(t); break;
    case 5: mrpc_peer_notify(t->peer, "note", NULL); break;
    case 6: talk_pass(t, 1); break;
    case 7: talk_pass(t, 20); break;
    case 8: t->is_stuck = !t->is_stuck; break;
    case 11: send_some(t); break;
    case 12: mrpc_peer_eof(t->peer); break;
    case 14: mrpc_peer_drain(t->peer); break;
    case 15: mrpc_peer_drop(t->peer); break;
    case 16: fail_soon(t, 1); break;
    case 17: fail_soon(t, 3); break;
    case 18: talk_flush(t); break;
    case 19: give_up(t); break;
    case 20: mrpc_peer_close(t->peer, "enough"); break;
    case 21: tell_progress(t); break;
    default: break;
  }
}

/* The play. */

/* One frame of what is said: a text, or, where the first byte is above 0x7f,
 * whatever it makes of it. The mask is that of zeros, so that the text stands
 * in the input as it is. In two pieces, cut anywhere. */
static void say_frame(talk *t, const char *text, size_t len) {
  unsigned char first = 0x81;
  if ((unsigned char)*text > 0x7f) {
    first = (unsigned char)*text++;
    len--;
  }
  unsigned char head[8] = {first, (unsigned char)(0x80 | len)};
  size_t more = len > 125 ? 2 : 0, size = 6 + more + len;
  if (more) {
    head[1] = 0x80 | 126;
    head[2] = (unsigned char)(len >> 8);
    head[3] = (unsigned char)len;
  }
  char *bytes = calloc(1, size);
  memcpy(bytes, head, 2 + more);
  memcpy(bytes + 6 + more, text, len);
  size_t cut = len % size;
  mrpc_peer_recv(t->peer, bytes, cut);
  mrpc_peer_recv(t->peer, bytes + cut, size - cut);
  free(bytes);
}

static void say(talk *t, const char *text, size_t len) {
  char *piece = malloc(len);
  memcpy(piece, text, len);
  if (first_byte == 'W' && len < 65536)
    say_frame(t, piece, len);
  else
    mrpc_peer_recv(t->peer, piece, len);
  free(piece);
}

static void play(talk *t, const char *data, size_t size) {
  size_t at = first_byte == 'W' || first_byte == 'L';
  while (at < size) {
    size_t end = at;
    while (end < size && !is_event(data[end])) end++;
    if (end > at) say(t, data + at, end - at);
    if (end < size) happen(t, data[end]);
    at = end + 1;
  }
}

/* Lets everything come to its end; what asks the other side has it in time. */
static void settle(talk *t) {
  t->is_stuck = false;
  for (unsigned i = 0; i < 100000; i++) {
    talk_run(t);
    talk_flush(t);
    mrpc_peer_stats stats;
    mrpc_peer_get_stats(t->peer, &stats);
    CHECK(stats.in_flight <= IN_FLIGHT && stats.pending <= IN_FLIGHT);
    if (!stats.in_flight && mrpc_timer_next(t->env) > t->now) return;
    if (!release(t) && stats.in_flight) talk_pass(t, 1);
  }
  CHECK(!"it comes to an end");
}

static void check_end(talk *t) {
  bool is_failed = mrpc_peer_recv(t->peer, "", 0) == MRPC_ENOMEM;
  if (is_failed || t->mem.hit) return;
  mrpc_peer_eof(t->peer);
  settle(t);
  CHECK(mrpc_peer_is_done(t->peer));
  CHECK(calls_made == calls_ended);
}

static void clear_books(bool must_be_whole) {
  for (size_t i = 0; i < book_count; i++) {
    CHECK(books[i].is_answered || !must_be_whole);
    free(books[i].text);
  }
  free(books);
  books = NULL;
  book_count = 0;
  calls_made = calls_ended = opens = ends = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  first_byte = (char)data[0];
  talk t = {.framing = make_shim};
  t.limits = (mrpc_limits){.message = 4096,
                           .depth = DEPTH,
                           .batch = BATCH,
                           .reply = 1500,
                           .in_flight = IN_FLIGHT,
                           .output = 1000};
  t.config.explain = size % 2;
  t.config.reject_duplicate_ids = size % 3 == 0;
  last_id = 0;
  was_closed = false;
  if (talk_start(&t)) abort();
  mrpc_dispatch_watch(t.dispatch, &watch, NULL);
  if (talk_open(&t)) abort();
  play(&t, (const char *)data, size);
  settle(&t);
  bool was_dropped = memchr(data, 15, size) || memchr(data, 7, size) ||
                     memchr(data, 6, size) || memchr(data, 11, size);
  was_dropped |= was_closed;
  check_end(&t);
  bool is_whole = !t.mem.hit && !was_dropped;
  CHECK(talk_end(&t));
  CHECK(opens == ends && opens <= 1);
  clear_books(is_whole);
  return 0;
}
