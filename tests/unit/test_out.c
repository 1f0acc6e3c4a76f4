/* SPDX-License-Identifier: MIT
 *
 * Calls out that end before their answer: given up or timed out, in the two
 * ways in which the other side is told; and how many there may be. */
#include "talk.h"

static void note(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  ((int *)ud)[0]++;
  ((int *)ud)[1] = answer->result;
}

static mrpc_peer_stats stats(const talk *t) {
  mrpc_peer_stats out;
  mrpc_peer_get_stats(t->peer, &out);
  return out;
}

static int64_t call(talk *t, int *answers) {
  int64_t id = 0;
  if (mrpc_peer_call(t->peer, "ask", NULL, 1, note, answers, &id)) abort();
  return id;
}

#define ASK(id) "{\"jsonrpc\":\"2.0\",\"method\":\"ask\",\"id\":" id "}\n"
#define CANCEL(id) NOTE("$/cancelRequest", "{\"id\":" id "}") "\n"
#define SILENCE(id) \
  NOTE("notifications/cancelled", "{\"requestId\":" id "}") "\n"

static void cancelled(void) {
  talk t = {0};
  int a[2] = {0}, b[2] = {0};
  talk_begin(&t);
  int64_t first = call(&t, a), second = call(&t, b);
  ok(first == 1 && second == 2, "ids count from 1");
  ok(mrpc_peer_cancel(t.peer, first) == MRPC_OK, "one is given up");
  is_str(talk_take(&t), ASK("1") ASK("2") CANCEL("1"), "the other side hears");
  ok(mrpc_peer_cancel(t.peer, first) == MRPC_ENOTFOUND &&
         mrpc_peer_cancel(t.peer, 0) == MRPC_ENOTFOUND &&
         mrpc_peer_cancel(t.peer, 3) == MRPC_ENOTFOUND,
     "once; others can't be");
  talk_is(&t, CANCELLED("1") "\n" RES("1", "2") "\n", "",
          "the answers that crossed it");
  ok(a[0] == 0 && b[0] == 1, "the one isn't delivered, the other is");
  ok(stats(&t).stray_answers == 1 && stats(&t).pending == 0 && t.warnings == 1,
     "but counted");
  ok(mrpc_peer_cancel(t.peer, second) == MRPC_ENOTFOUND,
     "what was answered can't be given up");
  ok(talk_end(&t) && a[0] == 0, "all memory came back");
}

static void timed_out(void) {
  talk t = {0};
  int a[2] = {0};
  talk_begin(&t);
  call(&t, a);
  talk_take(&t);
  unsigned wakes = t.wakes;
  talk_pass(&t, 1.1);
  is_str(talk_take(&t), CANCEL("1"), "a timeout is told to the other side");
  ok(a[0] == 1 && a[1] == MRPC_ETIMEOUT && t.wakes > wakes, "and to ours");
  ok(talk_end(&t), "all memory came back");
}

static void silent(void) {
  talk t = {0};
  int a[2] = {0};
  talk_begin(&t);
  talk_say(&t, SILENCE("9"));
  int64_t id = call(&t, a);
  call(&t, a);
  talk_take(&t);
  mrpc_peer_cancel(t.peer, id);
  talk_pass(&t, 1.1);
  is_str(talk_take(&t), SILENCE("1") SILENCE("2"),
         "who cancels in that way is told in that way");
  ok(talk_end(&t), "all memory came back");
}

static void exchange(void) {
  talk t = {0};
  int a[2] = {0};
  mrpc_framing *framing;
  if (talk_start(&t) ||
      mrpc_framing_http_client(t.env, &t.limits, "h", "/", &framing))
    abort();
  t.config = (mrpc_peer_config){
      .env = t.env, .dispatch = t.dispatch, .on_wake = talk_on_wake, .ud = &t};
  if (mrpc_peer_new(&t.config, framing, &t.peer)) abort();
  int64_t id = call(&t, a);
  talk_take(&t);
  ok(mrpc_peer_cancel(t.peer, id) == MRPC_OK, "given up on HTTP");
  is_str(talk_take(&t), "", "nobody is told");
  ok(talk_end(&t) && a[0] == 0, "all memory came back");
}

/* Cancels are bounded by the calls that they end: they get through to a peer
 * for which too much is held. */
static void choked(void) {
  talk t = {.limits.output = 100, .is_stuck = true};
  int a[2] = {0};
  talk_begin(&t);
  int64_t ids[10];
  size_t count = 0;
  while (mrpc_peer_call(t.peer, "ask", NULL, 1, note, a, &ids[count]) == 0)
    count++;
  ok(count == 3, "three calls fill its output");
  ok(mrpc_peer_notify(t.peer, "note", NULL) == MRPC_ELIMIT, "it is full");
  mrpc_peer_cancel(t.peer, ids[1]);
  talk_pass(&t, 1.1);
  t.is_stuck = false;
  is_str(talk_take(&t),
         ASK("1") ASK("2") ASK("3") CANCEL("2") CANCEL("1") CANCEL("3"),
         "cancels and timeouts are told all the same");
  ok(a[0] == 2, "two timed out");
  ok(talk_end(&t), "all memory came back");
}

enum { FLOOD = 10 };

/* Says much before its caller's recv has returned. How often it could. */
static void flood(mrpc_call *call, void *ud) {
  int *told = ud;
  *told = 0;
  for (int i = 0; i < FLOOD; i++)
    *told += mrpc_peer_notify(mrpc_call_peer(call), "note", NULL) == MRPC_OK;
  mrpc_call_reply(call, "true", 4);
}

static void take_output(mrpc_peer *peer, void *ud) {
  ((talk *)ud)->wakes++;
  if (peer == ((talk *)ud)->peer) talk_flush(ud);
}

