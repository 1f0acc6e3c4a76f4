/* SPDX-License-Identifier: MIT
 *
 * Two peers joined in memory, each with an environment of its own: what one
 * sends the other receives, in pieces of a size that may change, for as long
 * as that one wants to read. */
#ifndef MRPC_TEST_JOINED_H
#define MRPC_TEST_JOINED_H

#include "talk.h"

typedef struct pair {
  talk a, b;
  size_t piece;  /* most bytes that move at once; 0: all */
  uint64_t seed; /* of pair_chance */
  void (*on_b_said)(const char *bytes, size_t len); /* to a; may be NULL */
} pair;

__attribute__((unused)) static void pair_begin(pair *p) {
  talk_begin(&p->a);
  talk_begin(&p->b);
  p->seed = 1;
}

/* A number below `below`, the next of a row that is the same in every run. */
__attribute__((unused)) static unsigned pair_chance(pair *p, unsigned below) {
  p->seed = p->seed * 6364136223846793005U + 1442695040888963407U;
  return (unsigned)(p->seed >> 33) % below;
}

/* Moves one piece; false when there is none, or nobody reads. */
__attribute__((unused)) static bool pair_move(pair *p, talk *from, talk *to) {
  const char *bytes;
  if (!mrpc_peer_wants_read(to->peer)) return false;
  size_t len = mrpc_peer_output(from->peer, &bytes);
  if (len == 0) return false;
  if (p->piece && len > p->piece) len = p->piece;
  if (p->on_b_said && from == &p->b) p->on_b_said(bytes, len);
  mrpc_peer_recv(to->peer, bytes, len);
  mrpc_peer_sent(from->peer, len);
  return true;
}

/* Lets both talk until they have nothing to say. */
__attribute__((unused)) static void pair_run(pair *p) {
  bool has_moved;
  do {
    talk_run(&p->a);
    talk_run(&p->b);
    has_moved = pair_move(p, &p->a, &p->b);
    has_moved |= pair_move(p, &p->b, &p->a);
  } while (has_moved);
}

/* Is nothing left of any call, on either side? */
__attribute__((unused)) static bool pair_is_quiet(const pair *p) {
  mrpc_peer_stats a, b;
  mrpc_peer_get_stats(p->a.peer, &a);
  mrpc_peer_get_stats(p->b.peer, &b);
  return !(a.pending | a.in_flight | b.pending | b.in_flight);
}

/* And is all that was said heard? */
__attribute__((unused)) static bool pair_is_idle(const pair *p) {
  const char *bytes;
  return pair_is_quiet(p) && !mrpc_peer_output(p->a.peer, &bytes) &&
         !mrpc_peer_output(p->b.peer, &bytes);
}

/* True when all memory came back. */
__attribute__((unused)) static bool pair_end(pair *p) {
  bool is_clean = talk_end(&p->a);
  return talk_end(&p->b) && is_clean;
}

#endif
