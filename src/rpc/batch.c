/* SPDX-License-Identifier: MIT
 *
 * The reply grows in request order:
 *
 *   reply: [ r1, r2          order: c3 (waits)  c4 (done, stash)  c5 (waits)
 *
 * A call at the head of `order` writes straight into `reply`; one behind it
 * writes into a stash of its own, which is moved over when its turn comes. So
 * a batch whose methods answer at once never copies. Where a reply needs
 * nothing before it, the answer to a single call is written right into the
 * output.
 *
 * The reply is bounded. Results may not use the room that error replies of the
 * entries still open would need, so that an entry which doesn't fit can always
 * be told so; only ids longer than the reserve allows for may pass the bound,
 * by their own length. */
#include "rpc/batch.h"

#include "json/parse.h"
#include "rpc/cancel.h"
#include "rpc/entry.h"
#include "rpc/envelope.h"
#include "rpc/keep.h"
#include "rpc/pool.h"

enum { PLACE = 256 }; /* bytes of output that most answers fit in */

static void finish(mrpc_batch *batch);

/* Text that is sent when there is no memory to make any. */
static const char no_memory[] =
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":"
    "\"Internal error\"},\"id\":null}";

static void put_no_memory(mrpc_peer *peer, uint64_t token) {
  mrpc_peer_put(peer, token, no_memory, sizeof no_memory - 1,
                MRPC_OUTCOME_ANSWERED);
}

/* Sends the error that begins in `reply`, with a null id, and clears it. */
static void put_error(mrpc_peer *peer, uint64_t token, mrpc_buf *reply) {
  mrpc_envelope_close(reply, "null", 4);
  peer->stats.errors++;
  if (reply->err)
    put_no_memory(peer, token);
  else
    mrpc_peer_put(peer, token, reply->data, reply->len, MRPC_OUTCOME_ANSWERED);
  mrpc_buf_clear(reply);
}

void mrpc_batch_refuse(mrpc_peer *peer, uint64_t token, const char *what,
                       uint64_t limit, const char *unit) {
  mrpc_buf reply;
  mrpc_buf_init(&reply, &peer->env->mem, SIZE_MAX);
  mrpc_envelope_add_limit(&reply, MRPC_INVALID_REQUEST,
                          mrpc_envelope_phrase(MRPC_INVALID_REQUEST), what,
                          limit, unit);
  put_error(peer, token, &reply);
}

void mrpc_batch_break(mrpc_peer *peer, const char *why) {
  mrpc_buf reply, text;
  mrpc_buf_init(&reply, &peer->env->mem, SIZE_MAX);
  mrpc_buf_init(&text, &peer->env->mem, SIZE_MAX);
  mrpc_buf_adds(&text, mrpc_envelope_phrase(MRPC_PARSE_ERROR));
  mrpc_buf_lit(&text, ": ");
  mrpc_buf_adds(&text, why);
  mrpc_error error = {.code = MRPC_PARSE_ERROR};
  if (text.err == MRPC_OK && *why) {
    error.message = text.data;
    error.message_len = text.len;
  }
  mrpc_envelope_add_error(&reply, &error);
  put_error(peer, 0, &reply);
  mrpc_buf_clear(&text);
}

/* Answers text that is no JSON; what is wrong goes to the log, and to the peer
 * if it is to be explained. */
static void garble(const mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  const mrpc_doc *doc = &batch->loan->doc;
  mrpc_buf reply, text;
  mrpc_buf_init(&reply, &peer->env->mem, SIZE_MAX);
  mrpc_buf_init(&text, &peer->env->mem, SIZE_MAX);
  mrpc_buf_addc(&text, '"');
  mrpc_buf_adds(&text, doc->error);
  mrpc_buf_lit(&text, " at byte ");
  mrpc_buf_addu(&text, doc->error_at);
  mrpc_buf_addc(&text, '\0');
  mrpc_error error = {.code = MRPC_PARSE_ERROR};
  if (text.err == MRPC_OK) {
    mrpc_log(peer->env, MRPC_LOG_DEBUG, "message is no JSON", "peer",
             peer->address, "what", text.data + 1, NULL);
    text.data[text.len - 1] = '"';
    error.data = peer->explain ? text.data : NULL;
    error.data_len = text.len;
  }
  mrpc_envelope_add_error(&reply, &error);
  put_error(peer, batch->token, &reply);
  mrpc_buf_clear(&text);
}

MRPC_COLD static void refuse_parse(mrpc_batch *batch, int rc) {
  mrpc_peer *peer = batch->peer;
  if (rc == MRPC_ENOMEM)
    put_no_memory(peer, batch->token);
  else if (rc == MRPC_ELIMIT)
    mrpc_batch_refuse(peer, batch->token, "nested deeper than",
                      peer->limits.depth, "levels (limits.depth)");
  else
    garble(batch);
}

/* Counts the entries; they must be within the limit before any runs. False
 * when the message is answered already. */
