/* SPDX-License-Identifier: MIT
 *
 * The loop of one conversation. Bytes go through the framing, message by
 * message, as far as the limits let them; what they hold back stays in `rest`
 * until calls have ended or output has left. `is_busy` marks that one of the
 * embedder's own calls is on the stack: it sees afterwards what has changed,
 * so on_wake is for all other times, but for output that grows too long
 * meanwhile (see output.c).
 *
 * Nothing in here calls back into handlers from inside an answer: what an
 * answer makes possible (more input, the end for lack of memory) is put off
 * to the peer's timer, due at once. */
#include "rpc/peer.h"

#include <assert.h>
#include <string.h>

#include "rpc/batch.h"
#include "rpc/pending.h"

enum { LARGE = 1024 }; /* bytes of a message */

static void finish_input(mrpc_peer *peer);
static void close_input(mrpc_peer *peer);
static void stop_reading(mrpc_peer *peer);

/* Is a limit reached? While a call of ours waits for the other side its
 * messages are taken all the same, for its answer is among them. */
static bool is_limited(const mrpc_peer *peer) {
  if (peer->is_choked) return true;
  if (peer->pending.count) return false;
  return mrpc_peer_is_full(peer) || !mrpc_list_is_empty(&peer->queued);
}

static bool may_unqueue(const mrpc_peer *peer) {
  return !mrpc_list_is_empty(&peer->queued) && !mrpc_peer_is_full(peer);
}

static bool is_stopped(const mrpc_peer *peer) {
  return peer->is_read || peer->framing->closing || peer->is_lost;
}

static void enter(mrpc_peer *peer) {
  assert(!peer->is_busy);
  peer->is_busy = true;
}

static void leave(mrpc_peer *peer) {
  if (peer->is_closing) close_input(peer);
  if (peer->framing->closing) stop_reading(peer);
  if (peer->is_lost) mrpc_peer_end(peer);
  peer->is_busy = false;
  peer->has_news = false;
  peer->is_held = peer->rest.len > 0 || is_limited(peer);
  mrpc_deadline_update(peer);
}

/* Once held, it stays so until the timer has gone on with what was held. */
void mrpc_peer_changed(mrpc_peer *peer) {
  if (peer->is_busy) return;
  bool is_freed = peer->is_held && !is_limited(peer);
  bool is_closed = peer->framing->closing && !peer->is_read;
  if (is_freed || may_unqueue(peer) || is_closed) peer->is_due = true;
  peer->is_held |= is_limited(peer);
  mrpc_deadline_update(peer);
  bool is_news = peer->has_news || mrpc_peer_is_done(peer);
  peer->has_news = false;
  if (is_news) mrpc_peer_wake(peer);
}

void mrpc_peer_wake(mrpc_peer *peer) {
  if (!peer->is_busy) mrpc_peer_ask(peer);
}

void mrpc_peer_ask(mrpc_peer *peer) {
  if (!peer->on_wake) return;
  bool was_waking = peer->is_waking;
  peer->is_waking = true;
  peer->on_wake(peer, peer->ud);
  peer->is_waking = was_waking;
}

void mrpc_peer_clear_rest(mrpc_peer *peer) {
  mrpc_buf_clear(&peer->rest);
  peer->rest_at = 0;
}

/* Nothing more will come: nobody answers our calls. */
static void stop_reading(mrpc_peer *peer) {
  if (peer->is_read) return;
  peer->is_read = true;
  mrpc_peer_clear_rest(peer);
  mrpc_pending_fail(peer, MRPC_ECLOSED);
}

/* Does what mrpc_peer_close couldn't do from where it was called. */
static void close_input(mrpc_peer *peer) {
  if (peer->is_read) mrpc_peer_clear_rest(peer);
  mrpc_pending_fail(peer, MRPC_ECLOSED);
}

static void log_end(const mrpc_peer *peer, const char *text, const char *why) {
  mrpc_log(peer->env, peer->framing->is_told ? MRPC_LOG_DEBUG : MRPC_LOG_INFO,
           text, "peer", peer->address, "why", why, NULL);
}

/* The bytes can't be followed any further. Calls in flight are answered. */
static void break_off(mrpc_peer *peer, int code) {
  const char *why = peer->framing->error ? peer->framing->error : "";
  log_end(peer, "input broken off", why);
  if (code == MRPC_ESYNTAX) mrpc_batch_break(peer, why);
  if (peer->failed == MRPC_OK) peer->failed = MRPC_EPROTO;
  peer->close_at = mrpc_env_after(peer->env, peer->limits.half_closed);
  stop_reading(peer);
}

/* The first message, or one behind mrpc_peer_close. */
static void take_special(mrpc_peer *peer, const mrpc_message *msg) {
  mrpc_framing *f = peer->framing;
  if (peer->is_fresh) mrpc_open_try(peer);
  peer->is_fresh = false;
  if (peer->is_closing)
    f->vt->none(f, msg->token, MRPC_OUTCOME_SILENT);
  else if (!peer->is_lost)
    mrpc_batch_take(peer, msg);
}

/* The other side's end is the end of all, or it may not go on. */
static void end_input(mrpc_peer *peer) {
  const char *why = peer->framing->error;
  if (peer->is_lost) return;
  peer->is_lost = true;
  if (why) log_end(peer, "conversation ended", why);
}

/* Something else was printed where messages were awaited. */
static void tell_noise(mrpc_peer *peer, const mrpc_message *msg) {
  char text[160];
  size_t len = msg->len < sizeof text ? msg->len : sizeof text - 1;
  memcpy(text, msg->bytes, len);
  text[len] = '\0';
  mrpc_log(peer->env, mrpc_peer_warn_level(peer, MRPC_WARN_NOISE),
           "a line that is no message is dropped", "peer", peer->address,
           "line", text, NULL);
}

