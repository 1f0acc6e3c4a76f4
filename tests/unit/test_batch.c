/* SPDX-License-Identifier: MIT
 *
 * Batches: order, silence, the limits of entries, of calls in flight and of
 * the whole reply. */
#include "rpc/batch.h"

#include "talk.h"

#define TOO_LARGE(limit, id)                                                   \
  ERR("-32052", "Reply too large: reply exceeds the limit of " limit " bytes", \
      id)

static void order(void) {
  talk t = {0};
  talk_begin(&t);
  talk_is(&t, "[" REQ("sum", "[1]", "1") "]\n", "[" RES("1", "1") "]\n",
          "a batch of one keeps its brackets");
  talk_is(&t,
          "[" NOTE("update", "[]") ",1," REQ("sum", "[2]", "2") "," NOTE(
              "nothing", "[]") "," REQ("nothing", "[]", "3") "]\n",
          "[" INVALID("null") "," RES("2", "2") "," UNKNOWN("3") "]\n",
          "bad entries are answered in their places");
  talk_is(&t, "[" NOTE("update", "[]") "," NOTE("boom", "[]") "]\n", "",
          "notifications only: silence");
  talk_is(&t, "[]\n", INVALID("null") "\n", "no entries: one error");
  talk_is(&t,
          "[" REQ("wait", "[\"a\"]", "1") "," REQ("sum", "[2]", "2") ",7," REQ(
              "wait", "[\"b\"]", "3") "," REQ("sum", "[4]", "4") "]\n",
          "", "nothing is sent before the last has ended");
  talk_is(&t, REQ("sum", "[5]", "5") "\n", RES("5", "5") "\n",
          "meanwhile others are served");
  talk_release(&t, "\"b\"");
  is_str(talk_take(&t), "", "still nothing");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t),
         "[" RES("\"a\"", "1") "," RES("2", "2") "," INVALID("null") "," RES(
             "\"b\"", "3") "," RES("4", "4") "]\n",
         "all, in the order of the requests");
  ok(talk_end(&t), "all memory came back");
}

/* A notification that waits doesn't hold the reply of its batch. */
static void waiting_notification(void) {
  talk t = {0};
  mrpc_peer_stats stats;
  talk_begin(&t);
  talk_is(&t, "[" NOTE("wait", "[\"a\"]") "," REQ("sum", "[2]", "2") "]\n",
          "[" RES("2", "2") "]\n", "the reply doesn't wait for it");
  mrpc_peer_get_stats(t.peer, &stats);
  ok(stats.in_flight == 1 && stats.notifications == 1, "but it is in flight");
  talk_release(&t, "\"a\"");
  mrpc_peer_get_stats(t.peer, &stats);
  ok(stats.in_flight == 0, "until it ends");
  ok(talk_end(&t), "all memory came back");
}

static void entries(void) {
  talk t = {.limits.batch = 2};
  talk_begin(&t);
  talk_is(&t, "[" REQ("sum", "[1]", "1") "," REQ("sum", "[2]", "2") "]\n",
          "[" RES("1", "1") "," RES("2", "2") "]\n", "as many as may be");
  unsigned before = t.methods.started;
  talk_is(&t, "[" REQ("sum", "[1]", "1") "," REQ("sum", "[2]", "2") ",3]\n",
          ERR("-32600",
              "Invalid Request: batch exceeds the limit of 2 entries "
              "(limits.batch)",
              "null") "\n",
          "one more");
  ok(t.methods.started == before, "of that nothing runs");
  ok(talk_end(&t), "all memory came back");
}

static void depth(void) {
  talk t = {.limits.depth = 3};
  talk_begin(&t);
  talk_is(&t, REQ("echo", "[[1]]", "1") "\n", RES("[[1]]", "1") "\n",
          "as deep as may be");
  talk_is(&t, REQ("echo", "[[[1]]]", "1") "\n",
          ERR("-32600",
              "Invalid Request: nested deeper than the limit of 3 levels "
              "(limits.depth)",
              "null") "\n",
          "one deeper");
  ok(talk_end(&t), "all memory came back");
}

static void message(void) {
  talk t = {.limits.message = 64};
  char say[80];
  talk_begin(&t);
  snprintf(say, sizeof say, "%-64s\n", REQ("echo", "[1]", "1"));
  talk_is(&t, say, RES("[1]", "1") "\n", "as long as may be");
  snprintf(say, sizeof say, "%-65s\n", REQ("echo", "[1]", "1"));
  talk_is(&t, say,
          ERR("-32600",
              "Invalid Request: message exceeds the limit of 64 bytes "
              "(limits.message)",
              "null") "\n",
          "a byte longer");
  talk_is(&t, REQ("echo", "[1]", "1") "\n", RES("[1]", "1") "\n",
          "the conversation goes on");
  ok(talk_end(&t), "all memory came back");
}

