/* SPDX-License-Identifier: MIT
 *
 * The ways of a peer to end: the other side's end, a dead connection, a drain,
 * deadlines, lack of memory, a stream that can't be followed. */
#include "talk.h"

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

/* The last to end is a notification: no output, but news. */
static void eof_silent(void) {
  talk t = {0};
  talk_begin(&t);
  talk_say(&t, NOTE("wait", "[\"a\"]") "\n");
  mrpc_peer_eof(t.peer);
  ok(!mrpc_peer_is_done(t.peer), "a notification is in flight");
  unsigned wakes = t.wakes;
  talk_release(&t, "\"a\"");
  ok(mrpc_peer_is_done(t.peer) && t.wakes > wakes, "it ends: done");
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

static void drop_with_output(void) {
  talk t = {.limits.write_time = 10, .is_stuck = true};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("sum", "[1]", "2") "\n");
  ok(mrpc_peer_output(t.peer, &bytes) > 0, "something is being sent");
  mrpc_peer_drop(t.peer);
  talk_pass(&t, 11);
  ok(mrpc_timer_next(t.env) == UINT64_MAX, "a dropped peer waits for nothing");
  ok(talk_end(&t), "all memory came back");
}

static int frame_http(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out) {
  return mrpc_framing_http(env, &(mrpc_http_config){.limits = limits}, out);
}

/* Says a message over HTTP. */
static void post(talk *t, const char *text) {
  char say[300];
  snprintf(say, sizeof say,
           "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
           "application/json\r\nContent-Length: %zu\r\n\r\n%s",
           strlen(text), text);
  talk_say(t, say);
}

/* HTTP has answered a notification before its method ends. */
static void drop_with_note(void) {
  talk t = {.framing = frame_http};
  talk_begin(&t);
  post(&t, NOTE("wait", "[\"a\"]"));
  ok(strstr(talk_take(&t), " 204 ") != NULL, "a notification is answered");
  post(&t, REQ("wait", "[\"b\"]", "1"));
  mrpc_peer_drop(t.peer);
  ok(t.methods.cancelled == 1 && !mrpc_peer_is_done(t.peer),
     "a call is cancelled, the notification goes on");
  unsigned wakes = t.wakes;
  talk_release(&t, "\"a\"");
  ok(mrpc_peer_is_done(t.peer) && t.wakes > wakes, "it ends: done");
  ok(t.methods.cancelled == 1 && talk_end(&t), "all memory came back");
  talk other = {.framing = frame_http};
  talk_begin(&other);
  post(&other, NOTE("wait", "[\"a\"]"));
  mrpc_peer_drop(other.peer);
  mrpc_peer_abandon(other.peer);
  ok(mrpc_peer_is_done(other.peer) && other.methods.cancelled == 1,
     "unless it is abandoned");
  ok(talk_end(&other), "all memory came back");
}

/* A connection whose notification isn't at its end may be used again. */
static void idle_with_note(void) {
  talk t = {.framing = frame_http, .limits.idle_time = 4};
  talk_begin(&t);
  post(&t, NOTE("wait", "[\"a\"]"));
  talk_take(&t);
  for (int i = 0; i < 20; i++) talk_pass(&t, 1);
  post(&t, REQ("sum", "[2]", "1"));
  ok(strstr(talk_take(&t), RES("2", "1")) != NULL,
     "HTTP isn't idle while a notification runs");
  talk_release(&t, "\"a\"");
  for (int i = 0; i < 6; i++) talk_pass(&t, 1);
  ok(mrpc_peer_is_done(t.peer), "later it is");
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

static void lost_in_message(void) {
  talk t = {.limits = {.write_time = 10, .body_time = 5}, .is_stuck = true};
  const char *bytes;
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("sum", "[1]", "2") "\n{");
  mrpc_peer_output(t.peer, &bytes);
  t.mem.sticky = true;
  t.mem.fail_at = t.mem.count + 1;
  talk_release(&t, "\"a\"");
  t.mem.fail_at = 0;
  talk_pass(&t, 6);
  ok(!mrpc_peer_is_done(t.peer), "lost: no message has a deadline any more");
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

static void note_end(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  *(int *)ud = answer->result;
}

static void slow_message(void) {
  talk t = {.limits.body_time = 5};
  int result = 1;
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n{\"json");
  mrpc_peer_call(t.peer, "ask", NULL, 0, note_end, &result, NULL);
  talk_take(&t);
  talk_pass(&t, 5.1);
  ok(!mrpc_peer_wants_read(t.peer) && !mrpc_peer_is_done(t.peer),
     "a message that takes too long ends the input");
  ok(result == MRPC_ECLOSED, "and with it our call, which waits for more");
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
  ok(strstr(talk_take(&t),
            "\"Parse error: Content-Length isn't a number\"},"
            "\"id\":null}") != NULL,
     "the other side is told why");
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

int main(void) {
  eof();
  eof_silent();
  eof_too_long();
  eof_while_held();
  drop();
  drop_with_output();
  drop_with_note();
  idle_with_note();
  drop_inside();
  drop_at_wake();
  drain();
  write_time();
  lost();
  lost_in_message();
  idle_output();
  slow_message();
  broken();
  refused();
  return tap_finish();
}
