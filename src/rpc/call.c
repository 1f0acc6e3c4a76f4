/* SPDX-License-Identifier: MIT
 *
 * A call lives from the start of its method to its one answer. While start
 * runs, its id, name and params are spans of the message; a call that isn't
 * answered by then is parked: it keeps its id, and the rest is gone.
 *
 * The answer goes where the batch says (see batch.c). A call that nobody
 * waits for, a notification or one whose caller has gone, writes into a buffer
 * of limit 0, which takes nothing. */
#include "rpc/call.h"

#include <assert.h>

#include "rpc/batch.h"
#include "rpc/envelope.h"
#include "rpc/keep.h"
#include "rpc/pool.h"

mrpc_call *mrpc_call_new(mrpc_batch *batch, uint32_t id, bool is_notification) {
  mrpc_peer *peer = batch->peer;
  mrpc_call *call = mrpc_pool_take_call(peer->dispatch);
  if (!call) return NULL;
  call->peer = peer;
  call->doc = &batch->loan->doc;
  call->params = MRPC_NO_NODE;
  call->method = "";
  call->method_len = 0;
  call->ended = NULL;
  call->id = "";
  call->id_len = 0;
  call->on_cancel = NULL;
  call->open = NULL;
  call->is_notification = is_notification;
  call->is_cancelled = false;
  call->is_done = false;
  call->owns = 0;
  call->batch = NULL;
  if (!is_notification) {
    call->batch = batch;
    call->id = mrpc_envelope_id(call->doc, id, &call->id_len);
    mrpc_list_insert(&batch->order, &call->in_batch);
    batch->waiting++;
  }
  mrpc_list_insert(&peer->calls, &call->in_peer);
  peer->stats.in_flight++;
  return call;
}

void mrpc_call_park(mrpc_call *call) {
  mrpc_keep(call);
  call->doc = NULL;
  call->params = MRPC_NO_NODE;
  call->method = "";
  call->method_len = 0;
  call->ended = NULL;
}

void mrpc_call_cancel(mrpc_call *call, bool is_silent) {
  call->is_cancelled = true;
  if (is_silent) mrpc_batch_settle(call->batch, call, false);
  mrpc_call_fn fn = call->on_cancel;
  call->on_cancel = NULL;
  if (fn) fn(call, call->cancel_ud);
}

/* What the method asks. */

const mrpc_doc *mrpc_call_doc(const mrpc_call *call, uint32_t *params) {
  *params = call->params;
  return call->doc;
}

const char *mrpc_call_params(const mrpc_call *call, size_t *len) {
  *len = 0;
  if (call->params == MRPC_NO_NODE) return "";
  return mrpc_doc_raw(call->doc, call->params, len);
}

const char *mrpc_call_method(const mrpc_call *call, size_t *len) {
  *len = call->method_len;
  return call->method;
}

const char *mrpc_call_id(const mrpc_call *call, size_t *len) {
  *len = call->id_len;
  return call->id;
}

bool mrpc_call_is_notification(const mrpc_call *call) {
  return call->is_notification;
}

mrpc_peer *mrpc_call_peer(const mrpc_call *call) {
  return call->peer;
}

bool mrpc_call_is_cancelled(const mrpc_call *call) {
  return call->is_cancelled;
}

void mrpc_call_on_cancel(mrpc_call *call, mrpc_call_fn fn, void *ud) {
  if (call->is_cancelled) {
    if (fn) fn(call, ud);
    return;
  }
  call->on_cancel = fn;
  call->cancel_ud = ud;
}

/* The answer. */

/* The call is over. */
static void end(mrpc_call *call, bool is_answered) {
  mrpc_peer *peer = call->peer;
  if (call->ended) *call->ended = true;
  if (call->owns) mrpc_keep_drop(call);
  mrpc_list_remove(&call->in_peer);
  if (peer) peer->stats.in_flight--;
  if (call->batch) mrpc_batch_settle(call->batch, call, is_answered);
  if (!call->batch) mrpc_pool_give_call(call);
  if (peer) mrpc_peer_changed(peer);
}

