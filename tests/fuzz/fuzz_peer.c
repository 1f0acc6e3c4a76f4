/* SPDX-License-Identifier: MIT
 *
 * A whole conversation, both ways. The first byte tells the framing: P and G
 * HTTP, C the header framing, { and [ lines, anything else detection. Control
 * characters that neither JSON nor HTTP have are no input but events: a cut
 * between two reads, time that passes, an answer, a call out, an allocation
 * that fails, the end (see `happen`). Calls out are made by events and by the
 * methods `ask` and `tell`; the input may answer them, cancel, close.
 *
 * Between the peer and its framing stands a shim that keeps the books: each
 * message is answered at most once; each reply is JSON; the ids in it are
 * those of its message, raw, in order, none twice. In the end, unless the peer
 * was lost, every message is answered, each call out has had one end, who
 * opened has ended, and all memory comes back. */
#include "json/parse.h"
#include "talk.h"

#define CHECK(cond) ((cond) ? (void)0 : stop(#cond, __LINE__))

static void stop(const char *what, int line) {
  fprintf(stderr, "fuzz_peer.c:%d: %s doesn't hold\n", line, what);
  abort();
}

enum { BATCH = 8, DEPTH = 8, IN_FLIGHT = 4 };

/* The shim. */

typedef struct record {
  uint64_t token; /* of the framing behind */
  char *text;     /* the message */
  size_t len;
  bool is_answered;
} record;

typedef struct shim {
  mrpc_framing base;
  mrpc_framing *inner;
  record *records; /* a token of ours is an index plus one; kept by the test */
  size_t count;
} shim;

static record *books; /* what the shim leaves behind */
static size_t book_count;

/* What the framing behind changed is shown by the shim. */
static int mirror(shim *s, int rc) {
  mrpc_buf *out = &s->inner->out;
  mrpc_buf_add(&s->base.out, out->data, out->len);
  int err = s->base.out.err;
  if (err == MRPC_OK) mrpc_buf_truncate(out, 0);
  s->base.held = s->inner->held;
  s->base.closing = s->inner->closing;
  s->base.error = s->inner->error;
  return rc == MRPC_OK && err ? MRPC_ENOMEM : rc;
}

static void keep_message(shim *s, int rc, mrpc_message *msg) {
  bool is_message = rc == MRPC_OK || rc == MRPC_ELIMIT;
  if (!is_message) return;
  books = realloc(books, (book_count + 1) * sizeof *books);
  record *r = &books[book_count++];
  *r = (record){.token = msg->token, .len = msg->len};
  if (rc == MRPC_ELIMIT) r->len = 0;
  r->text = malloc(r->len + 1);
  if (r->len) memcpy(r->text, msg->bytes, r->len);
  s->count = book_count;
  msg->token = book_count;
}

static int shim_recv(mrpc_framing *f, const char *bytes, size_t len,
                     size_t *consumed, mrpc_message *msg) {
  shim *s = (shim *)f;
  int rc = s->inner->vt->recv(s->inner, bytes, len, consumed, msg);
  CHECK(*consumed <= len);
  keep_message(s, rc, msg);
  mirror(s, rc);
  return rc;
}

static int shim_eof(mrpc_framing *f, mrpc_message *msg) {
  shim *s = (shim *)f;
  int rc = s->inner->vt->eof(s->inner, msg);
  keep_message(s, rc, msg);
  mirror(s, rc);
  return rc;
}

static uint32_t id_of(const mrpc_doc *doc, uint32_t node) {
  uint32_t found = MRPC_NO_NODE, key = node + 1;
  if (doc->nodes[node].type != MRPC_JSON_OBJECT) return MRPC_NO_NODE;
  for (uint32_t left = doc->nodes[node].size; left; left--) {
    if (mrpc_doc_string_is(doc, key, "id", 2)) found = key + 1;
    key = mrpc_doc_next(doc, key + 1);
  }
  return found;
}

/* May the response at `b` answer the entry at `a`? */
static bool may_answer(const mrpc_doc *doc, uint32_t a, const mrpc_doc *reply,
                       uint32_t b) {
  uint32_t id = id_of(reply, b), asked = id_of(doc, a);
  CHECK(id != MRPC_NO_NODE);
  if (reply->nodes[id].type == MRPC_JSON_NULL) return true;
  if (asked == MRPC_NO_NODE || doc->nodes[asked].type >= MRPC_JSON_ARRAY)
    return false;
  size_t alen, blen;
  const char *left = mrpc_doc_raw(doc, asked, &alen);
  const char *right = mrpc_doc_raw(reply, id, &blen);
  return alen == blen && !memcmp(left, right, alen);
}

static void check_batch(const mrpc_doc *doc, const mrpc_doc *reply) {
  uint32_t at = 1, left = doc->nodes[0].size, to = 1;
  CHECK(reply->nodes[0].size > 0);
  for (uint32_t n = reply->nodes[0].size; n; n--) {
    while (left && !may_answer(doc, at, reply, to)) {
      at = mrpc_doc_next(doc, at);
      left--;
    }
    CHECK(left > 0);
    at = mrpc_doc_next(doc, at);
    left--;
    to = mrpc_doc_next(reply, to);
  }
}

