/* SPDX-License-Identifier: MIT
 *
 * Our ids are integers that count up from 1, one row a peer, and never reach
 * 2^53: so that every JSON library carries them unharmed. An answer's id is
 * matched by value: `1`, `1.0` and `1e0` are the id 1, `"1"` is none. */
#include "rpc/pending.h"

#include "json/number.h"

enum { KEEP_TEXT = 4 << 10 }; /* bytes of the scratch that stay */

typedef struct pending {
  int64_t id; /* its eight bytes are the key in peer->pending */
  mrpc_peer *peer;
  mrpc_timer timer;
  mrpc_answer_fn fn;
  void *ud;
  bool is_notice; /* a notification, which has no id of its own */
} pending;

static void forget(pending *p) {
  mrpc_peer *peer = p->peer;
  peer->notices -= p->is_notice;
  mrpc_timer_stop(&peer->env->timers, &p->timer);
  mrpc_map_remove(&peer->pending, (const char *)&p->id, sizeof p->id);
  mrpc_mem_free(&peer->env->mem, p, sizeof *p);
}

/* Tells the other side, if it can be told, that nobody waits for its answer.
 * There is one such message for a call at most, so they need no limit. */
static void tell(mrpc_peer *peer, int64_t id) {
  peer->is_moot |= peer->framing->vt->is_exchange;
  if (peer->is_moot) return;
  mrpc_buf text;
  mrpc_buf_init(&text, &peer->env->mem, SIZE_MAX);
  bool is_mcp = peer->says_cancelled;
  const char *method = is_mcp ? "notifications/cancelled" : "$/cancelRequest";
  mrpc_envelope_open_call(&text, method, strlen(method));
  mrpc_buf_adds(
      &text, is_mcp ? ",\"params\":{\"requestId\":" : ",\"params\":{\"id\":");
  mrpc_buf_addu(&text, (uint64_t)id);
  mrpc_buf_lit(&text, "}}");
  if (text.err == MRPC_OK) mrpc_output_push(peer, text.data, text.len);
  mrpc_buf_clear(&text);
}

/* Ends one call; nobody can find it any more when its function runs. */
static void deliver(pending *p, const mrpc_answer *answer) {
  mrpc_peer *peer = p->peer;
  mrpc_answer_fn fn = p->fn;
  void *ud = p->ud;
  forget(p);
  mrpc_peer_changed(peer);
  if (fn) fn(peer, answer, ud);
}

static void on_timeout(mrpc_timer *timer) {
  pending *p = mrpc_list_of(timer, pending, timer);
  tell(p->peer, p->id);
  deliver(p, &(mrpc_answer){.result = MRPC_ETIMEOUT, .json = ""});
}

static pending *add(mrpc_peer *peer, double timeout, mrpc_answer_fn fn,
                    void *ud) {
  pending *p = mrpc_mem_new(&peer->env->mem, sizeof *p);
  if (!p) return NULL;
  *p = (pending){.id = ++peer->last_id, .peer = peer, .fn = fn, .ud = ud};
  p->timer.fn = on_timeout;
  uint64_t due =
      mrpc_env_after(peer->env, timeout == 0 ? peer->limits.wait : timeout);
  if (mrpc_map_set(&peer->pending, (const char *)&p->id, sizeof p->id, p)) {
    mrpc_mem_free(&peer->env->mem, p, sizeof *p);
    return NULL;
  }
  if (mrpc_timer_start(&peer->env->timers, &p->timer, due) == MRPC_OK) return p;
  forget(p);
  return NULL;
}

/* A request, or a notification when id is 0. */
static int write_message(mrpc_buf *text, const char *method, const char *params,
                         int64_t id) {
  int rc = mrpc_envelope_open_call(text, method, strlen(method));
  if (rc) return rc;
  if (params) {
    mrpc_buf_lit(text, ",\"params\":");
    mrpc_buf_adds(text, params);
  }
  if (id) {
    mrpc_buf_lit(text, ",\"id\":");
    mrpc_buf_addu(text, (uint64_t)id);
  }
  mrpc_buf_addc(text, '}');
  return text->err;
}

/* The embedder, who may send another message when he hears of output, hears of
 * it before the text is written or after the framing has copied it. */
static int send(mrpc_peer *peer, const char *method, const char *params,
                int64_t id) {
  mrpc_buf *text = &peer->dispatch->scratch;
  int rc = mrpc_output_make_room(peer);
  if (rc) return rc;
  mrpc_buf_truncate(text, 0);
  rc = write_message(text, method, params, id);
  if (rc == MRPC_OK) rc = mrpc_output_push(peer, text->data, text->len);
  mrpc_buf_truncate(text, 0);
  mrpc_buf_relax(text, KEEP_TEXT);
  return rc;
}

bool mrpc_peer_can_call(const mrpc_peer *peer) {
  return !peer->is_read && mrpc_peer_can_push(peer);
}

bool mrpc_peer_is_moot(const mrpc_peer *peer) {
  return peer->is_moot;
}