static mrpc_buf *open_answer(mrpc_call *call) {
  assert(!call->open);
  if (call->batch) {
    call->open = mrpc_batch_place(call->batch, call);
  } else {
    call->open = &call->stash;
    call->open->limit = 0;
    call->mark = 0;
  }
  return call->open;
}

static void add_too_large(const mrpc_call *call, mrpc_buf *buf) {
  const int code = MRPC_REPLY_TOO_LARGE;
  mrpc_envelope_add_limit(buf, mrpc_dispatch_code(call->dispatch, code),
                          mrpc_envelope_phrase(code), "reply exceeds",
                          call->peer->limits.reply, "bytes");
}

static void add_end(const mrpc_call *call, mrpc_buf *buf) {
  mrpc_envelope_close(buf, call->id, call->id_len);
  /* A pooled buffer may have more room than the limit allows. */
  if (buf->err == MRPC_OK && buf->len > buf->limit) buf->err = MRPC_ELIMIT;
  mrpc_batch_seal(call->batch, buf);
}

/* `json`, a text of somebody else's, stands in the answer: what would end that
 * can only be white space in it. */
static void clean(const mrpc_call *call, mrpc_buf *buf, const char *json,
                  size_t len) {
  char end = call->peer ? call->peer->framing->vt->end : 0;
  if (end && len && memchr(json, end, len))
    mrpc_buf_replace(buf, call->mark, buf->len - call->mark, end, ' ');
}

/* The answer can't stand: an error takes its place. False when there is no
 * memory even for that. */
MRPC_COLD static bool substitute(mrpc_call *call, mrpc_buf *buf, int why) {
  mrpc_batch_replace(call->batch, call, buf);
  if (why == MRPC_ELIMIT)
    add_too_large(call, buf);
  else
    mrpc_envelope_add_error(buf, &(mrpc_error){.code = MRPC_INTERNAL_ERROR});
  add_end(call, buf);
  if (buf->err == MRPC_OK) return true;
  mrpc_buf_truncate(buf, call->mark);
  mrpc_peer_lose(call->peer);
  return false;
}

static int close_answer(mrpc_call *call, bool is_error) {
  mrpc_buf *buf = call->open;
  call->open = NULL;
  bool is_answered = call->batch != NULL;
  int rc = MRPC_OK;
  if (is_answered) {
    add_end(call, buf);
    rc = buf->err;
    if (rc) is_answered = substitute(call, buf, rc);
    if (rc || is_error) call->peer->stats.errors++;
  } else {
    mrpc_buf_truncate(buf, 0);
  }
  end(call, is_answered);
  return rc;
}

mrpc_buf *mrpc_call_open_result(mrpc_call *call) {
  mrpc_buf *buf = open_answer(call);
  mrpc_envelope_open(buf);
  return buf;
}

int mrpc_call_close_result(mrpc_call *call) {
  return close_answer(call, false);
}

void mrpc_call_undo_result(mrpc_call *call) {
  mrpc_buf_truncate(call->open, call->mark);
  call->open->limit = SIZE_MAX;
  call->open = NULL;
}

int mrpc_call_reply(mrpc_call *call, const char *json, size_t len) {
  mrpc_buf *buf = mrpc_call_open_result(call);
  mrpc_buf_add(buf, json, len);
  clean(call, buf, json, len);
  return mrpc_call_close_result(call);
}

int mrpc_call_fail(mrpc_call *call, int64_t code, const char *message,
                   size_t message_len, const char *data, size_t data_len) {
  mrpc_error error = {code, message, message_len, data, data_len};
  mrpc_buf *buf = open_answer(call);
  mrpc_envelope_add_error(buf, &error);
  clean(call, buf, data, data_len);
  return close_answer(call, true);
}

int mrpc_call_error(mrpc_call *call, int code, const char *message,
                    const char *data) {
  if (!message) message = mrpc_envelope_phrase(code);
  return mrpc_call_fail(call, mrpc_dispatch_code(call->dispatch, code), message,
                        strlen(message), data, data ? strlen(data) : 0);
}
