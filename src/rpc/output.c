/* SPDX-License-Identifier: MIT
 *
 * Output goes through two buffers that change places: the framing writes into
 * its own while the other stands still for the embedder to send. */
#include <assert.h>

#include "rpc/core.h"

enum { KEEP = 1024 }; /* bytes of buffer that an idle peer keeps */

size_t mrpc_output_waiting(const mrpc_peer *peer) {
  return peer->sending.len - peer->sent + peer->framing->out.len;
}

size_t mrpc_output_held(const mrpc_peer *peer) {
  return mrpc_output_waiting(peer) + peer->framing->held;
}

void mrpc_output_check(mrpc_peer *peer) {
  if (mrpc_output_held(peer) > peer->limits.output) peer->is_choked = true;
}

void mrpc_peer_added(mrpc_peer *peer) {
  peer->has_news = true;
  mrpc_output_check(peer);
}

void mrpc_peer_put(mrpc_peer *peer, uint64_t token, const char *bytes,
                   size_t len, mrpc_outcome outcome) {
  mrpc_framing *f = peer->framing;
  if (peer->is_lost) return;
  int rc = len ? f->vt->put(f, token, bytes, len, outcome)
               : f->vt->none(f, token, outcome);
  if (rc) mrpc_peer_lose(peer);
  mrpc_peer_added(peer);
}

bool mrpc_peer_can_push(const mrpc_peer *peer) {
  const mrpc_framing *f = peer->framing;
  return !peer->is_lost && !peer->is_closing && f->vt->push &&
         f->vt->can_push(f);
}

bool mrpc_peer_is_choked(const mrpc_peer *peer) {
  return peer->is_choked;
}

/* What we say unasked is bounded by one message beyond limits.output. A method
 * may say much before its caller's recv returns, or the loop turns: that alone
 * doesn't mean that the other side doesn't read. */
int mrpc_output_make_room(mrpc_peer *peer) {
  if (!peer->is_choked || !mrpc_peer_can_push(peer)) return MRPC_OK;
  if (!peer->is_waking) mrpc_peer_ask(peer);
  return mrpc_output_held(peer) > peer->limits.output ? MRPC_ELIMIT : MRPC_OK;
}

int mrpc_peer_push(mrpc_peer *peer, const char *json, size_t len) {
  int rc = mrpc_output_make_room(peer);
  return rc ? rc : mrpc_output_push(peer, json, len);
}

/* All or nothing of a message of the batch. */
static int gather(mrpc_buf *batch, const char *json, size_t len) {
  size_t mark = batch->len;
  mrpc_buf_addc(batch, mark ? ',' : '[');
  mrpc_buf_add(batch, json, len);
  int rc = batch->err;
  if (rc) mrpc_buf_truncate(batch, mark);
  return rc;
}

void mrpc_peer_batch_begin(mrpc_peer *peer) {
  peer->is_gathering = true;
}

/* The calls of a batch that can't be sent are told with all others. */
int mrpc_peer_batch_end(mrpc_peer *peer) {
  mrpc_buf *batch = &peer->batch;
  int rc = MRPC_OK;
  peer->is_gathering = false;
  if (batch->len) {
    mrpc_buf_addc(batch, ']');
    rc = batch->err ? batch->err
                    : mrpc_output_push(peer, batch->data, batch->len);
  }
  if (rc && rc != MRPC_ESTATE) mrpc_peer_lose(peer);
  mrpc_buf_truncate(batch, 0);
  mrpc_buf_relax(batch, KEEP);
  return rc;
}

int mrpc_output_push(mrpc_peer *peer, const char *json, size_t len) {
  if (!mrpc_peer_can_push(peer)) return MRPC_ESTATE;
  if (peer->is_gathering) return gather(&peer->batch, json, len);
  int rc = peer->framing->vt->push(peer->framing, json, len);
  if (rc) return rc;
  mrpc_peer_added(peer);
  mrpc_peer_changed(peer);
  return MRPC_OK;
}

static void swap(mrpc_buf *a, mrpc_buf *b) {
  mrpc_buf other = *a;
  *a = *b;
  *b = other;
}

size_t mrpc_peer_output(mrpc_peer *peer, const char **bytes) {
  *bytes = "";
  if (peer->is_dropped) return 0;
  mrpc_buf *sending = &peer->sending;
  if (sending->len == 0 && peer->framing->out.len) {
    swap(sending, &peer->framing->out);
    peer->write_at = mrpc_env_after(peer->env, peer->limits.write_time);
    mrpc_deadline_update(peer);
  }
  if (sending->len) *bytes = sending->data + peer->sent;
  return sending->len - peer->sent;
}

void mrpc_peer_sent(mrpc_peer *peer, size_t len) {
  mrpc_buf *sending = &peer->sending;
  if (len == 0 || peer->is_dropped) return;
  assert(len <= sending->len - peer->sent);
  peer->sent += len;
  peer->write_at = UINT64_MAX;
  if (peer->sent < sending->len) {
    peer->write_at = mrpc_env_after(peer->env, peer->limits.write_time);
  } else {
    peer->sent = 0;
    mrpc_buf_truncate(sending, 0);
    mrpc_buf_relax(sending, KEEP);
  }
  if (peer->is_choked && mrpc_output_held(peer) <= peer->limits.output / 2) {
    peer->is_choked = false;
    mrpc_peer_changed(peer);
  }
}
