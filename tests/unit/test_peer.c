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

/* Ends. */

static void eof(void) {
  talk t = {0};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("sum", "[2]", "2"));
  ok(mrpc_peer_eof(t.peer) == MRPC_OK, "the end of input");
  is_str(talk_take(&t), RES("2", "2") "\n", "a last line needs no newline");
  ok(!mrpc_peer_wants_read(t.peer) && !mrpc_peer_is_done(t.peer),
     "an answer is still owed");
  unsigned wakes = t.wakes;
  talk_release(&t, "\"a\"");
  ok(t.wakes > wakes && !mrpc_peer_is_done(t.peer), "it is ready to be sent");
  is_str(talk_take(&t), RES("\"a\"", "1") "\n", "it is sent");
  ok(mrpc_peer_is_done(t.peer), "that was all");
  ok(talk_end(&t), "all memory came back");
}

static void eof_too_long(void) {
  talk t = {.limits.half_closed = 5};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_eof(t.peer);
  talk_pass(&t, 4.9);
  ok(!mrpc_peer_is_done(t.peer) && !t.methods.cancelled, "before the deadline");
  unsigned wakes = t.wakes;
  talk_pass(&t, 0.2);
  ok(mrpc_peer_is_done(t.peer) && t.methods.cancelled == 1, "behind it");
  ok(t.wakes > wakes, "the embedder learns of it");
  ok(talk_end(&t), "all memory came back");
}

/* What was held back is taken before the end counts. */
static void eof_while_held(void) {
  talk t = {.limits.in_flight = 1};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ(
                   "wait", "[\"b\"]", "2") "\n" REQ("sum", "[3]", "3"));
  mrpc_peer_eof(t.peer);
  ok(!mrpc_peer_is_done(t.peer) && t.methods.started == 1, "one has started");
  talk_release(&t, "\"a\"");
  talk_release(&t, "\"b\"");
  is_str(talk_take(&t),
         RES("\"a\"", "1") "\n" RES("\"b\"", "2") "\n" RES("3", "3") "\n",
         "all are answered");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
}

static void drop(void) {
  talk t = {0};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n[" REQ("sum", "[1]", "2") "," REQ(
                   "wait", "[\"b\"]", "3") "," REQ("sum", "[1]",
                                                   "4") "]\n" REQ("sum", "[1]",
                                                                  "5") "\n");
  mrpc_peer_drop(t.peer);
  ok(t.methods.cancelled == 2, "calls in flight are cancelled");
  ok(mrpc_peer_is_done(t.peer) && mrpc_peer_output(t.peer, &bytes) == 0,
     "nothing is sent any more");
  mrpc_peer_drop(t.peer);
  ok(talk_say(&t, REQ("sum", "[1]", "6") "\n") == MRPC_OK &&
         t.methods.started == 5,
     "nothing is taken any more");
  ok(mrpc_timer_next(t.env) == UINT64_MAX, "it waits for nothing");
  ok(talk_end(&t), "all memory came back");
}

static void drop_caller(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_peer_drop(mrpc_call_peer(call));
  mrpc_call_reply(call, "1", 1);
}

static void drop_inside(void) {
  talk t = {0};
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "drop", drop_caller, NULL);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n[" REQ("sum", "[1]", "2") "," REQ(
                   "drop", "[]", "3") "," REQ("sum", "[1]",
                                              "4") "]\n" REQ("sum", "[1]",
                                                             "5") "\n");
  ok(t.methods.started == 2 && t.methods.cancelled == 1,
     "a method may drop its caller: nothing more starts");
  ok(mrpc_peer_is_done(t.peer), "it's done");
  ok(talk_end(&t), "all memory came back");
}

static void drop_on_wake(mrpc_peer *peer, void *ud) {
  ((talk *)ud)->wakes++;
  mrpc_peer_drop(peer);
}

static void drop_at_wake(void) {
  talk t = {0};
  mrpc_framing *framing;
  if (talk_start(&t) || mrpc_framing_line(t.env, NULL, &framing)) abort();
  t.config = (mrpc_peer_config){
      .env = t.env, .dispatch = t.dispatch, .on_wake = drop_on_wake, .ud = &t};
  if (mrpc_peer_new(&t.config, framing, &t.peer)) abort();
  talk_say(&t,
           "[" REQ("wait", "[\"a\"]", "1") "," REQ(
               "wait", "[\"b\"]", "2") "]\n" REQ("wait", "[\"c\"]", "3") "\n");
  talk_release(&t, "\"b\"");
  ok(t.wakes == 0, "half of a batch is no news");
  methods_let_go(&t.methods, "\"a\"", 3);
  ok(t.wakes == 1 && mrpc_peer_is_done(t.peer), "on_wake may drop the peer");
  ok(t.methods.cancelled == 0, "the calls aren't told from inside an answer");
  talk_run(&t);
  ok(t.methods.cancelled == 1, "but soon");
  ok(talk_end(&t), "all memory came back");
}

