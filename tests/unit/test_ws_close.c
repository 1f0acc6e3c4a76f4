/* SPDX-License-Identifier: MIT
 *
 * RFC 6455 section 7: how a conversation ends, from either side.
 * src/http/websocket.c. */
#include "frames.h"
#include "talk.h"

static void close_frame(unsigned code, const char *reason) {
  char payload[130] = {(char)(code >> 8), (char)(code & 255)};
  strcpy(payload + 2, reason);
  frame_n(&in, CLOSE, payload, 2 + strlen(reason));
}

static void test_close(void) {
  static const unsigned fine[] = {1000, 1001, 1002, 1003, 1007, 1008,
                                  1009, 1010, 1011, 1012, 1013, 1014,
                                  3000, 3999, 4000, 4999};
  static const unsigned wrong[] = {0,    999,  1004, 1005, 1006, 1015,
                                   1016, 1100, 2000, 2999, 5000, 65535};
  char want[100];
  frame(&in, CLOSE, "");
  frame(&in, TEXT, "[1]");
  gives("closed: (silence)\n< close \nclosing\n",
        "5.5.1: a Close of no code; what follows is dropped");
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    close_frame(fine[i], "bye");
    snprintf(want, sizeof want, "closed: %s\n< close %u \nclosing\n",
             fine[i] > 1001 ? "it closed with an error code" : "(silence)",
             fine[i]);
    gives(want, "7.4: the same code back");
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    close_frame(wrong[i], "");
    FAILS("1002", "a Close of a wrong code", "7.4: a code that may not be");
  }
  frame(&in, CLOSE, "x");
  FAILS("1002", "a Close of a wrong code", "5.5.1: half a code");
  close_frame(1000, "\xc3");
  FAILS("1007", "a reason isn't UTF-8", "5.5.1: half a character");
  frame(&in, TEXT - MORE, "[1");
  close_frame(1000, "");
  gives("closed: (silence)\n< close 1000 \nclosing\n", "inside of a message");
}

static void test_drain(void) {
  feed t;
  open_at(&t);
  t.f->vt->drain(t.f);
  ok(!t.f->vt->can_push(t.f), "nothing can be pushed behind the end");
  says(&t, "< close 1001 \nclosing\n", "7.4.1: 1001 at once when idle");
  open_at(&t);
  frame(&in, TEXT, "[1]");
  frame(&in, TEXT, "[2]");
  play(&t);
  t.f->vt->drain(t.f);
  frame(&in, TEXT, "[3]");
  play(&t);
  ok(owed == 3 && t.f->vt->can_push(t.f), "owed answers keep it open");
  t.f->vt->put(t.f, 0, "a", 1, MRPC_OUTCOME_ANSWERED);
  t.f->vt->none(t.f, 0, MRPC_OUTCOME_SILENT);
  t.f->vt->put(t.f, 0, "b", 1, MRPC_OUTCOME_ANSWERED);
  t.f->vt->put(t.f, 0, "c", 1, MRPC_OUTCOME_ANSWERED);
  says(&t,
       "message [1]\nmessage [2]\nmessage [3]\n< text a\n< text b\n"
       "< close 1001 \nclosing\n",
       "1001 behind the last answer, and nothing behind it");
}

static void test_our_close(void) {
  feed t;
  open_at(&t);
  t.f->vt->close(t.f, "enough");
  says(&t, "< close 1000 enough\nclosing\n", "7.1.2: a close with a reason");
  open_at(&t);
  frame(&in, TEXT, "[1]");
  play(&t);
  t.f->vt->close(t.f, NULL);
  t.f->vt->drain(t.f);
  t.f->vt->push(t.f, "p", 1);
  t.f->vt->put(t.f, 0, "a", 1, MRPC_OUTCOME_ANSWERED);
  ok(t.f->vt->push(t.f, "p", 1) == MRPC_ESTATE, "it is over");
  says(&t, "message [1]\n< text p\n< text a\n< close 1000 \nclosing\n",
       "the first way to end counts");
  open_at(&t);
  char reason[200], want[200];
  memset(reason, 'x', sizeof reason);
  memcpy(reason + 121, "\xe2\x82\xac", 4);
  t.f->vt->close(t.f, reason);
  snprintf(want, sizeof want, "< close 1000 %.121s\nclosing\n", reason);
  says(&t, want, "5.5: a long reason is cut between characters");
}

/* The close of a peer, in the words of this framing. */

static int make_for(mrpc_env *env, const mrpc_limits *l, mrpc_framing **out) {
  (void)l;
  return make(env, out);
}

