/* SPDX-License-Identifier: MIT
 *
 * The life of a peer: how its input may be cut, what holds it back and lets it
 * go on, and its ways to end. */
#include "rpc/peer.h"

#include "talk.h"

static mrpc_peer_stats stats_of(const talk *t) {
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(t->peer, &stats);
  return stats;
}

/* Cuts. */

static const char cut_input[] =
    REQ("subtract", "[42,23]", "1") "\n" NOTE("update", "[1]") "\r\n\n"
    "[" REQ("sum", "[1,2]", "\"\\u0061\"") ",1," REQ("wait", "[\"x\"]", "2") ","
    REQ("release", "[\"x\"]", "3") "]\n{\"jsonrpc\"\n"
    REQ("echo", "{\"a\":[null]}", "1.50") "\n";

static char *play_cut(size_t cut, size_t step) {
  talk t = {0};
  talk_begin(&t);
  size_t len = sizeof cut_input - 1;
  mrpc_peer_recv(t.peer, cut_input, cut);
  for (size_t at = cut; at < len; at += step)
    mrpc_peer_recv(t.peer, cut_input + at, len - at < step ? len - at : step);
  char *got = strdup(talk_take(&t));
  if (!talk_end(&t)) abort();
  return got;
}

static void cuts(void) {
  char *whole = play_cut(0, sizeof cut_input);
  is_str(
      whole,
      RES("19", "1") "\n[" RES("3", "\"\\u0061\"") "," INVALID("null") "," RES(
          "\"x\"", "2") "," RES("true", "3") "]\n" GARBLED
                                             "\n" RES("{\"a\":[null]}",
                                                      "1.50") "\n",
      "a conversation in one piece");
  size_t bad = 0;
  for (size_t cut = 1; cut < sizeof cut_input; cut++) {
    char *got = play_cut(cut, sizeof cut_input);
    if (strcmp(got, whole) != 0) bad++;
    free(got);
  }
  ok(bad == 0, "the same cut at each of %zu places", sizeof cut_input - 1);
  char *got = play_cut(0, 1);
  is_str(got, whole, "the same byte by byte");
  free(got);
  free(whole);
}

/* Limits. */

/* Ids are kept until they are echoed, so that they count as output does. */
static void long_ids(void) {
  talk t = {.limits.output = 1000};
  talk_begin(&t);
  char say[1024];
  for (int i = 0; i < 3; i++) {
    snprintf(say, sizeof say, REQ("wait", "[\"a\"]", "\"%0600d\"") "\n", i);
    talk_say(&t, say);
  }
  ok(t.methods.started == 2, "ids of 1200 bytes fill an output of 1000");
  ok(!mrpc_peer_wants_read(t.peer), "reading stops");
  talk_release(&t, "\"a\"");
  ok(t.methods.started == 3, "one is echoed, one starts");
  talk_release(&t, "\"a\"");
  ok(strlen(talk_take(&t)) > 1200, "and another; their answers are sent");
  ok(mrpc_peer_wants_read(t.peer), "below the limit reading goes on");
  snprintf(say, sizeof say, REQ("wait", "[\"a\"]", "\"%0600d\"") "\n", 4);
  talk_say(&t, say);
  talk_say(&t, say);
  mrpc_peer_drop(t.peer);
  ok(talk_end(&t), "all memory came back");
}

static void in_flight(void) {
  talk t = {.limits.in_flight = 2};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  ok(mrpc_peer_wants_read(t.peer), "one below the limit: reading goes on");
  talk_say(
      &t, REQ("wait", "[\"b\"]", "2") "\n" REQ("wait", "[\"c\"]", "3") "\n" REQ(
              "sum", "[4]", "4") "\n" NOTE("update", "[]") "\n");
  ok(!mrpc_peer_wants_read(t.peer), "at the limit: reading stops");
  ok(t.methods.started == 2, "the rest hasn't started");
  unsigned wakes = t.wakes;
  methods_let_go(&t.methods, "\"a\"", 3);
  ok(t.methods.started == 2, "nothing starts from inside an answer");
  talk_run(&t);
  ok(t.methods.started == 3 && !mrpc_peer_wants_read(t.peer),
     "one ends, one starts");
  talk_release(&t, "\"c\"");
  ok(t.methods.started == 5, "they end, all start");
  ok(mrpc_peer_wants_read(t.peer) && t.wakes > wakes, "reading goes on");
  is_str(talk_take(&t),
         RES("\"a\"", "1") "\n" RES("\"c\"", "3") "\n" RES("4", "4") "\n",
         "answers come as they are ready");
  ok(stats_of(&t).in_flight == 1, "one is still in flight");
  ok(talk_end(&t), "all memory came back");
}