static void drain(void) {
  talk t = {0};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_drain(t.peer);
  talk_is(&t,
          REQ("sum", "[2]", "2") "\n" NOTE("update", "[]") "\n[" REQ(
              "sum", "[3]", "3") "]\n",
          ERR("-32054", "Shutting down", "2") "\n[" ERR(
              "-32054", "Shutting down", "3") "]\n",
          "new requests are refused");
  ok(t.methods.started == 1 && !mrpc_peer_is_done(t.peer),
     "the one in flight goes on");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), RES("\"a\"", "1") "\n", "and is answered");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
  talk idle = {0};
  talk_begin(&idle);
  mrpc_peer_drain(idle.peer);
  ok(mrpc_peer_is_done(idle.peer), "an idle peer is done at once");
  ok(talk_end(&idle), "all memory came back");
}

/* Output that stands still, and output that moves slowly. */
static void write_time(void) {
  talk t = {.limits.write_time = 10, .is_stuck = true};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("sum", "[1]", "2") "\n");
  mrpc_peer_output(t.peer, &bytes);
  for (int i = 0; i < 4; i++) {
    talk_pass(&t, 9);
    mrpc_peer_sent(t.peer, 1);
  }
  ok(!mrpc_peer_is_done(t.peer), "a byte every nine seconds will do");
  talk_pass(&t, 9.9);
  ok(!mrpc_peer_is_done(t.peer), "not yet");
  talk_pass(&t, 0.2);
  ok(mrpc_peer_is_done(t.peer) && t.methods.cancelled == 1,
     "ten seconds without one end it");
  ok(talk_end(&t), "all memory came back");
}

/* Lost for lack of memory, with output that nobody takes. */
static void lost(void) {
  talk t = {.limits.write_time = 10, .is_stuck = true};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("sum", "[1]", "2") "\n");
  mrpc_peer_output(t.peer, &bytes);
  t.mem.sticky = true;
  t.mem.fail_at = t.mem.count + 1;
  ok(talk_say(&t, REQ("sum", "[1]", "3") "\n") == MRPC_ENOMEM,
     "an answer that can't be kept ends the peer");
  t.mem.fail_at = 0;
  ok(t.methods.cancelled == 1 && !mrpc_peer_is_done(t.peer),
     "calls are cancelled, what was written is still to be sent");
  ok(talk_say(&t, "\n") == MRPC_ENOMEM, "the failure stays");
  talk_pass(&t, 10);
  ok(mrpc_peer_is_done(t.peer), "but not for ever");
  ok(talk_end(&t), "all memory came back");
}

static void lost_at_end(void) {
  talk t = {.limits = {.write_time = 10, .half_closed = 5}, .is_stuck = true};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("sum", "[1]", "2") "\n");
  mrpc_peer_eof(t.peer);
  mrpc_peer_output(t.peer, &bytes);
  t.mem.sticky = true;
  t.mem.fail_at = t.mem.count + 1;
  talk_release(&t, "\"a\"");
  t.mem.fail_at = 0;
  talk_pass(&t, 6);
  ok(!mrpc_peer_is_done(t.peer), "lost: no answer has a deadline any more");
  talk_pass(&t, 6);
  ok(mrpc_peer_is_done(t.peer), "but the output has");
  ok(talk_end(&t), "all memory came back");
}

static void idle_output(void) {
  talk t = {.limits.write_time = 10};
  talk_begin(&t);
  talk_is(&t, REQ("sum", "[1]", "2") "\n", RES("1", "2") "\n", "all is sent");
  talk_pass(&t, 1000);
  ok(!mrpc_peer_is_done(t.peer) && mrpc_peer_wants_read(t.peer),
     "an idle peer may live for ever");
  ok(talk_end(&t), "all memory came back");
}

static void slow_message(void) {
  talk t = {.limits.body_time = 5};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n{\"json");
  talk_pass(&t, 5.1);
  ok(!mrpc_peer_wants_read(t.peer) && !mrpc_peer_is_done(t.peer),
     "a message that takes too long ends the input");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), RES("\"a\"", "1") "\n", "calls in flight are answered");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
}

