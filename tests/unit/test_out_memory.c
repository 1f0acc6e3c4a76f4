/* SPDX-License-Identifier: MIT
 *
 * Two peers call each other, cancel, tell progress and close, while on one
 * side each allocation fails in turn: once, and from then on for good. Nothing
 * leaks, each call out has one end, none reaches its function twice or after
 * it was given up, and the watcher hears of an end exactly where he heard of a
 * beginning. */
#include "joined.h"

enum { CALLS = 6 };

typedef struct tally {
  unsigned ends[CALLS];
  bool is_made[CALLS], is_given_up[CALLS];
  unsigned opens, closes;
} tally;

typedef struct slot {
  tally *owner;
  unsigned index;
} slot;

static void on_end(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  if (!answer->json) abort();
  const slot *s = ud;
  s->owner->ends[s->index]++;
}

static void on_open(mrpc_peer *peer, void *ud) {
  ((tally *)ud)->opens++;
  mrpc_peer_notify(peer, "hello", NULL);
}

static void on_peer_end(mrpc_peer *peer, void *ud) {
  (void)peer;
  ((tally *)ud)->closes++;
}

static const mrpc_peer_watch watch = {on_open, on_peer_end};

/* Watches before the peer is made. */
static int start(talk *t, tally *to) {
  int rc = talk_start(t);
  if (rc) return rc;
  mrpc_dispatch_watch(t->dispatch, &watch, to);
  return talk_open(t);
}

static const struct {
  const char *method, *params;
  double timeout;
  bool is_given_up;
} calls[CALLS] = {
    {"sum", "[1,2]", 0, false},
    {"ask", "[\"ask\",[\"echo\",[\"deep\"]]]", 0, false},
    {"wait", "[\"w\"]", 0, true},
    {"wait", "[\"w\"]", 1, false},
    {"ask", "[\"wait\",[\"w\"]]", 0, true},
    {"progress", "{\"value\":[1],\"workDoneToken\":\"t\"}", 0, false},
};

static void make_calls(pair *p, tally *to, slot *slots) {
  talk *t = &p->a;
  int64_t ids[CALLS];
  for (unsigned i = 0; i < CALLS; i++) {
    slots[i] = (slot){to, i};
    to->is_made[i] =
        mrpc_peer_call(t->peer, calls[i].method, calls[i].params,
                       calls[i].timeout, on_end, &slots[i], &ids[i]) == MRPC_OK;
  }
  pair_run(p);
  for (unsigned i = 0; i < CALLS; i++)
    if (to->is_made[i] && calls[i].is_given_up)
      to->is_given_up[i] = mrpc_peer_cancel(t->peer, ids[i]) == MRPC_OK;
  pair_run(p);
}

/* What the other side makes the failing one do. */
static void be_called(pair *p) {
  talk *b = &p->b;
  static const char *const params[] = {
      "[\"tell\",[\"news\",[\"0123456789\"]]]",
      "[\"progress\",{\"value\":{},\"_meta\":{\"progressToken\":1}}]",
      "[\"wait\",[\"v\"]]",
  };
  for (size_t i = 0; i < sizeof params / sizeof *params; i++)
    mrpc_peer_call(b->peer, "ask", params[i], 0, NULL, NULL, NULL);
  mrpc_peer_call(b->peer, "progress",
                 "{\"value\":1,\"workDoneToken\":"
                 "\"a token that is longer than what is kept\"}",
                 0, NULL, NULL, NULL);
  mrpc_peer_call(b->peer, "wait",
                 "{\"name\":\"u\",\"_meta\":{\"progressToken\":5}}", 0.5, NULL,
                 NULL, NULL);
  pair_run(p);
  talk_pass(b, 0.6);
  talk_pass(&p->a, 1.1);
  pair_run(p);
}

static unsigned way; /* in which the peer ends */
static unsigned odd, unequal;

static void check(const talk *t, const tally *to) {
  for (unsigned i = 0; i < CALLS; i++) {
    unsigned want = to->is_made[i] && !to->is_given_up[i];
    if (to->ends[i] != want) odd++;
  }
  if (to->opens != to->closes || to->opens > 1) unequal++;
  if (!t->mem.hit && to->opens != 1) unequal++;
}

static void converse(pair *p, tally *to) {
  slot slots[CALLS];
  pair_run(p);
  make_calls(p, to, slots);
  be_called(p);
  if (way == 1) mrpc_peer_close(p->a.peer, "enough");
  if (way == 2) mrpc_peer_drop(p->a.peer);
  if (way == 3) mrpc_peer_eof(p->a.peer);
  pair_run(p);
  mrpc_peer_free(p->a.peer);
  p->a.peer = NULL;
}

static void scenario(oom *o) {
  pair p = {.a.mem = *o};
  tally seen = {0};
  talk_begin(&p.b);
  if (start(&p.a, &seen) == MRPC_OK) {
    converse(&p, &seen);
    check(&p.a, &seen);
  }
  methods_clear(&p.a.methods);
  mrpc_dispatch_free(p.a.dispatch);
  mrpc_env_free(p.a.env);
  if (!talk_end(&p.b)) abort();
  *o = p.a.mem;
}

int main(void) {
  static const char *const ways[] = {"freed", "closed", "dropped",
                                     "at its end"};
  for (way = 0; way < 4; way++) {
    oom_each(ways[way], scenario, false);
    oom_each(ways[way], scenario, true);
  }
  ok(odd == 0, "each call out has one end, or none when it was given up");
  ok(unequal == 0, "who opened has ended");
  return tap_finish();
}
