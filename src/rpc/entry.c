/* SPDX-License-Identifier: MIT
 *
 * Every request becomes a call, even one that is refused: so an error takes
 * its place in the order of replies in the same way as a result. What is
 * refused as a notification is dropped without a word (JSON-RPC 2.0 §4.1). */
#include "rpc/entry.h"

#include "json/parse.h"
#include "json/write.h"
#include "rpc/cancel.h"
#include "rpc/envelope.h"
#include "rpc/id.h"
#include "rpc/keep.h"
#include "rpc/pending.h"

/* A method's name as decoded; `copy` is to be freed when it isn't NULL. */
typedef struct name {
  const char *text;
  size_t len;
  char *copy;
  size_t size;
} name;

static int read_name(const mrpc_env *env, const mrpc_doc *doc, uint32_t node,
                     name *out) {
  const mrpc_node *n = &doc->nodes[node];
  *out = (name){.text = doc->text + n->u.at.start, .len = n->size};
  if (!(n->flags & MRPC_JSON_ESCAPED)) return MRPC_OK;
  out->size = n->size;
  out->copy = mrpc_mem_resize(&env->mem, NULL, 0, out->size);
  if (!out->copy) return MRPC_ENOMEM;
  out->len = mrpc_json_unescape(out->text, n->size, out->copy);
  out->text = out->copy;
  return MRPC_OK;
}

/* A request that never starts. */
static void fail_request(mrpc_batch *batch, const mrpc_envelope *e,
                         const mrpc_error *error) {
  mrpc_call *call = mrpc_call_new(batch, e->id, false);
  if (!call) {
    mrpc_peer_lose(batch->peer);
    return;
  }
  mrpc_call_fail(call, error->code, error->message, error->message_len,
                 error->data, error->data_len);
}

MRPC_COLD static void refuse(mrpc_batch *batch, const mrpc_envelope *e,
                             int code, const char *message) {
  mrpc_peer *peer = batch->peer;
  bool is_request = e->kind == MRPC_ENVELOPE_REQUEST;
  const char *what = is_request ? "request refused" : "notification dropped";
  const char *why = mrpc_envelope_phrase(code);
  if (code == MRPC_BUSY)
    mrpc_peer_warn(peer, MRPC_WARN_BUSY, what, why);
  else
    mrpc_log(peer->env, MRPC_LOG_DEBUG, what, "peer", peer->address, "why", why,
             NULL);
  if (!is_request) return;
  if (!message) message = why;
  mrpc_error error = {.code = mrpc_dispatch_code(peer->dispatch, code),
                      .message = message,
                      .message_len = strlen(message)};
  fail_request(batch, e, &error);
}

/* The method isn't there, which is a slip more often than not. */
static void refuse_unknown(mrpc_batch *batch, const mrpc_envelope *e,
                           const name *called) {
  const mrpc_peer *peer = batch->peer;
  bool is_request = e->kind == MRPC_ENVELOPE_REQUEST;
  mrpc_error error = {.code = MRPC_METHOD_NOT_FOUND};
  mrpc_buf text, data;
  mrpc_buf_init(&text, &peer->env->mem, SIZE_MAX);
  mrpc_buf_init(&data, &peer->env->mem, SIZE_MAX);
  mrpc_dispatch_explain(peer->dispatch, called->text, called->len, &text);
  mrpc_buf_addc(&text, '\0');
  if (!text.err)
    mrpc_log(peer->env, MRPC_LOG_DEBUG,
             is_request ? "request refused" : "notification dropped", "peer",
             peer->address, "why", text.data, NULL);
  if (peer->explain && !text.err) {
    mrpc_json_write_text(&data, text.data, text.len - 1);
    error.data = data.err ? NULL : data.data;
    error.data_len = data.len;
  }
  if (is_request) fail_request(batch, e, &error);
  mrpc_buf_clear(&data);
  mrpc_buf_clear(&text);
}

/* The phrases of faults hold `"`, so that they are written as JSON. */
MRPC_COLD static void refuse_invalid(mrpc_batch *batch,
                                     const mrpc_envelope *e) {
  const mrpc_peer *peer = batch->peer;
  mrpc_log(peer->env, MRPC_LOG_DEBUG, "invalid request", "peer", peer->address,
           "what", e->fault, NULL);
  mrpc_error error = {.code = MRPC_INVALID_REQUEST};
  mrpc_buf data;
  mrpc_buf_init(&data, &peer->env->mem, SIZE_MAX);
  if (peer->explain) {
    mrpc_json_write_text(&data, e->fault, strlen(e->fault));
    error.data = data.err ? NULL : data.data;
    error.data_len = data.len;
  }
  fail_request(batch, e, &error);
  mrpc_buf_clear(&data);
}