#define NOTED "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n"

/* What is said within one recv, to a peer that reads. */
static void flooded(void) {
  talk t = {.limits.output = 100};
  mrpc_framing *framing;
  int told = 0;
  if (talk_start(&t) || mrpc_framing_line(t.env, &t.limits, &framing)) abort();
  t.config = (mrpc_peer_config){.env = t.env,
                                .dispatch = t.dispatch,
                                .limits = &t.limits,
                                .on_wake = take_output,
                                .ud = &t};
  if (mrpc_peer_new(&t.config, framing, &t.peer)) abort();
  mrpc_dispatch_add(t.dispatch, "flood", flood, &told);
  talk_say(&t, REQ("flood", "[]", "1") "\n");
  ok(told == FLOOD, "all is said to who reads: %d", told);
  ok(t.wakes > 0 && t.wakes < FLOOD, "who was asked to take it: %u", t.wakes);
  is_str(talk_take(&t),
         NOTED NOTED NOTED NOTED NOTED NOTED NOTED NOTED NOTED NOTED RES(
             "true", "1") "\n",
         "in its order");
  t.is_stuck = true;
  talk_say(&t, REQ("flood", "[]", "2") "\n");
  ok(told == 3, "to who doesn't read one message more than the limit: %d",
     told);
  ok(mrpc_peer_output(t.peer, &(const char *){NULL}) > 100, "which is held");
  mrpc_peer_sent(t.peer, strlen(NOTED));
  ok(mrpc_peer_notify(t.peer, "note", NULL) == MRPC_ELIMIT, "it is full");
  mrpc_peer_sent(t.peer, strlen(NOTED) * 2);
  ok(mrpc_peer_notify(t.peer, "note", NULL) == MRPC_OK, "until it reads");
  t.is_stuck = false;
  ok(talk_end(&t), "all memory came back");
}

static void limited(void) {
  talk t = {.limits.in_flight = 3};
  int a[2] = {0};
  int64_t id = -1;
  talk_begin(&t);
  for (int i = 0; i < 3; i++) call(&t, a);
  talk_take(&t);
  ok(mrpc_peer_call(t.peer, "ask", NULL, 0, note, a, &id) == MRPC_ELIMIT &&
         id == -1,
     "as many calls out as limits.in_flight");
  ok(mrpc_peer_notify(t.peer, "note", NULL) == MRPC_OK,
     "notifications aren't calls");
  talk_take(&t);
  mrpc_peer_cancel(t.peer, 2);
  is_str(talk_take(&t), CANCEL("2"), "one is given up");
  ok(call(&t, a) == 4, "there is room for one");
  ok(mrpc_peer_call(t.peer, "ask", NULL, 0, note, a, NULL) == MRPC_ELIMIT,
     "for one only");
  talk_say(&t, RES("1", "1") "\n");
  ok(call(&t, a) == 5, "an answer makes room");
  ok(talk_end(&t) && a[0] == 4, "all memory came back");
  talk free_of_it = {.limits.in_flight = MRPC_UNLIMITED};
  talk_begin(&free_of_it);
  for (int i = 0; i < 5000; i++) call(&free_of_it, a);
  ok(stats(&free_of_it).pending == 5000, "without a limit there is none");
  ok(talk_end(&free_of_it), "all memory came back");
}

static void pass_on(mrpc_peer *peer, void *ud) {
  (void)peer;
  mrpc_peer_notify(((talk *)ud)->peer, "heard", NULL);
}

/* Whoever hears that there is output may say something at once. */
static void nested(void) {
  static const char told[] = "{\"jsonrpc\":\"2.0\",\"method\":\"told\"}\n";
  talk t = {0};
  mrpc_framing *framing = NULL;
  mrpc_peer *first = NULL;
  const char *bytes;
  talk_begin(&t);
  mrpc_peer_config config = t.config;
  config.on_wake = pass_on;
  if (mrpc_framing_line(t.env, NULL, &framing) ||
      mrpc_peer_new(&config, framing, &first))
    abort();
  for (int i = 0; i < 2; i++) {
    mrpc_peer_notify(first, "told", NULL);
    size_t len = mrpc_peer_output(first, &bytes);
    ok(len == strlen(told) && memcmp(bytes, told, len) == 0, "one is told");
    mrpc_peer_sent(first, len);
    is_str(talk_take(&t), "{\"jsonrpc\":\"2.0\",\"method\":\"heard\"}\n",
           "another, from there, too");
  }
  mrpc_peer_free(first);
  ok(talk_end(&t), "all memory came back");
}

/* A peer that doesn't read can't make us keep what we tell it. */
static void unread(void) {
  talk t = {.limits.output = 1000, .is_stuck = true};
  talk_begin(&t);
  talk_say(&t, " ");
  int rc = MRPC_OK, sent = 0;
  for (; sent < 1000 && rc == MRPC_OK; sent++)
    rc = mrpc_peer_notify(t.peer, "note", "[\"0123456789\"]");
  ok(rc == MRPC_ELIMIT && sent < 30, "%d notifications fill its output", sent);
  ok(mrpc_peer_call(t.peer, "ask", NULL, 0, NULL, NULL, NULL) == MRPC_ELIMIT,
     "calls out are refused too");
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(t.peer, &stats);
  ok(stats.pending == 0, "and leave nothing behind");
  t.is_stuck = false;
  talk_take(&t);
  ok(mrpc_peer_notify(t.peer, "note", NULL) == MRPC_OK,
     "once it reads there is room again");
  ok(talk_end(&t), "all memory came back");
}

int main(void) {
  nested();
  cancelled();
  timed_out();
  silent();
  exchange();
  choked();
  flooded();
  limited();
  unread();
  return tap_finish();
}
