/* SPDX-License-Identifier: MIT
 *
 * The watcher of a dispatch learns of a peer when he can speak to it. That is
 * known at once for most framings (then the peer's timer tells him, due at
 * once, unless a message comes first), later for one that must hear the other
 * side before it knows what it is, or whether it is welcome, and never for
 * HTTP's server side. */
#include "rpc/core.h"

bool mrpc_peer_is_opening(const mrpc_peer *peer) {
  return peer->framing->is_opening;
}

static bool can_open(const mrpc_peer *peer) {
  return mrpc_peer_can_push(peer) && !mrpc_peer_is_opening(peer);
}

void mrpc_open_arm(mrpc_peer *peer) {
  peer->is_fresh = peer->dispatch->watch.on_open && !peer->is_open;
  if (!peer->is_fresh || !can_open(peer)) return;
  peer->is_due = true;
  mrpc_deadline_update(peer);
}

void mrpc_open_try(mrpc_peer *peer) {
  if (!can_open(peer)) return;
  peer->is_fresh = false;
  peer->is_open = true;
  const mrpc_dispatch *dispatch = peer->dispatch;
  if (dispatch->watch.on_open)
    dispatch->watch.on_open(peer, dispatch->watch_ud);
}

void mrpc_open_end(mrpc_peer *peer) {
  const mrpc_dispatch *dispatch = peer->dispatch;
  bool is_known = peer->is_open || peer->script;
  if (is_known && dispatch->watch.on_end)
    dispatch->watch.on_end(peer, dispatch->watch_ud);
}

void *mrpc_peer_script(const mrpc_peer *peer) {
  return peer->script;
}

void mrpc_peer_set_script(mrpc_peer *peer, void *script) {
  peer->script = script;
}
