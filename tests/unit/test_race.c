/* SPDX-License-Identifier: MIT
 *
 * Cancels in races with all that they can meet, ten thousand times each, the
 * bytes cut in pieces of any size. Two peers talk; `a` calls and cancels, `b`
 * has the methods. After each round nothing may be left on either side, and
 * each call must have had one end: an answer, or none because it was given up.
 */
#include "nest.h"

enum { ROUNDS = 10000 };

/* What was said in a round, from the bytes themselves: each request must be
 * answered exactly once, with a result or -32800, or not at all where it was
 * cancelled silently, and nothing else may be answered. */

typedef enum reply { NONE, RESULT, CANCEL, WRONG } reply;

enum { HEARD = 1 << 16 };

static struct {
  char text[HEARD]; /* what b has said to a in this round */
  size_t len;
  unsigned outcomes[4]; /* how often each was seen, over all rounds */
} heard;

/* The answer to the request of this raw id; WRONG when there are two. */
static reply reply_to(const char *id) {
  char end[40];
  reply found = NONE;
  snprintf(end, sizeof end, ",\"id\":%s}", id);
  for (char *at = heard.text; (at = strstr(at, end)); at++) {
    char *from = at;
    while (from > heard.text && memcmp(from, "{\"jsonrpc\"", 10) != 0) from--;
    static const char result[] = "{\"jsonrpc\":\"2.0\",\"result\":";
    static const char cancelled[] =
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32800,";
    reply this = !strncmp(from, result, sizeof result - 1)         ? RESULT
                 : !strncmp(from, cancelled, sizeof cancelled - 1) ? CANCEL
                                                                   : WRONG;
    if (!strncmp(from, "{\"jsonrpc\":\"2.0\",\"method\"", 25)) continue;
    if (found != NONE) return WRONG;
    found = this;
  }
  return found;
}

/* Is it one of those permitted? */
static bool is_one_of(const char *id, unsigned permitted) {
  reply r = reply_to(id);
  heard.outcomes[r]++;
  return r != WRONG && permitted & 1U << r;
}

static unsigned count_of(const char *what) {
  unsigned count = 0;
  for (const char *at = heard.text; (at = strstr(at, what)); at++) count++;
  return count;
}

/* How many answers b gave. */
static unsigned replies(void) {
  return count_of("\"2.0\",\"result\":") + count_of("\"2.0\",\"error\":");
}

/* A round answers whether what was said is permitted. */
typedef struct race_case {
  const char *name;
  void (*round)(pair *p, ends *e);
  bool (*is_right)(const pair *p, const ends *ended);
  unsigned in_flight;
  bool both; /* both outcomes must be seen often */
} race_case;

static void listen_to(const char *bytes, size_t len) {
  if (len > HEARD - 1 - heard.len) abort();
  memcpy(heard.text + heard.len, bytes, len);
  heard.len += len;
  heard.text[heard.len] = '\0';
}

static int64_t first_id; /* of the round's first call of a's */

static void race(const race_case *c) {
  pair p = {.b.limits.in_flight = c->in_flight, .on_b_said = listen_to};
  ends e = {0};
  unsigned left = 0, wrong = 0;
  begin(&p);
  memset(heard.outcomes, 0, sizeof heard.outcomes);
  for (int i = 0; i < ROUNDS; i++) {
    ends before = e;
    heard.len = 0;
    heard.text[0] = '\0';
    c->round(&p, &e);
    clear(&p);
    left += !pair_is_idle(&p);
    ends ended = {e.results - before.results, e.errors - before.errors,
                  e.failures - before.failures};
    wrong += !c->is_right(&p, &ended);
  }
  ok(left == 0, "%s: %d times, nothing is left", c->name, ROUNDS);
  ok(wrong == 0, "%s: only permitted answers (%u results, %u cancelled)",
     c->name, heard.outcomes[RESULT], heard.outcomes[CANCEL]);
  if (c->both)
    ok(heard.outcomes[RESULT] > ROUNDS / 20 &&
           heard.outcomes[CANCEL] > ROUNDS / 20,
       "%s: both outcomes are met often", c->name);
  ok(pair_end(&p), "%s: all memory came back", c->name);
}

/* Each call of a's since the first of the round: one answer, which may be that
 * it was cancelled. */
static bool is_each_once(const pair *p, const ends *ended) {
  char id[24];
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(p->a.peer, &stats);
  int64_t last = (int64_t)stats.calls_out;
  for (int64_t i = first_id; i <= last; i++) {
    snprintf(id, sizeof id, "%lld", (long long)i);
    reply r = reply_to(id);
    if (i == first_id) heard.outcomes[r]++;
    if (r != RESULT && r != CANCEL) return false;
  }
  return replies() == (unsigned)(last - first_id + 1) && !ended->failures &&
         !ended->errors;
}

static reply reply_to_first(void) {
  char id[24];
  snprintf(id, sizeof id, "%lld", (long long)first_id);
  return reply_to(id);
}

static bool is_first(unsigned permitted) {
  reply r = reply_to_first();
  heard.outcomes[r]++;
  return r != WRONG && permitted & 1U << r;
}

/* Cancelled while it runs, before it is sent, or behind its answer. */
static bool has_ended; /* before it was cancelled */

static void against_answer(pair *p, ends *e) {
  int64_t id = first_id = call(&p->a, "wait", "[\"w\"]", e);
  stir(p);
  if (pair_chance(p, 2)) let_go(&p->b, "\"w\"");
  stir(p);
  int rc = mrpc_peer_cancel(p->a.peer, id);
  if (rc && rc != MRPC_ENOTFOUND) abort();
  has_ended = rc;
  stir(p);
  let_go(&p->b, "\"w\"");
}