static bool open_entries(mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  const mrpc_node *root = batch->loan->doc.nodes;
  batch->is_array = root->type == MRPC_JSON_ARRAY && root->size > 0;
  batch->next = batch->is_array;
  batch->left = batch->is_array ? root->size : 1;
  if (batch->left > peer->limits.batch) {
    mrpc_batch_refuse(peer, batch->token, "batch exceeds", peer->limits.batch,
                      "entries (limits.batch)");
    return false;
  }
  size_t reply = peer->limits.reply;
  if (reply == MRPC_UNLIMITED) reply = SIZE_MAX;
  size_t least = (size_t)batch->left * MRPC_ENTRY_RESERVE;
  batch->bound = reply > least ? reply : least;
  return true;
}

void mrpc_batch_take(mrpc_peer *peer, const mrpc_message *msg) {
  mrpc_batch *batch = mrpc_pool_take_batch(peer);
  if (!batch) {
    put_no_memory(peer, msg->token);
    return;
  }
  batch->token = msg->token;
  mrpc_loan *loan = batch->loan;
  bool mended;
  int rc = mrpc_repeat_parse(&loan->before, &loan->doc, msg->bytes, msg->len,
                             peer->limits.depth, &mended);
  loan->is_read &= mended;
  if (rc == MRPC_OK && open_entries(batch)) {
    mrpc_batch_run(batch);
    return;
  }
  if (rc) refuse_parse(batch, rc);
  mrpc_pool_give_batch(batch);
}

/* Finds the ids of the requests that are left, so that each cancel needn't. */
static bool keep_ids(mrpc_batch *batch) {
  const mrpc_doc *doc = &batch->loan->doc;
  batch->ids = mrpc_mem_resize(&batch->peer->env->mem, NULL, 0,
                               batch->left * sizeof *batch->ids);
  if (!batch->ids) return false;
  batch->id_count = batch->left;
  uint32_t node = batch->next;
  for (uint32_t i = 0; i < batch->id_count; i++) {
    mrpc_envelope e;
    mrpc_envelope_read(doc, node, &e);
    bool is_request = e.kind == MRPC_ENVELOPE_REQUEST;
    batch->ids[i] = is_request ? e.id : MRPC_NO_NODE;
    node = mrpc_doc_next(doc, node);
  }
  return true;
}

/* Keeps the message beyond the receive that it came with. */
static bool keep_text(mrpc_batch *batch) {
  mrpc_doc *doc = &batch->loan->doc;
  mrpc_repeat_forget(&batch->loan->before); /* cancels mark its nodes */
  if (!keep_ids(batch) || mrpc_keep_headers(batch)) return false;
  batch->text = mrpc_mem_copy(&batch->peer->env->mem, doc->text, doc->len);
  if (!batch->text) return false;
  batch->text_len = doc->len;
  doc->text = batch->text;
  return true;
}

/* A new batch goes to the end of the queue, one from there back to its front.
 */
MRPC_COLD static void queue(mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  mrpc_link *place = batch->text ? peer->queued.next : &peer->queued;
  if (!batch->text && !keep_text(batch)) {
    mrpc_peer_lose(peer);
    return;
  }
  mrpc_list_move(place, &batch->link);
}

/* Nothing else is left of the message than notifications for methods. */
static bool is_all_notes(const mrpc_batch *batch) {
  const mrpc_doc *doc = &batch->loan->doc;
  uint32_t node = batch->next;
  for (uint32_t left = batch->left; left; left--) {
    mrpc_envelope e;
    mrpc_envelope_read(doc, node, &e);
    if (e.kind != MRPC_ENVELOPE_NOTIFICATION || mrpc_cancel_is(doc, e.method))
      return false;
    node = mrpc_doc_next(doc, node);
  }
  return true;
}

/* While a call of ours waits for the other side, its messages are read on
 * (else both sides might wait for ever): what is for us gets through, new
 * requests are refused at once. Messages of notifications, which can't be
 * refused, queue as far as output may be held; what queues already keeps its
 * place. */
static bool must_queue(mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  if (!mrpc_peer_is_full(peer)) return false;
  if (batch->text || !peer->pending.count) return true;
  size_t len = batch->loan->doc.len;
  if (batch->reply.len) return false;
  batch->is_behind =
      peer->behind + len <= peer->limits.output && is_all_notes(batch);
  if (batch->is_behind) peer->behind += len;
  return batch->is_behind;
}

void mrpc_batch_run(mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  mrpc_list_move(&peer->batches, &batch->link);
  batch->is_running = true;
  while (batch->left && !peer->is_lost && !must_queue(batch)) {
    uint32_t node = batch->next;
    batch->next = mrpc_doc_next(&batch->loan->doc, node);
    batch->left--;
    mrpc_entry_run(batch, node);
  }
  batch->is_running = false;
  if (peer->is_lost) return;
  if (batch->left)
    queue(batch);
  else if (mrpc_list_is_empty(&batch->order))
    finish(batch);
  else
    mrpc_pool_give_loan(batch);
}