/* Sends what `p` waits for, a call or a notification. */
static int ask(mrpc_peer *peer, const char *method, const char *params,
               pending *p) {
  int rc = send(peer, method, params, p->is_notice ? 0 : p->id);
  if (rc) forget(p);
  return rc;
}

int mrpc_peer_call(mrpc_peer *peer, const char *method, const char *params,
                   double timeout, mrpc_answer_fn fn, void *ud, int64_t *id) {
  if (!mrpc_peer_can_call(peer)) return MRPC_ESTATE;
  if (peer->pending.count >= peer->limits.in_flight) return MRPC_ELIMIT;
  pending *p = add(peer, timeout, fn, ud);
  int rc = p ? ask(peer, method, params, p) : MRPC_ENOMEM;
  if (rc) return rc;
  peer->stats.calls_out++;
  if (id) *id = p->id;
  return MRPC_OK;
}

int mrpc_peer_tell(mrpc_peer *peer, const char *method, const char *params,
                   double timeout, mrpc_answer_fn fn, void *ud, int64_t *id) {
  if (!mrpc_peer_can_call(peer)) return MRPC_ESTATE;
  pending *p = add(peer, timeout, fn, ud);
  if (!p) return MRPC_ENOMEM;
  p->is_notice = true;
  peer->notices++;
  *id = p->id;
  return ask(peer, method, params, p);
}

int mrpc_peer_cancel(mrpc_peer *peer, int64_t id) {
  pending *p = mrpc_map_get(&peer->pending, (const char *)&id, sizeof id);
  if (!p) return MRPC_ENOTFOUND;
  forget(p);
  tell(peer, id);
  mrpc_peer_changed(peer);
  return MRPC_OK;
}

int mrpc_peer_notify(mrpc_peer *peer, const char *method, const char *params) {
  return send(peer, method, params, 0);
}

static void count_stray(mrpc_peer *peer, mrpc_warning kind, const char *what,
                        const char *why) {
  peer->stats.stray_answers++;
  mrpc_peer_warn(peer, kind, what, why);
}

/* The integer that a number is, 0 when it can't be one of our ids. */
static int64_t whole_value(const mrpc_doc *doc, uint32_t node) {
  const mrpc_node *n = &doc->nodes[node];
  if (n->type == MRPC_JSON_INT) return n->u.i;
  if (n->type != MRPC_JSON_DOUBLE || !(n->u.d >= 1 && n->u.d < 0x1p53))
    return 0;
  int64_t value = (int64_t)n->u.d;
  char digits[MRPC_DOUBLE_CHARS];
  size_t digits_len = mrpc_double_write((double)value, digits), raw_len;
  const char *raw = mrpc_doc_raw(doc, node, &raw_len);
  return mrpc_number_equal(raw, raw_len, digits, digits_len) ? value : 0;
}

void mrpc_pending_answer(mrpc_peer *peer, const mrpc_doc *doc,
                         const mrpc_envelope *e) {
  if (e->kind == MRPC_ENVELOPE_BAD_RESPONSE) {
    count_stray(peer, MRPC_WARN_MALFORMED, "malformed answer dropped",
                e->fault);
    return;
  }
  bool is_error = e->error != MRPC_NO_NODE;
  if (doc->nodes[e->id].type == MRPC_JSON_NULL) {
    count_stray(peer, MRPC_WARN_NULL_ID, "answer without an id dropped",
                is_error ? "the peer couldn't read a message of ours" : "null");
    return;
  }
  int64_t id = whole_value(doc, e->id);
  pending *p = mrpc_map_get(&peer->pending, (const char *)&id, sizeof id);
  if (!p) {
    if (id > 0 && id <= peer->last_id)
      count_stray(peer, MRPC_WARN_LATE, "late answer dropped",
                  "its call was answered, cancelled or timed out");
    else
      count_stray(peer, MRPC_WARN_UNKNOWN_ID, "stray answer dropped",
                  "unknown id");
    return;
  }
  mrpc_answer answer = {.is_error = is_error};
  uint32_t node = is_error ? e->error : e->result;
  answer.json = mrpc_doc_raw(doc, node, &answer.len);
  peer->answer_doc = doc;
  peer->answer_node = node;
  deliver(p, &answer);
  peer->answer_doc = NULL;
}

void mrpc_pending_taken(mrpc_peer *peer) {
  uint32_t at = 0;
  for (pending *p; (p = mrpc_map_next(&peer->pending, &at)) != NULL;) {
    if (!p->is_notice) continue;
    deliver(p, &(mrpc_answer){.json = "null", .len = 4});
    at = 0;
  }
}

void mrpc_pending_fail(mrpc_peer *peer, int result) {
  const mrpc_answer answer = {.result = result, .json = ""};
  for (;;) {
    uint32_t at = 0;
    pending *p = mrpc_map_next(&peer->pending, &at);
    if (!p) return;
    peer->is_moot |= peer->framing->vt->is_exchange;
    deliver(p, &answer);
  }
}

const mrpc_doc *mrpc_peer_answer_doc(const mrpc_peer *peer, uint32_t *node) {
  *node = peer->answer_node;
  return peer->answer_doc;
}