static void broken(void) {
  talk t = {.framing = mrpc_framing_header};
  char say[200];
  talk_begin(&t);
  snprintf(say, sizeof say,
           "Content-Length: %zu\r\n\r\n%sContent-Length: x\r\n\r\n",
           sizeof REQ("wait", "[\"a\"]", "1") - 1, REQ("wait", "[\"a\"]", "1"));
  ok(talk_say(&t, say) == MRPC_EPROTO, "a stream that can't be followed");
  ok(strstr(talk_take(&t), GARBLED) != NULL, "the other side is told");
  ok(talk_say(&t, "x") == MRPC_EPROTO, "the failure stays");
  ok(!mrpc_peer_is_done(t.peer), "an answer is owed");
  talk_release(&t, "\"a\"");
  ok(strstr(talk_take(&t), RES("\"a\"", "1")) != NULL, "it is sent");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
}

static void refused(void) {
  talk t = {0};
  talk_begin(&t);
  ok(talk_say(&t, "GET / HTTP/1.1\r\n") == MRPC_EPROTO, "a browser knocks");
  is_str(talk_take(&t), "", "it hears nothing");
  ok(mrpc_peer_is_done(t.peer), "and is shown out");
  ok(talk_end(&t), "all memory came back");
}

/* A framing whose other side says goodbye in band. */
static mrpc_framing_vt polite_vt;
static const mrpc_framing_vt *line_vt;

static int polite_recv(mrpc_framing *f, const char *bytes, size_t len,
                       size_t *consumed, mrpc_message *msg) {
  int rc = line_vt->recv(f, bytes, len, consumed, msg);
  if (rc || msg->len != 5 || memcmp(msg->bytes, "[bye]", 5) != 0) return rc;
  mrpc_buf_lit(&f->out, "bye");
  return MRPC_ECLOSED;
}

static int make_polite(mrpc_env *env, const mrpc_limits *limits,
                       mrpc_framing **out) {
  int rc = mrpc_framing_line(env, limits, out);
  if (rc) return rc;
  line_vt = (*out)->vt;
  polite_vt = *line_vt;
  polite_vt.recv = polite_recv;
  (*out)->vt = &polite_vt;
  return MRPC_OK;
}

static void goodbye(void) {
  talk t = {.framing = make_polite};
  talk_begin(&t);
  ok(talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n[bye]\n" REQ(
                      "sum", "[1]", "2") "\n") == MRPC_OK,
     "the end of the conversation, in band");
  ok(t.methods.started == 1 && t.methods.cancelled == 1,
     "cancels what is in flight");
  ok(!mrpc_peer_is_done(t.peer) && !mrpc_peer_wants_read(t.peer),
     "a last word is owed");
  is_str(talk_take(&t), "bye", "and sent");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
}

/* A framing that writes down what became of each message. */
static char outcomes[20];
static mrpc_framing_vt noting_vt;

static void note_outcome(mrpc_outcome outcome) {
  size_t at = strlen(outcomes);
  if (at < sizeof outcomes - 1) outcomes[at] = "ASDLX"[outcome];
}

static int noting_put(mrpc_framing *f, uint64_t token, const char *bytes,
                      size_t len, mrpc_outcome outcome) {
  note_outcome(outcome);
  return line_vt->put(f, token, bytes, len, outcome);
}

static int noting_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome) {
  note_outcome(outcome);
  return line_vt->none(f, token, outcome);
}

static int make_noting(mrpc_env *env, const mrpc_limits *limits,
                       mrpc_framing **out) {
  int rc = mrpc_framing_line(env, limits, out);
  if (rc) return rc;
  line_vt = (*out)->vt;
  noting_vt = *line_vt;
  noting_vt.put = noting_put;
  noting_vt.none = noting_none;
  (*out)->vt = &noting_vt;
  return MRPC_OK;
}

static void show_outcomes(void) {
  talk t = {.framing = make_noting};
  talk_begin(&t);
  talk_say(&t,
           REQ("sum", "[]", "1") "\n1\n" NOTE("boom", "[]") "\n[" NOTE(
               "sum", "[]") "," REQ("sum", "[]", "1") "]\n" RES("1", "1") "\n");
  is_str(outcomes, "AASAS", "answered, or silent");
  memset(outcomes, 0, sizeof outcomes);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_drain(t.peer);
  talk_say(&t, REQ("sum", "[]", "1") "\n[" NOTE("sum", "[]") ",1]\n" NOTE(
                   "sum", "[]") "\n1\n" RES("1", "1") "\n");
  is_str(outcomes, "XXXAS", "or refused by a peer that drains");
  memset(outcomes, 0, sizeof outcomes);
  talk_release(&t, "\"a\"");
  is_str(outcomes, "A", "which answers what had started");
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
  eof();
  eof_too_long();
  eof_while_held();
  drop();
  drop_inside();
  drop_at_wake();
  drain();
  write_time();
  lost();
  lost_at_end();
  idle_output();
  slow_message();
  broken();
  refused();
  goodbye();
  show_outcomes();
  figures();
  nested();
  duplicates();
  return tap_finish();
}
