/* SPDX-License-Identifier: MIT
 *
 * All that a peer waits for in time hangs on one timer: the framing's own
 * deadline, output that must move, the last answers after the peer's EOF, and
 * work that was put off (due at once). The timer is only ever moved to an
 * earlier time; when it fires too early it looks again. So a deadline that is
 * renewed with each message costs a comparison. It is started when the peer is
 * born, with a time that never comes, since a start may fail and a move
 * can't. */
#include "rpc/core.h"

static void on_timer(mrpc_timer *timer);

static uint64_t earliest(const mrpc_peer *peer) {
  const mrpc_framing *f = peer->framing;
  if (peer->is_due) return 0;
  if (peer->is_dropped) return UINT64_MAX;
  if (peer->is_over) return peer->write_at;
  uint64_t at = f->vt->deadline ? f->vt->deadline(f) : UINT64_MAX;
  if (peer->write_at < at) at = peer->write_at;
  return peer->close_at < at ? peer->close_at : at;
}

static int start(mrpc_peer *peer, uint64_t at) {
  return mrpc_timer_start(&peer->env->timers, &peer->timer, at);
}

int mrpc_deadline_open(mrpc_peer *peer) {
  peer->write_at = UINT64_MAX;
  peer->close_at = UINT64_MAX;
  peer->timer.fn = on_timer;
  return start(peer, UINT64_MAX);
}

void mrpc_deadline_close(mrpc_peer *peer) {
  mrpc_timer_stop(&peer->env->timers, &peer->timer);
}

void mrpc_deadline_update(mrpc_peer *peer) {
  uint64_t at = earliest(peer);
  if (at < peer->timer.at) start(peer, at);
}

/* The framing's word on its own deadline. */
static bool tick_framing(mrpc_peer *peer, uint64_t now) {
  mrpc_framing *f = peer->framing;
  if (peer->is_lost || !f->vt->deadline) return false;
  if (now < f->vt->deadline(f)) return false;
  f->is_unread = peer->is_held;
  f->is_at_work = peer->stats.in_flight > 0;
  f->vt->tick(f, now);
  return true;
}

static const char *find_death(const mrpc_peer *peer, uint64_t now) {
  if (peer->is_dropped) return NULL;
  if (now >= peer->write_at) return "output stands still";
  if (now >= peer->close_at)
    return peer->is_closing ? "it was closed, and its end took too long"
                            : "answers took too long after its end";
  return NULL;
}

static void on_timer(mrpc_timer *timer) {
  mrpc_peer *peer = mrpc_list_of(timer, mrpc_peer, timer);
  start(peer, UINT64_MAX); /* its place in the heap has just become free */
  uint64_t now = mrpc_env_now(peer->env);
  const char *death = find_death(peer, now);
  if (death) {
    mrpc_log(peer->env, MRPC_LOG_INFO, "peer dropped", "peer", peer->address,
             "why", death, NULL);
    mrpc_peer_drop(peer);
  } else {
    bool acts = tick_framing(peer, now) || peer->is_due;
    peer->is_due = false;
    if (!acts) {
      mrpc_deadline_update(peer);
      return;
    }
    mrpc_peer_pump(peer);
  }
  mrpc_peer_wake(peer);
}
