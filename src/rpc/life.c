/* SPDX-License-Identifier: MIT
 *
 * How a peer begins, and its ways to end. Two are the conversation's own (all
 * that was owed is sent, or the last message is through), and two cut it
 * short: a dead connection and the lack of memory. Those cancel the calls in
 * and fail the calls out, but never from inside an answer or on_wake, whose
 * caller may be one of them: then the timer does it, at once.
 *
 * A notification that HTTP has answered is no part of the conversation any
 * more: it goes on, and the peer with it, until it has ended. */
#include <assert.h>
#include <stdio.h>

#include "rpc/batch.h"
#include "rpc/pending.h"
#include "rpc/pool.h"

static void init(mrpc_peer *peer, const mrpc_peer_config *config) {
  const mrpc_mem *mem = &config->env->mem;
  peer->env = config->env;
  peer->dispatch = config->dispatch;
  if (config->limits) peer->limits = *config->limits;
  mrpc_limits_init(&peer->limits);
  peer->transport = config->transport ? config->transport : "";
  peer->on_wake = config->on_wake;
  peer->ud = config->ud;
  peer->explain = config->explain;
  peer->reject_duplicate_ids = config->reject_duplicate_ids;
  mrpc_buf_init(&peer->rest, mem, SIZE_MAX);
  mrpc_buf_init(&peer->sending, mem, SIZE_MAX);
  mrpc_buf_init(&peer->batch, mem, SIZE_MAX);
  mrpc_list_init(&peer->batches);
  mrpc_list_init(&peer->queued);
  mrpc_list_init(&peer->calls);
  mrpc_map_init(&peer->pending, mem, config->env->seed);
}

int mrpc_peer_new(const mrpc_peer_config *config, mrpc_framing *framing,
                  mrpc_peer **out) {
  const mrpc_mem *mem = &config->env->mem;
  const char *address = config->address ? config->address : "";
  size_t len = strlen(address);
  mrpc_peer *peer = mrpc_mem_new(mem, sizeof *peer);
  char *copy = peer ? mrpc_mem_copy(mem, address, len) : NULL;
  if (copy) init(peer, config);
  if (!copy || mrpc_deadline_open(peer)) {
    mrpc_mem_free(mem, copy, len + 1);
    mrpc_mem_free(mem, peer, sizeof *peer);
    framing->vt->free(framing);
    return MRPC_ENOMEM;
  }
  peer->address = copy;
  peer->address_len = len;
  peer->framing = framing;
  framing->peer = copy;
  peer->dispatch->users++;
  peer->id = ++peer->dispatch->last_peer;
  mrpc_open_arm(peer);
  mrpc_deadline_update(peer);
  *out = peer;
  return MRPC_OK;
}

void mrpc_peer_free(mrpc_peer *peer) {
  if (!peer) return;
  assert(!peer->is_busy && !peer->is_waking);
  mrpc_peer_abandon(peer);
  mrpc_deadline_close(peer);
  peer->framing->vt->free(peer->framing);
  mrpc_buf_clear(&peer->rest);
  mrpc_buf_clear(&peer->sending);
  mrpc_buf_clear(&peer->batch);
  mrpc_map_clear(&peer->pending);
  mrpc_dispatch_release(peer->dispatch);
  const mrpc_mem *mem = &peer->env->mem;
  mrpc_mem_free(mem, peer->address, peer->address_len + 1);
  mrpc_mem_free(mem, peer, sizeof *peer);
}

static void abandon_batches(mrpc_link *head) {
  while (!mrpc_list_is_empty(head))
    mrpc_batch_abandon(mrpc_list_of(head->next, mrpc_batch, link));
}

/* Do its notifications go on without the connection? */
static bool spares_notes(const mrpc_peer *peer) {
  return peer->framing->vt->keeps_notes && !peer->is_abandoned;
}

/* Takes the calls that are to be cancelled away from the peer. */
static void detach_calls(mrpc_peer *peer, mrpc_link *to) {
  bool spares = spares_notes(peer);
  mrpc_link *calls = &peer->calls;
  for (mrpc_link *l = calls->next, *next; l != calls; l = next) {
    next = l->next;
    mrpc_call *call = mrpc_list_of(l, mrpc_call, in_peer);
    if (spares && call->is_notification) continue;
    mrpc_list_move(to, l);
    call->peer = NULL;
    peer->stats.in_flight--;
  }
}

/* First all are detached, then they are told: what they do then can't reach
 * the peer any more. */
static void cancel_calls(mrpc_peer *peer) {
  mrpc_link gone;
  mrpc_list_init(&gone);
  detach_calls(peer, &gone);
  peer->kept = 0;
  while (!mrpc_list_is_empty(&gone)) {
    mrpc_link *link = gone.next;
    mrpc_list_remove(link);
    mrpc_call_cancel(mrpc_list_of(link, mrpc_call, in_peer), false);
  }
}