/* The limit of a reply, to the byte. 160 is what one entry needs at least. */
static void reply(void) {
  char say[1024], want[1024], text[400];
  memset(text, 'x', sizeof text);
  talk t = {.limits.reply = 300};
  talk_begin(&t);
  int most = 300 - (int)strlen(RES("[\"\"]", "1"));
  snprintf(say, sizeof say, REQ("echo", "[\"%.*s\"]", "1") "\n", most, text);
  snprintf(want, sizeof want, RES("[\"%.*s\"]", "1") "\n", most, text);
  talk_is(&t, say, want, "as long as may be");
  snprintf(say, sizeof say, REQ("echo", "[\"%.*s\"]", "1") "\n", most + 1,
           text);
  talk_is(&t, say, TOO_LARGE("300", "1") "\n", "a byte longer");
  ok(t.methods.last_result == MRPC_ELIMIT, "the method learns of it");
  snprintf(say, sizeof say, REQ("fail", "[1,\"no\",\"%.*s\"]", "1") "\n", 300,
           text);
  talk_is(&t, say, TOO_LARGE("300", "1") "\n",
          "an error's data is bounded too");
  ok(talk_end(&t), "all memory came back");
}

/* It's the same for replies that leave together. */
static void reply_behind_others(void) {
  char say[2048], want[2048], text[400];
  memset(text, 'x', sizeof text);
  talk t = {.limits.reply = 300};
  talk_begin(&t);
  int most = 300 - (int)strlen(RES("[\"\"]", "1"));
  snprintf(say, sizeof say,
           REQ("sum", "[1]", "1") "\n" REQ("echo", "[\"%.*s\"]", "1") "\n" REQ(
               "echo", "[\"%.*s\"]", "1") "\n" REQ("sum", "[1]", "1") "\n",
           most, text, most + 1, text);
  snprintf(want, sizeof want,
           RES("1", "1") "\n" RES("[\"%.*s\"]", "1") "\n" TOO_LARGE(
               "300", "1") "\n" RES("1", "1") "\n",
           most, text);
  talk_is(&t, say, want, "each reply has its own limit");
  ok(talk_end(&t), "all memory came back");
}

/* An entry that doesn't fit leaves room for those behind it. */
static void reply_of_batch(void) {
  char say[4096], text[400];
  memset(text, 'x', sizeof text);
  talk t = {.limits.reply = 600};
  talk_begin(&t);
  snprintf(
      say, sizeof say,
      "[" REQ("sum", "[1]", "1") "," REQ("echo", "[\"%.*s\"]", "2") "," REQ(
          "sum", "[3]", "3") "," REQ("sum", "[4]", "4") "]\n",
      250, text);
  talk_is(&t, say,
          "[" RES("1", "1") "," TOO_LARGE("600", "2") "," RES("3", "3") "," RES(
              "4", "4") "]\n",
          "the room for errors of later entries isn't given away");
  snprintf(
      say, sizeof say,
      "[" REQ("wait", "[\"a\"]", "1") "," REQ(
          "echo", "[\"%.*s\"]", "2") "," REQ("echo", "[\"%.*s\"]", "3") "]\n",
      200, text, 200, text);
  talk_is(&t, say, "", "answers out of turn");
  talk_release(&t, "\"a\"");
  const char *got = talk_take(&t);
  ok(strstr(got, TOO_LARGE("600", "3")) && strstr(got, RES("\"a\"", "1")) &&
         strlen(got) <= 601,
     "count as well: %zu bytes", strlen(got));
  ok(talk_end(&t), "all memory came back");
}

/* Room that an earlier message has made is no room to use. */
static void reply_after_batch(void) {
  char say[4096] = "[", text[400];
  size_t len = 1;
  memset(text, 'x', sizeof text);
  talk t = {.limits.reply = 300};
  talk_begin(&t);
  for (int i = 0; i < 20; i++)
    len += (size_t)snprintf(say + len, sizeof say - len, "%s%s", i ? "," : "",
                            REQ("echo", "[\"0123456789\"]", "1"));
  snprintf(say + len, sizeof say - len, "]\n");
  talk_say(&t, say);
  ok(strlen(talk_take(&t)) > 600, "twenty entries may have a larger reply");
  snprintf(say, sizeof say, REQ("echo", "[\"%.400s\"]", "1") "\n", text);
  talk_is(&t, say, TOO_LARGE("300", "1") "\n", "a single one may not");
  ok(talk_end(&t), "all memory came back");
}

