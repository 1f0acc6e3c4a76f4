/* SPDX-License-Identifier: MIT
 *
 * Calls in one another, a hundred deep, and a thousand beside each other; and
 * connections that die at any step of them. */
#include "nest.h"

enum { ROUNDS = 1000 };

/* The connection dies at any step: every call has an end on its side. */
static void cut(void) {
  unsigned bad = 0, open = 0;
  for (int i = 0; i < ROUNDS; i++) {
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
  cut();
  deep();
  wide();
  return tap_finish();
}