/* Many small messages behind a limit of one, each freed by the one before. */
static void one_by_one(void) {
  enum { COUNT = 2000 };
  talk t = {.limits.in_flight = 1};
  talk_begin(&t);
  char *all = malloc(COUNT * 80);
  size_t len = 0;
  for (int i = 0; i < COUNT; i++)
    len += (size_t)sprintf(all + len, REQ("wait", "[\"a\"]", "%d") "\n", i);
  mrpc_peer_recv(t.peer, all, len);
  bool fits = true;
  for (unsigned i = 0; i < COUNT; i++) {
    fits = fits && t.methods.started == i + 1;
    talk_release(&t, "\"a\"");
  }
  ok(fits, "%d messages, one by one", COUNT);
  ok(mrpc_peer_wants_read(t.peer) && stats_of(&t).in_flight == 0,
     "then all is taken");
  free(all);
  ok(talk_end(&t), "all memory came back");
}

static void output(void) {
  talk t = {.limits.output = 100, .is_stuck = true};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("echo", "[\"0123456789012345678901234567890123456789\"]",
                   "1") "\n");
  ok(mrpc_peer_wants_read(t.peer), "less than the limit is held");
  talk_say(&t, REQ("sum", "[1]", "2") "\n");
  ok(!mrpc_peer_wants_read(t.peer), "more: reading stops");
  talk_say(&t, REQ("sum", "[2]", "3") "\n");
  ok(t.methods.started == 2, "and nothing starts");
  size_t len = mrpc_peer_output(t.peer, &bytes);
  ok(len > 100 && stats_of(&t).held == len, "%zu bytes are held", len);
  mrpc_peer_sent(t.peer, len - 51);
  talk_run(&t);
  ok(!mrpc_peer_wants_read(t.peer) && t.methods.started == 2,
     "a byte more than half: nothing yet");
  mrpc_peer_sent(t.peer, 1);
  talk_run(&t);
  ok(mrpc_peer_wants_read(t.peer) && t.methods.started == 3,
     "half: reading goes on");
  ok(mrpc_peer_output(t.peer, &bytes) == 50 && bytes[49] == '\n',
     "what was shown stays in place");
  mrpc_peer_sent(t.peer, 50);
  t.is_stuck = false;
  is_str(talk_take(&t), RES("2", "3") "\n", "then comes what was added");
  ok(talk_end(&t), "all memory came back");
}

/* A large message doesn't weigh on the peer when it is over. */
static void idle_memory(void) {
  talk t = {0};
  talk_begin(&t);
  char *say = malloc(200100);
  int len = sprintf(say, REQ("echo", "[\"%0200000d\"]", "1") "\n", 0);
  mrpc_peer_recv(t.peer, say, 1000);
  mrpc_peer_recv(t.peer, say + 1000, (size_t)len - 1000);
  talk_take(&t);
  size_t before = t.mem.live;
  talk_say(&t, REQ("sum", "[1]", "2") "\n");
  talk_take(&t);
  ok(before < 40000 && t.mem.live < 40000, "%zu, then %zu bytes live", before,
     t.mem.live);
  free(say);
  ok(talk_end(&t), "all memory came back");
}

/* What many calls and large messages took isn't kept for ever. */
static void pools(void) {
  enum { CALLS = 900, NODES = 60000 };
  talk t = {.limits = {.in_flight = CALLS, .output = 16U << 20}};
  talk_begin(&t);
  for (int i = 0; i < CALLS; i++)
    talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  size_t much = t.mem.live;
  for (int i = 0; i < CALLS; i++) talk_release(&t, "\"a\"");
  talk_take(&t);
  ok(much > 300000 && t.mem.live < 120000,
     "%d calls in flight: %zu bytes, then %zu", CALLS, much, t.mem.live);
  char *say = malloc(2 * NODES + 100), *at = say;
  at += sprintf(at, "{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"params\":[1");
  for (int i = 0; i < NODES; i++) at += sprintf(at, ",1");
  sprintf(at, "]}\n");
  talk_say(&t, say);
  ok(t.mem.live < 200000, "%d values, then %zu bytes", NODES, t.mem.live);
  free(say);
  ok(talk_end(&t), "all memory came back");
}

