/* SPDX-License-Identifier: MIT
 *
 * Two peers that call each other in one another, their bytes cut in pieces of
 * any size. */
#ifndef MRPC_TEST_NEST_H
#define MRPC_TEST_NEST_H

#include "joined.h"

/* How calls out have ended. */
typedef struct ends {
  unsigned results, errors, failures;
} ends;

__attribute__((unused)) static void on_end(mrpc_peer *peer,
                                           const mrpc_answer *answer,
                                           void *ud) {
  (void)peer;
  ends *e = ud;
  if (answer->result)
    e->failures++;
  else if (answer->is_error)
    e->errors++;
  else
    e->results++;
}

__attribute__((unused)) static int64_t call(talk *t, const char *method,
                                            const char *params, ends *e) {
  int64_t id = 0;
  if (mrpc_peer_call(t->peer, method, params, 0, on_end, e, &id)) abort();
  return id;
}

/* `nest(depth)` calls its caller back with one less, and answers what comes of
 * that; its cancel gives that call up. */

typedef struct nesting {
  mrpc_call *in;
  int64_t out;
} nesting;

__attribute__((unused)) static unsigned deepest;

__attribute__((unused)) static void on_nested(mrpc_peer *peer,
                                              const mrpc_answer *answer,
                                              void *ud) {
  (void)peer;
  nesting *n = ud;
  if (answer->result || answer->is_error)
    mrpc_call_error(n->in, MRPC_INTERNAL_ERROR, NULL, NULL);
  else
    mrpc_call_reply(n->in, answer->json, answer->len);
  free(n);
}

__attribute__((unused)) static void on_nest_cancel(mrpc_call *in, void *ud) {
  nesting *n = ud;
  mrpc_peer *peer = mrpc_call_peer(in);
  if (!peer) return; /* its calls out fail by themselves */
  if (mrpc_peer_cancel(peer, n->out)) abort();
  free(n);
  mrpc_call_error(in, MRPC_REQUEST_CANCELLED, NULL, NULL);
}

__attribute__((unused)) static void nest(mrpc_call *in, void *ud) {
  (void)ud;
  size_t len;
  const char *params = mrpc_call_params(in, &len);
  unsigned depth = (unsigned)atoi(params + 1);
  char next[32];
  if (depth == 0) {
    mrpc_call_reply(in, "\"deep\"", 6);
    return;
  }
  if (depth > deepest) deepest = depth;
  nesting *n = malloc(sizeof *n);
  n->in = in;
  snprintf(next, sizeof next, "[%u]", depth - 1);
  const char *method = depth == 1 ? "wait" : "nest";
  if (mrpc_peer_call(mrpc_call_peer(in), method,
                     depth == 1 ? "[\"deep\"]" : next, 0, on_nested, n,
                     &n->out))
    abort();
  mrpc_call_on_cancel(in, on_nest_cancel, n);
}

__attribute__((unused)) static void begin(pair *p) {
  pair_begin(p);
  if (mrpc_dispatch_add(p->a.dispatch, "nest", nest, NULL) ||
      mrpc_dispatch_add(p->b.dispatch, "nest", nest, NULL))
    abort();
}

/* Some pieces of some bytes, in any direction. */
__attribute__((unused)) static void stir(pair *p) {
  for (unsigned moves = pair_chance(p, 6); moves; moves--) {
    p->piece = 1 + pair_chance(p, 80);
    if (pair_chance(p, 2))
      pair_move(p, &p->a, &p->b);
    else
      pair_move(p, &p->b, &p->a);
    talk_run(&p->a);
    talk_run(&p->b);
  }
}

__attribute__((unused)) static void let_go(talk *t, const char *name) {
  methods_let_go(&t->methods, name, strlen(name));
}

/* Lets go all waits, and forgets releases that met nobody. */
__attribute__((unused)) static void clear(pair *p) {
  p->piece = 0;
  pair_run(p);
  methods_clear(&p->a.methods);
  methods_clear(&p->b.methods);
  pair_run(p);
}

#endif