/* A second time is for what the first has spared. */
void mrpc_peer_end(mrpc_peer *peer) {
  bool was_busy = peer->is_busy, was_over = peer->is_over;
  peer->is_busy = true;
  peer->is_over = true;
  peer->is_lost = true;
  peer->is_read = true;
  peer->close_at = UINT64_MAX;
  mrpc_peer_clear_rest(peer);
  abandon_batches(&peer->queued);
  abandon_batches(&peer->batches);
  cancel_calls(peer);
  mrpc_pending_fail(peer, MRPC_ECLOSED);
  if (!was_over) mrpc_open_end(peer);
  peer->is_busy = was_busy;
}

/* Lets the timer do at once what can't be done from here. */
static void put_off(mrpc_peer *peer) {
  if (peer->is_busy || peer->is_over) return;
  peer->is_due = true;
  mrpc_deadline_update(peer);
}

void mrpc_peer_drop(mrpc_peer *peer) {
  peer->is_dropped = true;
  peer->is_lost = true;
  if (peer->is_busy || peer->is_waking)
    put_off(peer);
  else
    mrpc_peer_end(peer);
}

void mrpc_peer_abandon(mrpc_peer *peer) {
  peer->is_abandoned = true;
  mrpc_peer_drop(peer);
}

void mrpc_peer_lose(mrpc_peer *peer) {
  peer->failed = MRPC_ENOMEM;
  peer->is_lost = true;
  put_off(peer);
}

void mrpc_peer_drain(mrpc_peer *peer) {
  mrpc_framing *f = peer->framing;
  if (peer->is_draining || peer->is_over) return;
  peer->is_draining = true;
  if (f->vt->drain) f->vt->drain(f);
  if (f->closing) put_off(peer);
  mrpc_deadline_update(peer);
}

/* Without words of its own for the end, a framing isn't asked for more
 * messages; else it listens until the other side has heard them. What waits
 * for the end of input is done when the embedder's call, or the timer, leaves
 * the peer. */
void mrpc_peer_close(mrpc_peer *peer, const char *reason) {
  mrpc_framing *f = peer->framing;
  if (peer->is_closing || peer->is_over) return;
  if (f->vt->close)
    f->vt->close(f, reason);
  else if (f->vt->drain && !peer->is_draining)
    f->vt->drain(f);
  peer->is_closing = true;
  peer->is_draining = true;
  peer->is_read |= !f->vt->close;
  peer->close_at = mrpc_env_after(peer->env, peer->limits.half_closed);
  put_off(peer);
}

/* What the embedder asks. */

/* Has everything come to its end, output aside? A framing that can drain, or
 * close, says by itself when its last message is through. */
static bool is_ended(const mrpc_peer *peer) {
  if (peer->is_over) return peer->stats.in_flight == 0;
  const mrpc_framing *f = peer->framing;
  bool is_silent = peer->is_closing ? !f->vt->close : !f->vt->drain;
  bool is_last =
      peer->is_read || f->closing || (peer->is_draining && is_silent);
  return is_last && peer->stats.in_flight == 0 && peer->rest.len == 0 &&
         mrpc_list_is_empty(&peer->queued);
}

bool mrpc_peer_is_done(const mrpc_peer *peer) {
  if (peer->is_dropped)
    return !spares_notes(peer) || peer->stats.in_flight == 0;
  return is_ended(peer) && mrpc_output_waiting(peer) == 0;
}

bool mrpc_peer_is_dropped(const mrpc_peer *peer) {
  return peer->is_dropped;
}

void mrpc_peer_get_stats(const mrpc_peer *peer, mrpc_peer_stats *out) {
  *out = peer->stats;
  out->pending = peer->pending.count;
  out->held = mrpc_output_held(peer);
}

void *mrpc_peer_ud(const mrpc_peer *peer) {
  return peer->ud;
}

const char *mrpc_peer_transport(const mrpc_peer *peer) {
  return peer->transport;
}

const char *mrpc_peer_address(const mrpc_peer *peer) {
  return peer->address;
}

uint64_t mrpc_peer_id(const mrpc_peer *peer) {
  return peer->id;
}

double mrpc_peer_half_closed(const mrpc_peer *peer) {
  return peer->limits.half_closed;
}

mrpc_framing *mrpc_peer_framing(const mrpc_peer *peer) {
  return peer->framing;
}

void mrpc_peer_reason(const mrpc_peer *peer, char *text, size_t size) {
  const mrpc_framing *f = peer->framing;
  *text = '\0';
  if (f->vt->explain) f->vt->explain(f, text, size);
  if (!*text && f->error) snprintf(text, size, "%s", f->error);
}

int mrpc_peer_warn_level(mrpc_peer *peer, mrpc_warning kind) {
  bool is_first = !(peer->warned & 1U << kind);
  peer->warned |= 1U << kind;
  return is_first ? MRPC_LOG_WARN : MRPC_LOG_DEBUG;
}

void mrpc_peer_warn(mrpc_peer *peer, mrpc_warning kind, const char *what,
                    const char *why) {
  mrpc_log(peer->env, mrpc_peer_warn_level(peer, kind), what, "peer",
           peer->address, "why", why, NULL);
}