/* The rest. */

static void figures(void) {
  talk t = {.config = {.transport = "tcp", .address = "1.2.3.4:5"}};
  talk_begin(&t);
  is_str(mrpc_peer_transport(t.peer), "tcp", "transport");
  is_str(mrpc_peer_address(t.peer), "1.2.3.4:5", "address");
  ok(mrpc_peer_id(t.peer) == 1 && mrpc_peer_ud(t.peer) == &t, "id and ud");
  ok(mrpc_peer_framing(t.peer) != NULL, "framing");
  talk_say(&t, REQ("sum", "[]", "1") "\n" NOTE("sum", "[]") "\n1\n" REQ(
                   "x", "[]", "1") "\n{\n" REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_stats s = stats_of(&t);
  ok(s.requests == 3 && s.notifications == 1 && s.errors == 3 &&
         s.in_flight == 1 && s.calls_out == 0 && s.stray_answers == 0 &&
         s.pending == 0 && s.held > 0,
     "counters");
  ok(talk_end(&t), "all memory came back");
}

/* A method that feeds another peer: two conversations on one stack. */
static void feed_other(mrpc_call *call, void *ud) {
  talk *t = ud;
  size_t before, after;
  const char *params = mrpc_call_params(call, &before);
  mrpc_peer_recv(t->peer, REQ("echo", "[2]", "1") "\n",
                 sizeof(REQ("echo", "[2]", "1") "\n") - 1);
  ok(mrpc_call_params(call, &after) == params && before == after,
     "the params are still there");
  mrpc_call_reply(call, params, after);
}

static void nested(void) {
  talk t = {0}, inner = {0};
  talk_begin(&t);
  talk_begin(&inner);
  mrpc_peer *other;
  mrpc_framing *framing;
  mrpc_peer_config config = {.env = t.env, .dispatch = t.dispatch};
  if (mrpc_framing_line(t.env, NULL, &framing) ||
      mrpc_peer_new(&config, framing, &other))
    abort();
  talk view = {.peer = other};
  mrpc_dispatch_add(t.dispatch, "feed", feed_other, &view);
  talk_is(&t, "[" REQ("feed", "[1]", "1") "," REQ("sum", "[3]", "2") "]\n",
          "[" RES("[1]", "1") "," RES("3", "2") "]\n", "the outer one");
  is_str(talk_take(&view), RES("[2]", "1") "\n", "the inner one");
  mrpc_peer_free(other);
  free(view.taken);
  ok(talk_end(&inner) && talk_end(&t), "all memory came back");
}

static void duplicates(void) {
  talk t = {.config.reject_duplicate_ids = true};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  talk_is(&t, REQ("sum", "[]", "1.0") "\n" REQ("sum", "[]", "\"1\"") "\n",
          ERR("-32600", "Invalid Request: duplicate id", "1.0") "\n" RES(
              "0", "\"1\"") "\n",
          "an id in flight is refused, another type isn't");
  talk_release(&t, "\"a\"");
  talk_take(&t);
  talk_is(&t, REQ("sum", "[]", "1") "\n", RES("0", "1") "\n",
          "it may be used again");
  ok(talk_end(&t), "all memory came back");
  talk lax = {0};
  talk_begin(&lax);
  talk_say(&lax, REQ("wait", "[\"a\"]", "1") "\n");
  talk_is(&lax, REQ("sum", "[]", "1") "\n", RES("0", "1") "\n",
          "by default duplicates are allowed");
  ok(talk_end(&lax), "all memory came back");
}

int main(void) {
  cuts();
  in_flight();
  long_ids();
  one_by_one();
  output();
  idle_memory();
  pools();
  figures();
  nested();
  duplicates();
  return tap_finish();
}