static void check_reply(const record *r, const char *bytes, size_t len) {
  const mrpc_mem mem = {mrpc_mem_default, NULL};
  mrpc_doc doc, reply;
  mrpc_doc_init(&doc, &mem);
  mrpc_doc_init(&reply, &mem);
  CHECK(mrpc_json_parse(&reply, bytes, len, DEPTH + 8) == MRPC_OK);
  bool is_read = mrpc_json_parse(&doc, r->text, r->len, DEPTH) == MRPC_OK;
  if (is_read && reply.nodes[0].type == MRPC_JSON_ARRAY)
    check_batch(&doc, &reply);
  else if (is_read && doc.nodes[0].type != MRPC_JSON_ARRAY)
    CHECK(may_answer(&doc, 0, &reply, 0));
  else
    CHECK(reply.nodes[id_of(&reply, 0)].type == MRPC_JSON_NULL);
  mrpc_doc_clear(&doc);
  mrpc_doc_clear(&reply);
}

static record *take_record(uint64_t token) {
  CHECK(token > 0 && token <= book_count);
  record *r = &books[token - 1];
  CHECK(!r->is_answered);
  r->is_answered = true;
  return r;
}

static int shim_put(mrpc_framing *f, uint64_t token, const char *bytes,
                    size_t len, mrpc_outcome outcome) {
  shim *s = (shim *)f;
  uint64_t inner = 0;
  if (token) {
    const record *r = take_record(token);
    check_reply(r, bytes, len);
    inner = r->token;
  }
  return mirror(s, s->inner->vt->put(s->inner, inner, bytes, len, outcome));
}

static int shim_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome) {
  shim *s = (shim *)f;
  return mirror(
      s, s->inner->vt->none(s->inner, take_record(token)->token, outcome));
}

static bool shim_can_push(const mrpc_framing *f) {
  const mrpc_framing *inner = ((const shim *)f)->inner;
  return inner->vt->push && inner->vt->can_push(inner);
}

static int shim_push(mrpc_framing *f, const char *bytes, size_t len) {
  shim *s = (shim *)f;
  return mirror(s, s->inner->vt->push(s->inner, bytes, len));
}

static uint64_t shim_deadline(const mrpc_framing *f) {
  const mrpc_framing *inner = ((const shim *)f)->inner;
  return inner->vt->deadline ? inner->vt->deadline(inner) : UINT64_MAX;
}

static void shim_tick(mrpc_framing *f, uint64_t now) {
  shim *s = (shim *)f;
  s->inner->vt->tick(s->inner, now);
  mirror(s, MRPC_OK);
}

static void shim_drain(mrpc_framing *f) {
  shim *s = (shim *)f;
  if (s->inner->vt->drain) s->inner->vt->drain(s->inner);
  mirror(s, MRPC_OK);
}

static const mrpc_header_field *shim_headers(const mrpc_framing *f) {
  const mrpc_framing *inner = ((const shim *)f)->inner;
  return inner->vt->headers ? inner->vt->headers(inner) : NULL;
}

static void shim_free(mrpc_framing *f) {
  shim *s = (shim *)f;
  s->inner->vt->free(s->inner);
  mrpc_buf_clear(&s->base.out);
  mrpc_mem_free(&f->env->mem, s, sizeof *s);
}

static const mrpc_framing_vt shim_vt = {
    .name = "shim",
    .recv = shim_recv,
    .eof = shim_eof,
    .put = shim_put,
    .none = shim_none,
    .push = shim_push,
    .can_push = shim_can_push,
    .deadline = shim_deadline,
    .tick = shim_tick,
    .drain = shim_drain,
    .headers = shim_headers,
    .free = shim_free,
};

static char first_byte;

static int make_inner(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out) {
  mrpc_http_config http = {.limits = limits, .dev = true};
  switch (first_byte) {
    case 'P':
    case 'G': return mrpc_framing_http(env, &http, out);
    case 'C': return mrpc_framing_header(env, limits, out);
    case '{':
    case '[': return mrpc_framing_line(env, limits, out);
    default: return mrpc_framing_auto(env, limits, out);
  }
}

static int make_shim(mrpc_env *env, const mrpc_limits *limits,
                     mrpc_framing **out) {
  mrpc_framing *inner;
  int rc = make_inner(env, limits, &inner);
  if (rc) return rc;
  shim *s = mrpc_mem_new(&env->mem, sizeof *s);
  if (!s) {
    inner->vt->free(inner);
    return MRPC_ENOMEM;
  }
  s->base = (mrpc_framing){.vt = &shim_vt, .env = env};
  mrpc_buf_init(&s->base.out, &env->mem, SIZE_MAX);
  s->inner = inner;
  *out = &s->base;
  return MRPC_OK;
}

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

static void play(talk *t, const char *data, size_t size) {
  size_t at = 0;
  while (at < size) {
    size_t end = at;
    while (end < size && !is_event(data[end])) end++;
    char *piece = malloc(end - at + 1);
    memcpy(piece, data + at, end - at);
    if (end > at) mrpc_peer_recv(t->peer, piece, end - at);
    free(piece);
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
  if (talk_start(&t)) abort();
  mrpc_dispatch_watch(t.dispatch, &watch, NULL);
  if (talk_open(&t)) abort();
  play(&t, (const char *)data, size);
  settle(&t);
  bool was_dropped = memchr(data, 15, size) || memchr(data, 7, size) ||
                     memchr(data, 6, size) || memchr(data, 11, size);
  check_end(&t);
  bool is_whole = !t.mem.hit && !was_dropped;
  CHECK(talk_end(&t));
  CHECK(opens == ends && opens <= 1);
  clear_books(is_whole);
  return 0;
}
