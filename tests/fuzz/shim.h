/* SPDX-License-Identifier: MIT
 *
 * Between the peer and its framing stands a shim that keeps the books: each
 * message is answered at most once; each reply is JSON; the ids in it are
 * those of its message, raw, in order, none twice. What the first byte of the
 * input tells about the framing is decided here, too. */
#ifndef MRPC_FUZZ_SHIM_H
#define MRPC_FUZZ_SHIM_H

#include "http/websocket.h"
#include "json/parse.h"
#include "talk.h"

#define CHECK(cond) ((cond) ? (void)0 : stop(#cond, __LINE__))

static void stop(const char *what, int line) {
  fprintf(stderr, "fuzz_peer.c:%d: %s doesn't hold\n", line, what);
  abort();
}

enum { BATCH = 8, DEPTH = 8, IN_FLIGHT = 4 };

typedef struct record {
  uint64_t token; /* of the framing behind */
  char *text;     /* the message */
  size_t len;
  bool is_answered;
} record;

typedef struct shim {
  mrpc_framing base;
  mrpc_framing_vt vt; /* has what the framing behind has */
  mrpc_framing *inner;
  record *records; /* a token of ours is an index plus one; kept by the test */
  size_t count;
} shim;

static record *books; /* what the shim leaves behind */
static size_t book_count;
static bool was_closed; /* the other side has ended all, or is gone */

static void adapt(shim *s);

/* What the framing behind changed is shown by the shim; detection changes even
 * its table. */
static int mirror(shim *s, int rc) {
  adapt(s);
  mrpc_buf *out = &s->inner->out;
  mrpc_buf_add(&s->base.out, out->data, out->len);
  int err = s->base.out.err;
  if (err == MRPC_OK) mrpc_buf_truncate(out, 0);
  s->base.held = s->inner->held;
  s->base.closing = s->inner->closing;
  s->base.is_dead = s->inner->is_dead;
  was_closed |= rc == MRPC_ECLOSED || s->inner->is_dead;
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

/* The conversation goes on in another framing, behind the same shim. */
static void change(shim *s) {
  mrpc_framing *old = s->inner;
  s->inner = old->next;
  old->next = NULL;
  old->vt->free(old);
  adapt(s);
}

static int shim_recv(mrpc_framing *f, const char *bytes, size_t len,
                     size_t *consumed, mrpc_message *msg) {
  shim *s = (shim *)f;
  int rc = s->inner->vt->recv(s->inner, bytes, len, consumed, msg);
  CHECK(*consumed <= len);
  keep_message(s, rc, msg);
  mirror(s, rc);
  if (s->inner->next) change(s);
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
  return inner->vt->can_push(inner);
}

static int shim_push(mrpc_framing *f, const char *bytes, size_t len) {
  shim *s = (shim *)f;
  return mirror(s, s->inner->vt->push(s->inner, bytes, len));
}

static uint64_t shim_deadline(const mrpc_framing *f) {
  const mrpc_framing *inner = ((const shim *)f)->inner;
  return inner->vt->deadline(inner);
}

static void shim_tick(mrpc_framing *f, uint64_t now) {
  shim *s = (shim *)f;
  s->inner->is_unread = f->is_unread;
  s->inner->vt->tick(s->inner, now);
  mirror(s, MRPC_OK);
}

static void shim_drain(mrpc_framing *f) {
  shim *s = (shim *)f;
  s->inner->vt->drain(s->inner);
  mirror(s, MRPC_OK);
}

static void shim_close(mrpc_framing *f, const char *reason) {
  shim *s = (shim *)f;
  s->inner->vt->close(s->inner, reason);
  mirror(s, MRPC_OK);
}

static const mrpc_header_field *shim_headers(const mrpc_framing *f) {
  const mrpc_framing *inner = ((const shim *)f)->inner;
  return inner->vt->headers(inner);
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
    .close = shim_close,
    .headers = shim_headers,
    .free = shim_free,
};

static void adapt(shim *s) {
  const mrpc_framing_vt *inner = s->inner->vt;
  s->vt = shim_vt;
  s->base.vt = &s->vt;
  s->vt.is_exchange = inner->is_exchange;
  s->vt.transport = inner->transport;
  if (!inner->push) s->vt.push = NULL;
  if (!inner->can_push) s->vt.can_push = NULL;
  if (!inner->deadline) s->vt.deadline = NULL;
  if (!inner->tick) s->vt.tick = NULL;
  if (!inner->drain) s->vt.drain = NULL;
  if (!inner->close) s->vt.close = NULL;
  if (!inner->headers) s->vt.headers = NULL;
}

static char first_byte;

static int make_websocket(mrpc_env *env, const mrpc_limits *limits,
                          mrpc_framing **out) {
  mrpc_websocket *w;
  int rc = mrpc_websocket_new(env, limits, NULL, &w);
  if (rc == MRPC_OK) *out = &w->base;
  return rc;
}

static int make_inner(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out) {
  mrpc_http_config http = {.limits = limits, .dev = true};
  switch (first_byte) {
    case 'P':
    case 'G': return mrpc_framing_http(env, &http, out);
    case 'W': return make_websocket(env, limits, out);
    case 'C': return mrpc_framing_header(env, limits, out);
    case '{':
    case '[': return mrpc_framing_line(env, limits, out);
    default: return mrpc_framing_auto(env, limits, out);
  }
}

static int make_shim(mrpc_env *env, const mrpc_limits *limits,
                     mrpc_framing **out) {
  mrpc_framing *inner;
  if (first_byte == 'L') return mrpc_framing_line(env, limits, out);
  int rc = make_inner(env, limits, &inner);
  if (rc) return rc;
  shim *s = mrpc_mem_new(&env->mem, sizeof *s);
  if (!s) {
    inner->vt->free(inner);
    return MRPC_ENOMEM;
  }
  s->base = (mrpc_framing){.env = env};
  mrpc_buf_init(&s->base.out, &env->mem, SIZE_MAX);
  s->inner = inner;
  adapt(s);
  *out = &s->base;
  return MRPC_OK;
}

#endif