static bool is_duplicate(const mrpc_batch *batch, const mrpc_envelope *e) {
  const mrpc_peer *peer = batch->peer;
  if (!peer->reject_duplicate_ids || e->kind != MRPC_ENVELOPE_REQUEST)
    return false;
  size_t len;
  const char *id = mrpc_envelope_id(&batch->loan->doc, e->id, &len);
  return mrpc_cancel_find(peer, id, len) != NULL;
}

/* May the method start? If not, the request is answered. */
static bool admit(mrpc_batch *batch, const mrpc_envelope *e) {
  const mrpc_peer *peer = batch->peer;
  if (peer->is_draining) {
    batch->is_refused = true;
    refuse(batch, e, MRPC_SHUTTING_DOWN, NULL);
  } else if (mrpc_peer_is_full(peer)) {
    refuse(batch, e, MRPC_BUSY, NULL);
  } else if (is_duplicate(batch, e)) {
    refuse(batch, e, MRPC_INVALID_REQUEST, "Invalid Request: duplicate id");
  } else {
    return true;
  }
  return false;
}

/* The call isn't answered yet, and its message goes. */
static void park(mrpc_batch *batch, mrpc_call *call) {
  if (mrpc_keep_headers(batch)) mrpc_peer_lose(batch->peer);
  if (batch->headers) mrpc_keep_share(call, batch);
  mrpc_call_park(call);
}

static void start(mrpc_batch *batch, const mrpc_envelope *e,
                  const mrpc_method *method, const name *called) {
  bool is_notification = e->kind == MRPC_ENVELOPE_NOTIFICATION;
  mrpc_call *call = mrpc_call_new(batch, e->id, is_notification);
  if (!call) {
    mrpc_peer_lose(batch->peer);
    return;
  }
  bool ended = false;
  call->ended = &ended;
  call->params = e->params;
  call->method = called->text;
  call->method_len = called->len;
  batch->has_started = true;
  if (batch->headers) mrpc_keep_share(call, batch);
  method->start(call, method->ud);
  if (!ended) park(batch, call);
}

static void run_method(mrpc_batch *batch, const mrpc_envelope *e) {
  mrpc_peer *peer = batch->peer;
  const mrpc_doc *doc = &batch->loan->doc;
  name called;
  if (read_name(peer->env, doc, e->method, &called)) {
    refuse(batch, e, MRPC_INTERNAL_ERROR, NULL);
    return;
  }
  bool is_request = e->kind == MRPC_ENVELOPE_REQUEST;
  if (is_request)
    peer->stats.requests++;
  else
    peer->stats.notifications++;
  const mrpc_method *method =
      mrpc_dispatch_find(peer->dispatch, called.text, called.len);
  bool is_taken =
      !method && !is_request &&
      mrpc_cancel_take(peer, doc, e->params, called.text, called.len);
  if (!method && !is_taken)
    method = mrpc_dispatch_default(peer->dispatch, called.text, called.len);
  if (!method && !is_taken)
    refuse_unknown(batch, e, &called);
  else if (method && admit(batch, e))
    start(batch, e, method, &called);
  if (called.copy) mrpc_mem_free(&peer->env->mem, called.copy, called.size);
}

/* An entry that was cancelled while it queued never starts. */
static bool is_cancelled(mrpc_batch *batch, const mrpc_envelope *e) {
  if (!batch->text || e->kind != MRPC_ENVELOPE_REQUEST) return false;
  uint16_t mark = batch->loan->doc.nodes[e->id].spare;
  if (mark == MRPC_ENTRY_CANCELLED)
    refuse(batch, e, MRPC_REQUEST_CANCELLED, NULL);
  return mark != 0;
}

/* A message that was mended has the envelope of the one before, but for its
 * version, which is a string. */
static void read_root(mrpc_loan *loan) {
  mrpc_envelope *e = &loan->envelope;
  if (loan->is_read && mrpc_envelope_has_version(&loan->doc, e)) return;
  mrpc_envelope_read(&loan->doc, 0, e);
  loan->is_read = !e->fault;
}

void mrpc_entry_run(mrpc_batch *batch, uint32_t node) {
  const mrpc_doc *doc = &batch->loan->doc;
  mrpc_envelope e;
  if (node == 0) {
    read_root(batch->loan);
    e = batch->loan->envelope;
  } else {
    mrpc_envelope_read(doc, node, &e);
  }
  switch (e.kind) {
    case MRPC_ENVELOPE_REQUEST:
    case MRPC_ENVELOPE_NOTIFICATION:
      if (!is_cancelled(batch, &e)) run_method(batch, &e);
      break;
    case MRPC_ENVELOPE_RESPONSE:
    case MRPC_ENVELOPE_BAD_RESPONSE:
      mrpc_pending_answer(batch->peer, doc, &e);
      break;
    case MRPC_ENVELOPE_INVALID: refuse_invalid(batch, &e); break;
  }
}