/* However small the limit is, each entry can be told of it. */
static void small_reply(void) {
  talk t = {.limits.reply = 10};
  talk_begin(&t);
  talk_is(&t, REQ("sum", "[1]", "1") "\n", RES("1", "1") "\n",
          "what is shorter than an error passes");
  char say[512];
  snprintf(say, sizeof say, REQ("echo", "[\"%0150d\"]", "1") "\n", 0);
  talk_is(&t, say, TOO_LARGE("10", "1") "\n", "what is longer doesn't");
  ok(talk_end(&t), "all memory came back");
}

/* More entries than calls may be in flight: the excess queues. */
static void queue(void) {
  talk t = {.limits.in_flight = 2};
  talk_begin(&t);
  talk_is(
      &t,
      "[" REQ("wait", "[\"a\"]", "1") "," REQ("wait", "[\"b\"]", "2") "," REQ(
          "wait", "[\"c\"]", "3") "," REQ("sum", "[4]", "4") "]\n",
      "", "a batch that fills the limit");
  ok(t.methods.started == 2, "two have started");
  ok(!mrpc_peer_wants_read(t.peer), "reading stops");
  talk_is(&t, REQ("sum", "[5]", "5") "\n", "", "what comes anyway is kept");
  unsigned wakes = t.wakes;
  talk_release(&t, "\"b\"");
  ok(t.methods.started == 3, "one ends, the next starts");
  ok(!mrpc_peer_wants_read(t.peer), "and no more");
  talk_release(&t, "\"a\"");
  ok(t.methods.started == 5, "the last of the batch, and what was kept");
  is_str(talk_take(&t), RES("5", "5") "\n", "that is answered");
  ok(t.wakes > wakes && mrpc_peer_wants_read(t.peer), "reading goes on");
  talk_release(&t, "\"c\"");
  is_str(talk_take(&t),
         "[" RES("\"a\"", "1") "," RES("\"b\"", "2") "," RES(
             "\"c\"", "3") "," RES("4", "4") "]\n",
         "the batch is whole");
  ok(talk_end(&t), "all memory came back");
}

static void note(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  (void)answer;
  ++*(int *)ud;
}

static bool waits_for(const talk *t, const char *name) {
  for (const methods_wait *w = t->methods.waits; w; w = w->next)
    if (w->call && w->len == strlen(name) && !memcmp(w->name, name, w->len))
      return true;
  return false;
}

/* A batch that queues keeps its place, whatever comes behind it. */
static void queue_order(void) {
  talk t = {.limits.in_flight = 1};
  int answers = 0;
  talk_begin(&t);
  talk_say(
      &t,
      "[" REQ("wait", "[\"a\"]", "1") "," REQ("wait", "[\"b\"]", "2") "," REQ(
          "wait", "[\"c\"]", "3") "," REQ("wait", "[\"d\"]", "4") "]\n");
  mrpc_peer_call(t.peer, "ask", NULL, 0, note, &answers, NULL);
  talk_release(&t, "\"a\"");
  talk_take(&t);
  ok(waits_for(&t, "\"b\""), "while a call of ours waits, the next one starts");
  talk_is(&t,
          "[" RES("1", "1") "," REQ("wait", "[\"e\"]", "5") "," REQ(
              "sum", "[6]", "6") "]\n",
          "", "behind its answer, a new batch queues as well");
  ok(answers == 1 && !waits_for(&t, "\"e\""), "nothing of it starts");
  talk_release(&t, "\"b\"");
  ok(waits_for(&t, "\"c\""), "the first batch goes on");
  talk_release(&t, "\"c\"");
  ok(waits_for(&t, "\"d\"") && !waits_for(&t, "\"e\""), "to its end");
  talk_release(&t, "\"d\"");
  ok(waits_for(&t, "\"e\""), "then comes the second");
  is_str(talk_take(&t),
         "[" RES("\"a\"", "1") "," RES("\"b\"", "2") "," RES(
             "\"c\"", "3") "," RES("\"d\"", "4") "]\n",
         "none was refused");
  ok(talk_end(&t), "all memory came back");
}

static void lost_while_queued(void) {
  talk t = {.limits.in_flight = 1};
  talk_begin(&t);
  talk_say(&t, "[" REQ("wait", "[\"a\"]", "1") "," REQ(
                   "wait", "[\"b\"]", "2") "]\n" REQ("sum", "[1]", "3") "\n");
  mrpc_peer_drop(t.peer);
  talk_run(&t);
  ok(t.methods.started == 1 && t.methods.cancelled == 1,
     "what had started is cancelled, the rest never starts");
  ok(mrpc_peer_is_done(t.peer), "the peer is done");
  ok(talk_end(&t), "all memory came back");
}

int main(void) {
  order();
  waiting_notification();
  entries();
  depth();
  message();
  reply();
  reply_behind_others();
  reply_of_batch();
  reply_after_batch();
  small_reply();
  queue();
  queue_order();
  lost_while_queued();
  return tap_finish();
}