static void hear(talk *t, int first, const char *text) {
  frame(&in, first, text);
  mrpc_peer_recv(t->peer, in.at, in.len);
  free(in.at);
  in = (feed_text){0};
  talk_run(t);
}

/* One check: what was sent since the last one. */
static void sent(talk *t, const char *want, const char *name) {
  feed shown = {0};
  talk_flush(t);
  if (t->out) show_frames(&shown, t->out, t->out_len);
  t->out_len = 0;
  is_str(shown.log.at ? shown.log.at : "", want, name);
  free(shown.log.at);
}

static void note_end(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  *(int *)ud = answer->result;
}

static void test_peer_idle(void) {
  talk t = {.framing = make_for};
  int result = 0;
  talk_begin(&t);
  mrpc_peer_call(t.peer, "ask", NULL, 0, note_end, &result, NULL);
  sent(&t, "< text {\"jsonrpc\":\"2.0\",\"method\":\"ask\",\"id\":1}\n",
       "a call of ours waits");
  mrpc_peer_close(t.peer, "enough");
  talk_run(&t);
  ok(result == MRPC_ECLOSED, "it fails at once");
  ok(!mrpc_peer_is_done(t.peer), "the Close is still to be sent");
  sent(&t, "< close 1000 enough\n", "with the reason");
  ok(mrpc_peer_is_done(t.peer), "then it is done");
  ok(talk_end(&t), "all memory came back");
}

/* Behind the Close of a drain nobody answers a call of ours. */
static void test_peer_drained(void) {
  for (int is_owed = 0; is_owed < 2; is_owed++) {
    talk t = {.framing = make_for};
    int result = 0;
    talk_begin(&t);
    mrpc_peer_call(t.peer, "ask", NULL, 0, note_end, &result, NULL);
    if (is_owed) hear(&t, TEXT, REQ("wait", "[\"a\"]", "1"));
    mrpc_peer_drain(t.peer);
    talk_run(&t);
    if (is_owed) ok(result == 0, "it waits as long as an answer is owed");
    if (is_owed) talk_release(&t, "\"a\"");
    talk_run(&t);
    ok(result == MRPC_ECLOSED, "a call of ours fails with the Close");
    talk_flush(&t);
    ok(mrpc_peer_is_done(t.peer) && talk_end(&t), "all memory came back");
  }
}

/* What was asked before is answered, what is asked behind it isn't heard. */
static void test_peer_busy(void) {
  talk t = {.framing = make_for};
  talk_begin(&t);
  hear(&t, TEXT, REQ("wait", "[\"a\"]", "1"));
  mrpc_peer_close(t.peer, "enough");
  talk_run(&t);
  sent(&t, "", "a call in flight holds the Close back");
  hear(&t, TEXT, REQ("sum", "[1]", "2"));
  hear(&t, PING, "x");
  sent(&t, "< pong x\n", "only pings are answered meanwhile");
  ok(t.methods.started == 1 && !mrpc_peer_is_done(t.peer), "nothing starts");
  ok(mrpc_peer_notify(t.peer, "late", NULL) == MRPC_ESTATE, "nor is said");
  talk_release(&t, "\"a\"");
  sent(&t, "< text " RES("\"a\"", "1") "\n< close 1000 enough\n",
       "the answer, and the Close behind it");
  ok(mrpc_peer_is_done(t.peer) && talk_end(&t), "done; all memory came back");
}

static void test_peer_cut_short(void) {
  for (int way = 0; way < 3; way++) {
    talk t = {.framing = make_for, .limits.half_closed = 10};
    talk_begin(&t);
    hear(&t, TEXT, REQ("wait", "[\"a\"]", "1"));
    mrpc_peer_close(t.peer, NULL);
    talk_run(&t);
    if (way == 0) talk_pass(&t, 11);
    if (way == 1) hear(&t, CLOSE, "\x03\xe9");
    if (way == 2) mrpc_peer_eof(t.peer);
    talk_run(&t);
    ok(t.methods.cancelled == 1, "%s cancels what is in flight",
       way == 0   ? "limits.half_closed"
       : way == 1 ? "the other side's Close"
                  : "its end");
    sent(&t, way == 1 ? "< close 1001 \n" : "", "and is answered in kind");
    ok(mrpc_peer_is_done(t.peer) && talk_end(&t), "all memory came back");
  }
}

int main(void) {
  test_close();
  test_drain();
  test_our_close();
  test_peer_idle();
  test_peer_drained();
  test_peer_busy();
  test_peer_cut_short();
  return tap_finish();
}
