/* SPDX-License-Identifier: MIT
 *
 * Cancels in races with all that they can meet, ten thousand times each, the
 * bytes cut in pieces of any size. Two peers talk; `a` calls and cancels, `b`
 * has the methods. After each round nothing may be left on either side, and
 * each call must have had one end: an answer, or none because it was given up.
 */
#include "joined.h"

enum { ROUNDS = 10000 };

/* How calls out have ended. */
typedef struct ends {
  unsigned results, errors, failures;
} ends;

static void on_end(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  ends *e = ud;
  if (answer->result)
    e->failures++;
  else if (answer->is_error)
    e->errors++;
  else
    e->results++;
}

static int64_t call(talk *t, const char *method, const char *params, ends *e) {
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

static unsigned deepest;

static void on_nested(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  nesting *n = ud;
  if (answer->result || answer->is_error)
    mrpc_call_error(n->in, MRPC_INTERNAL_ERROR, NULL, NULL);
  else
    mrpc_call_reply(n->in, answer->json, answer->len);
  free(n);
}

static void on_nest_cancel(mrpc_call *in, void *ud) {
  nesting *n = ud;
  mrpc_peer *peer = mrpc_call_peer(in);
  if (!peer) return; /* its calls out fail by themselves */
  if (mrpc_peer_cancel(peer, n->out)) abort();
  free(n);
  mrpc_call_error(in, MRPC_REQUEST_CANCELLED, NULL, NULL);
}

static void nest(mrpc_call *in, void *ud) {
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

static void begin(pair *p) {
  pair_begin(p);
  if (mrpc_dispatch_add(p->a.dispatch, "nest", nest, NULL) ||
      mrpc_dispatch_add(p->b.dispatch, "nest", nest, NULL))
    abort();
}

/* Some pieces of some bytes, in any direction. */
static void stir(pair *p) {
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

static void let_go(talk *t, const char *name) {
  methods_let_go(&t->methods, name, strlen(name));
}

/* Lets go all waits, and forgets releases that met nobody. */
static void clear(pair *p) {
  p->piece = 0;
  pair_run(p);
  methods_clear(&p->a.methods);
  methods_clear(&p->b.methods);
  pair_run(p);
}

typedef void (*round_fn)(pair *p, ends *e);

static void race(const char *name, round_fn round, unsigned in_flight) {
  pair p = {.b.limits.in_flight = in_flight};
  ends e = {0};
  unsigned bad = 0;
  begin(&p);
  for (int i = 0; i < ROUNDS; i++) {
    ends before = e;
    round(&p, &e);
    clear(&p);
    unsigned ended = e.results + e.errors - before.results - before.errors;
    if (!pair_is_idle(&p) || e.failures || ended > 3) bad++;
  }
  ok(bad == 0, "%s: %d times, nothing is left (%u results, %u errors)", name,
     ROUNDS, e.results, e.errors);
  ok(pair_end(&p), "%s: all memory came back", name);
}

/* Cancelled while it runs, before it is sent, or behind its answer. */
static void against_answer(pair *p, ends *e) {
  int64_t id = call(&p->a, "wait", "[\"w\"]", e);
  stir(p);
  if (pair_chance(p, 2)) let_go(&p->b, "\"w\"");
  stir(p);
  int rc = mrpc_peer_cancel(p->a.peer, id);
  if (rc && rc != MRPC_ENOTFOUND) abort();
  stir(p);
  let_go(&p->b, "\"w\"");
}

/* By hand: twice, of ids that are none, behind the end. */
static void say(talk *t, const char *text) {
  if (mrpc_peer_push(t->peer, text, strlen(text))) abort();
}

static const char *const cancels[] = {
    NOTE("$/cancelRequest", "{\"id\":%lld}"),
    NOTE("notifications/cancelled", "{\"requestId\":%lld}"),
    NOTE("$/cancelRequest", "{\"id\":\"%lld\"}"),
    NOTE("$/cancelRequest", "{\"id\":%lld.5}"),
    NOTE("$/cancelRequest", "[%lld]"),
    NOTE("$/cancelRequest", "{\"id\":9%lld}"),
};

static void cancel_by_hand(pair *p, int64_t id) {
  char text[200];
  const char *format = cancels[pair_chance(p, 6)];
  size_t at = (size_t)(strstr(format, "%lld") - format);
  snprintf(text, sizeof text, "%.*s%lld%s", (int)at, format, (long long)id,
           format + at + 4);
  say(&p->a, text);
}

static void twice(pair *p, ends *e) {
  int64_t id = call(&p->a, "wait", "[\"w\"]", e);
  cancel_by_hand(p, id);
  stir(p);
  cancel_by_hand(p, id);
  stir(p);
  let_go(&p->b, "\"w\"");
  stir(p);
  cancel_by_hand(p, id);
  mrpc_peer_cancel(p->a.peer, id);
}

/* In batches, whose entries queue since only two may be in flight: cancelled
 * from behind, from within, before they have started. */
static void in_batch(pair *p, ends *e) {
  (void)e;
  say(&p->a, "[" REQ("wait", "[\"w\"]", "\"x\"") "," REQ(
                 "wait", "[\"w\"]", "\"y\"") "," NOTE(
                 "$/cancelRequest",
                 "{\"id\":\"x\"}") "," REQ("wait", "[\"w\"]", "\"z\"") "," REQ(
                 "sum", "[1]", "\"s\"") "]");
  stir(p);
  const char *id = pair_chance(p, 2) ? "z" : pair_chance(p, 2) ? "y" : "s";
  char text[100];
  snprintf(text, sizeof text,
           pair_chance(p, 2)
               ? NOTE("$/cancelRequest", "{\"id\":\"%s\"}")
               : NOTE("notifications/cancelled", "{\"requestId\":\"%s\"}"),
           id);
  say(&p->a, text);
  stir(p);
  let_go(&p->b, "\"w\"");
  stir(p);
  say(&p->a, text);
}

/* The method waits for a call to the one that cancels it; that one may be let
 * go, cancelled or answered meanwhile. */
static void of_canceller(pair *p, ends *e) {
  char depth[16];
  snprintf(depth, sizeof depth, "[%u]", 1 + pair_chance(p, 6));
  int64_t id = call(&p->a, "nest", depth, e);
  for (unsigned i = pair_chance(p, 30); i; i--) stir(p);
  if (pair_chance(p, 2)) {
    let_go(&p->a, "\"deep\"");
    let_go(&p->b, "\"deep\"");
  }
  if (pair_chance(p, 2)) stir(p);
  mrpc_peer_cancel(p->a.peer, id);
}

/* Both sides call each other and give up at the same time. */
static void crossing(pair *p, ends *e) {
  int64_t ours = call(&p->a, "nest", "[3]", e);
  int64_t theirs = call(&p->b, "nest", "[2]", e);
  stir(p);
  stir(p);
  if (pair_chance(p, 2)) mrpc_peer_cancel(p->b.peer, theirs);
  stir(p);
  if (pair_chance(p, 2)) mrpc_peer_cancel(p->a.peer, ours);
  stir(p);
}

/* The connection dies at any step: every call has an end on its side. */
static void cut(void) {
  unsigned bad = 0, open = 0;
  for (int i = 0; i < ROUNDS / 10; i++) {
    pair p = {0};
    ends e = {0};
    begin(&p);
    p.seed = (uint64_t)i;
    call(&p.a, "nest", "[4]", &e);
    call(&p.a, "wait", "[\"w\"]", &e);
    call(&p.b, "wait", "[\"w\"]", &e);
    for (unsigned n = pair_chance(&p, 12); n; n--) stir(&p);
    if (pair_chance(&p, 2)) let_go(&p.b, "\"w\"");
    if (pair_chance(&p, 2))
      mrpc_peer_drop(p.a.peer);
    else
      mrpc_peer_close(p.a.peer, NULL);
    talk_run(&p.a);
    if (pair_chance(&p, 2)) mrpc_peer_eof(p.b.peer);
    mrpc_peer_drop(p.b.peer);
    mrpc_peer_drop(p.a.peer);
    open += !pair_is_quiet(&p);
    if (e.results + e.errors + e.failures != 3) bad++;
    if (!pair_end(&p)) bad++;
  }
  ok(bad == 0, "a connection that dies: each call has one end");
  ok(open == 0, "and nothing is left open");
}

/* Depth and breadth, without cancels. */

static void deep(void) {
  pair p = {0};
  ends e = {0};
  begin(&p);
  call(&p.a, "nest", "[100]", &e);
  pair_run(&p);
  ok(deepest == 100 && e.results == 0, "calls both ways, 100 deep");
  let_go(&p.a, "\"deep\"");
  let_go(&p.b, "\"deep\"");
  pair_run(&p);
  ok(e.results == 1 && pair_is_idle(&p), "all come back");
  methods_clear(&p.a.methods);
  methods_clear(&p.b.methods);
  int64_t id = call(&p.a, "nest", "[100]", &e);
  pair_run(&p);
  mrpc_peer_cancel(p.a.peer, id);
  pair_run(&p);
  ok(e.results == 1 && pair_is_idle(&p), "a cancel goes down all the way");
  ok(pair_end(&p), "all memory came back");
}

enum { MANY = 1000 };
static mrpc_call *kept[MANY];
static unsigned kept_count, in_order;

static void keep(mrpc_call *in, void *ud) {
  (void)ud;
  kept[kept_count++] = in;
}

static void check(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  int number = atoi(answer->json);
  in_order += !answer->result && number == *(int *)ud;
}

static void wide(void) {
  pair p = {.piece = 1000};
  static int numbers[MANY];
  char text[32];
  begin(&p);
  mrpc_dispatch_add(p.b.dispatch, "keep", keep, NULL);
  for (int i = 0; i < MANY; i++) {
    numbers[i] = i;
    if (mrpc_peer_call(p.a.peer, "keep", NULL, 0, check, &numbers[i], NULL))
      abort();
  }
  pair_run(&p);
  ok(kept_count == MANY, "a thousand in flight");
  for (int i = MANY - 1; i >= 0; i--) {
    snprintf(text, sizeof text, "%d", i);
    mrpc_call_reply(kept[i], text, strlen(text));
  }
  pair_run(&p);
  ok(in_order == MANY && pair_is_idle(&p), "each gets its own answer back");
  ok(pair_end(&p), "all memory came back");
}

int main(void) {
  race("a cancel against the answer", against_answer, 0);
  race("cancels twice, and of no call", twice, 0);
  race("a cancel in a batch", in_batch, 2);
  race("a cancel of a call that waits for the canceller", of_canceller, 0);
  race("cancels that cross", crossing, 0);
  cut();
  deep();
  wide();
  return tap_finish();
}