void mrpc_batch_abandon(mrpc_batch *batch) {
  while (!mrpc_list_is_empty(&batch->order)) {
    mrpc_call *call = mrpc_list_of(batch->order.next, mrpc_call, in_batch);
    mrpc_list_remove(&call->in_batch);
    call->batch = NULL;
    if (call->is_done) mrpc_pool_give_call(call);
  }
  mrpc_pool_give_batch(batch);
}

static bool is_first(const mrpc_batch *batch, const mrpc_call *call) {
  return batch->order.next == &call->in_batch;
}

static void separate(const mrpc_batch *batch, mrpc_buf *buf) {
  if (!batch->is_array || buf != &batch->reply) return;
  mrpc_buf_addc(buf, buf->len ? ',' : '[');
}

/* Bytes of the whole reply that one more result may fill up to. */
static size_t room(const mrpc_batch *batch) {
  size_t open = (size_t)batch->waiting - 1 + batch->left;
  size_t kept = open * MRPC_ENTRY_RESERVE + batch->stashed + batch->is_array;
  return batch->bound > kept ? batch->bound - kept : 0;
}

/* The room is made before the limit is set, or each reply that comes near it
 * would make the output larger by no more than itself. */
static mrpc_buf *place_single(mrpc_batch *batch, mrpc_call *call) {
  const mrpc_peer *peer = batch->peer;
  const mrpc_framing_vt *vt = peer->framing->vt;
  mrpc_buf *buf = &batch->reply;
  batch->is_placed = vt->end && !peer->is_lost;
  if (batch->is_placed) {
    buf = &peer->framing->out;
    mrpc_buf_reserve(buf, PLACE);
  }
  call->mark = buf->len;
  bool is_bounded = batch->bound < SIZE_MAX - buf->len;
  buf->limit = is_bounded ? buf->len + batch->bound : SIZE_MAX;
  return buf;
}

mrpc_buf *mrpc_batch_place(mrpc_batch *batch, mrpc_call *call) {
  if (!batch->is_array) return place_single(batch, call);
  size_t limit = room(batch);
  mrpc_buf *buf = &batch->reply;
  if (!is_first(batch, call)) {
    buf = &call->stash;
    limit = limit > batch->reply.len ? limit - batch->reply.len : 0;
  }
  buf->limit = limit;
  call->mark = buf->len;
  separate(batch, buf);
  return buf;
}

void mrpc_batch_replace(mrpc_batch *batch, mrpc_call *call, mrpc_buf *buf) {
  mrpc_buf_truncate(buf, call->mark);
  buf->limit = SIZE_MAX;
  separate(batch, buf);
}

void mrpc_batch_seal(mrpc_batch *batch, mrpc_buf *buf) {
  if (!batch->is_placed) return;
  buf->limit = SIZE_MAX;
  mrpc_buf_addc(buf, batch->peer->framing->vt->end);
}

/* Moves the answer of a call whose turn has come into the reply. */
__attribute__((noinline)) static void unstash(mrpc_batch *batch,
                                              mrpc_call *call) {
  mrpc_buf *reply = &batch->reply;
  reply->limit = SIZE_MAX;
  separate(batch, reply);
  mrpc_buf_add(reply, call->stash.data, call->stash.len);
  if (reply->err) mrpc_peer_lose(batch->peer);
  batch->stashed -= call->stash.len;
  mrpc_list_remove(&call->in_batch);
  call->batch = NULL;
  mrpc_pool_give_call(call);
}

/* The head of the order has changed. */
static void flush(mrpc_batch *batch) {
  while (!mrpc_list_is_empty(&batch->order)) {
    mrpc_call *call = mrpc_list_of(batch->order.next, mrpc_call, in_batch);
    if (!call->is_done) return;
    unstash(batch, call);
  }
}

static mrpc_outcome outcome_of(const mrpc_batch *batch) {
  if (batch->is_refused && !batch->has_started) return MRPC_OUTCOME_DRAINING;
  return batch->reply.len ? MRPC_OUTCOME_ANSWERED : MRPC_OUTCOME_SILENT;
}

/* Everything is answered: sends the reply. */
static void finish(mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  mrpc_buf *reply = &batch->reply;
  reply->limit = SIZE_MAX;
  if (batch->is_array && reply->len) mrpc_buf_addc(reply, ']');
  if (batch->is_placed)
    mrpc_peer_added(peer);
  else if (reply->err)
    mrpc_peer_lose(peer);
  else
    mrpc_peer_put(peer, batch->token, reply->data, reply->len,
                  outcome_of(batch));
  mrpc_pool_give_batch(batch);
}

void mrpc_batch_settle(mrpc_batch *batch, mrpc_call *call, bool is_answered) {
  batch->waiting--;
  bool first = is_first(batch, call);
  if (is_answered && !first) {
    call->is_done = true;
    batch->stashed += call->stash.len;
    return;
  }
  mrpc_list_remove(&call->in_batch);
  call->batch = NULL;
  if (first) flush(batch);
  bool is_over = !batch->is_running && batch->left == 0 &&
                 mrpc_list_is_empty(&batch->order);
  if (is_over) finish(batch);
}