static void take_message(mrpc_peer *peer, int rc, const mrpc_message *msg) {
  switch (rc) {
    case MRPC_PARTIAL: break;
    case MRPC_OK:
      if (peer->is_fresh || peer->is_closing)
        take_special(peer, msg);
      else
        mrpc_batch_take(peer, msg);
      break;
    case MRPC_ELIMIT:
      mrpc_batch_refuse(peer, msg->token, "message exceeds",
                        peer->limits.message, "bytes (limits.message)");
      break;
    case MRPC_ETYPE: tell_noise(peer, msg); break;
    case MRPC_ENOMEM: mrpc_peer_lose(peer); break;
    case MRPC_ECLOSED: end_input(peer); break;
    default: break_off(peer, rc);
  }
  if (peer->notices && !peer->framing->owed && !peer->framing->error)
    mrpc_pending_taken(peer);
}

/* A framing keeps the last message until it is asked for the next. A large one
 * shouldn't lie about in an idle peer that long. */
static void let_go(mrpc_peer *peer, size_t len) {
  mrpc_framing *f = peer->framing;
  mrpc_message msg = {0};
  size_t used;
  if (len > LARGE) take_message(peer, f->vt->recv(f, "", 0, &used, &msg), &msg);
}

/* The conversation goes on in another framing, behind what this one said. */
static void change_framing(mrpc_peer *peer) {
  mrpc_framing *old = peer->framing, *next = old->next;
  mrpc_buf said = old->out;
  old->out = next->out;
  next->out = said;
  old->next = NULL;
  old->vt->free(old);
  peer->framing = next;
  next->peer = peer->address;
  if (next->vt->transport) peer->transport = next->vt->transport;
  mrpc_open_arm(peer);
}

/* Runs what queues, as far as the limits let it. */
static void unqueue(mrpc_peer *peer) {
  while (may_unqueue(peer) && !peer->is_lost)
    mrpc_batch_run(mrpc_list_of(peer->queued.next, mrpc_batch, link));
}

/* Takes messages from the bytes until they, or a limit, are at their end; says
 * how many bytes it took. What queues goes before the next message: it was
 * sent before it, and an answer may just have made room. */
static size_t take(mrpc_peer *peer, const char *bytes, size_t len) {
  size_t at = 0;
  mrpc_message msg = {0};
  while (at < len) {
    unqueue(peer);
    if (is_stopped(peer) || is_limited(peer)) break;
    mrpc_framing *f = peer->framing;
    size_t used = 0;
    int rc = f->vt->recv(f, bytes + at, len - at, &used, &msg);
    at += used;
    take_message(peer, rc, &msg);
    if (rc) msg.len = 0;
    if (f->next) change_framing(peer);
    mrpc_output_check(peer);
  }
  if (!is_stopped(peer)) let_go(peer, msg.len);
  if (!is_stopped(peer)) return at;
  if (peer->framing->closing) stop_reading(peer);
  return len;
}

static void keep_rest(mrpc_peer *peer, const char *bytes, size_t len) {
  mrpc_buf_add(&peer->rest, bytes, len);
  if (peer->rest.err) mrpc_peer_lose(peer);
}

/* What was taken stays in place until it is half of all, so that many small
 * steps don't move the rest as many times. */
static void take_rest(mrpc_peer *peer) {
  mrpc_buf *rest = &peer->rest;
  if (rest->len == 0) return;
  size_t at = peer->rest_at;
  size_t used = take(peer, rest->data + at, rest->len - at);
  if (rest->len == 0) return;
  peer->rest_at = at + used;
  if (peer->rest_at < rest->len / 2) return;
  mrpc_buf_consume(rest, peer->rest_at);
  peer->rest_at = 0;
  mrpc_buf_relax(rest, 0);
}

static void go_on(mrpc_peer *peer) {
  unqueue(peer);
  take_rest(peer);
  if (peer->has_eof && peer->rest.len == 0 && !is_limited(peer))
    finish_input(peer);
}

void mrpc_peer_pump(mrpc_peer *peer) {
  enter(peer);
  if (peer->is_fresh && !peer->is_lost) mrpc_open_try(peer);
  if (!peer->is_lost) go_on(peer);
  if (peer->framing->is_dead) end_input(peer);
  leave(peer);
}

int mrpc_peer_recv(mrpc_peer *peer, const void *bytes, size_t len) {
  if (peer->failed) return peer->failed;
  if (peer->has_eof || is_stopped(peer)) return MRPC_OK;
  enter(peer);
  size_t at = peer->rest.len ? 0 : take(peer, bytes, len);
  if (at < len) keep_rest(peer, (const char *)bytes + at, len - at);
  if (at == 0) take_rest(peer);
  leave(peer);
  return peer->failed;
}

static void finish_input(mrpc_peer *peer) {
  if (is_stopped(peer)) return;
  mrpc_framing *f = peer->framing;
  mrpc_message msg = {0};
  take_message(peer, f->vt->eof(f, &msg), &msg);
  stop_reading(peer);
}

int mrpc_peer_eof(mrpc_peer *peer) {
  if (peer->failed) return peer->failed;
  if (peer->has_eof || is_stopped(peer)) return MRPC_OK;
  enter(peer);
  peer->has_eof = true;
  peer->close_at = mrpc_env_after(peer->env, peer->limits.half_closed);
  go_on(peer);
  leave(peer);
  return peer->failed;
}

bool mrpc_peer_wants_read(const mrpc_peer *peer) {
  return !peer->has_eof && !is_stopped(peer) && !is_limited(peer) &&
         peer->rest.len == 0;
}