static bool is_against_right(const pair *p, const ends *ended) {
  unsigned permitted = has_ended ? 1U << RESULT : 1U << RESULT | 1U << CANCEL;
  (void)p;
  return is_first(permitted) && replies() == 1 && !ended->errors &&
         !ended->failures && ended->results == has_ended;
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

static bool was_silent; /* one of the cancels wants no answer */

static void cancel_by_hand(pair *p, int64_t id) {
  char text[200];
  unsigned kind = pair_chance(p, 6);
  const char *format = cancels[kind];
  was_silent |= kind == 1;
  size_t at = (size_t)(strstr(format, "%lld") - format);
  snprintf(text, sizeof text, "%.*s%lld%s", (int)at, format, (long long)id,
           format + at + 4);
  say(&p->a, text);
}

static void twice(pair *p, ends *e) {
  was_silent = false;
  int64_t id = first_id = call(&p->a, "wait", "[\"w\"]", e);
  cancel_by_hand(p, id);
  stir(p);
  cancel_by_hand(p, id);
  stir(p);
  let_go(&p->b, "\"w\"");
  stir(p);
  cancel_by_hand(p, id);
  has_ended = mrpc_peer_cancel(p->a.peer, id);
}

static bool is_twice_right(const pair *p, const ends *ended) {
  unsigned permitted = 1U << RESULT | 1U << CANCEL | (was_silent ? 1 : 0);
  (void)p;
  return is_first(permitted) && replies() == (reply_to_first() != NONE) &&
         !ended->failures && ended->results + ended->errors == has_ended;
}

/* In batches, whose entries queue since only two may be in flight: cancelled
 * from behind, from within, before they have started. */
static char cancelled_id; /* besides x, which the batch itself cancels */

static void in_batch(pair *p, ends *e) {
  (void)e;
  say(&p->a, "[" REQ("wait", "[\"x\"]", "\"x\"") "," REQ(
                 "wait", "[\"y\"]", "\"y\"") "," NOTE(
                 "$/cancelRequest",
                 "{\"id\":\"x\"}") "," REQ("wait", "[\"z\"]", "\"z\"") "," REQ(
                 "sum", "[1]", "\"s\"") "]");
  stir(p);
  const char *id = pair_chance(p, 2) ? "z" : pair_chance(p, 2) ? "y" : "s";
  char text[100];
  was_silent = pair_chance(p, 2);
  cancelled_id = id[0];
  snprintf(text, sizeof text,
           !was_silent
               ? NOTE("$/cancelRequest", "{\"id\":\"%s\"}")
               : NOTE("notifications/cancelled", "{\"requestId\":\"%s\"}"),
           id);
  say(&p->a, text);
  stir(p);
  let_go(&p->b, pair_chance(p, 2) ? "\"x\"" : "\"y\"");
  for (unsigned i = pair_chance(p, 8); i; i--) stir(p);
  let_go(&p->b, pair_chance(p, 2) ? "\"y\"" : "\"z\"");
  say(&p->a, text);
}

static bool is_batch_right(const pair *p, const ends *ended) {
  unsigned answered = 0;
  (void)p;
  for (const char *at = "xyzs"; *at; at++) {
    char id[4] = {'"', *at, '"'};
    unsigned permitted = 1U << RESULT;
    if (*at == 'x') permitted |= 1U << CANCEL;
    if (*at == cancelled_id) permitted |= 1U << (was_silent ? NONE : CANCEL);
    if (!is_one_of(id, permitted)) return false;
    answered += reply_to(id) != NONE;
  }
  return replies() == answered && !(ended->results | ended->errors);
}

/* The method waits for a call to the one that cancels it; that one may be let
 * go, cancelled or answered meanwhile. */
static void of_canceller(pair *p, ends *e) {
  char depth[16];
  snprintf(depth, sizeof depth, "[%u]", 1 + pair_chance(p, 6));
  int64_t id = first_id = call(&p->a, "nest", depth, e);
  for (unsigned i = pair_chance(p, 30); i; i--) stir(p);
  if (pair_chance(p, 4)) {
    let_go(&p->a, "\"deep\"");
    let_go(&p->b, "\"deep\"");
  }
  for (unsigned i = pair_chance(p, 30); i; i--) stir(p);
  mrpc_peer_cancel(p->a.peer, id);
}

/* Both sides call each other and give up at the same time. */
static void crossing(pair *p, ends *e) {
  int64_t ours = first_id = call(&p->a, "nest", "[3]", e);
  int64_t theirs = call(&p->b, "nest", "[2]", e);
  stir(p);
  stir(p);
  if (pair_chance(p, 2)) mrpc_peer_cancel(p->b.peer, theirs);
  stir(p);
  if (pair_chance(p, 2)) mrpc_peer_cancel(p->a.peer, ours);
  stir(p);
}

static const race_case cases[] = {
    {"a cancel against the answer", against_answer, is_against_right, 0, true},
    {"cancels twice, and of no call", twice, is_twice_right, 0, true},
    {"a cancel in a batch", in_batch, is_batch_right, 2, true},
    {"a cancel of a call that waits for the canceller", of_canceller,
     is_each_once, 0, true},
    {"cancels that cross", crossing, is_each_once, 0, true},
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) race(&cases[i]);
  return tap_finish();
}
