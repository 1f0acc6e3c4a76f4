/* SPDX-License-Identifier: MIT
 *
 * Calls: the ways to answer, at once and later, and the races of cancellation.
 */
#include "rpc/call.h"

#include "talk.h"

/* Keeps the call for the test to answer. */
static void keep(mrpc_call *call, void *ud) {
  *(mrpc_call **)ud = call;
}

static void begin(talk *t, mrpc_call **kept) {
  talk_begin(t);
  if (mrpc_dispatch_add(t->dispatch, "keep", keep, kept)) abort();
}

static size_t length(const char *(*get)(const mrpc_call *, size_t *),
                     const mrpc_call *call) {
  size_t len = 99;
  get(call, &len);
  return len;
}

/* Answers. */

static void look(mrpc_call *call, void *ud) {
  (void)ud;
  size_t len;
  const char *text = mrpc_call_method(call, &len);
  is_bytes(text, len, "look", 4, "the method's name, unescaped");
  text = mrpc_call_params(call, &len);
  is_bytes(text, len, "[1, 2]", 6, "the params, as they came");
  text = mrpc_call_id(call, &len);
  is_bytes(text, len, "\"\\u0061\"", 8, "the id, as it came");
  ok(!mrpc_call_is_notification(call) && !mrpc_call_is_cancelled(call) &&
         mrpc_call_peer(call),
     "a request of a peer");
  mrpc_call_reply(call, "{}", 2);
}

static void at_once(void) {
  talk t = {0};
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "look", look, NULL);
  talk_is(&t, REQ("l\\u006fok", "[1, 2]", "\"\\u0061\"") "\n",
          RES("{}", "\"\\u0061\"") "\n", "answered inside its start");
  ok(talk_end(&t), "all memory came back");
}

static void later(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  uint32_t params;
  begin(&t, &call);
  talk_say(&t, REQ("keep", "[1]", "7.0") "\n");
  ok(length(mrpc_call_params, call) == 0 &&
         length(mrpc_call_method, call) == 0 && !mrpc_call_doc(call, &params) &&
         params == MRPC_NO_NODE,
     "behind its start, params and name are gone");
  ok(length(mrpc_call_id, call) == 3, "the id stays");
  mrpc_buf *buf = mrpc_call_open_result(call);
  mrpc_buf_lit(buf, "[1,2,");
  mrpc_call_undo_result(call);
  ok(mrpc_call_error(call, 5, "no", "[true]") == MRPC_OK,
     "a result that was begun may become an error");
  is_str(talk_take(&t),
         "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":5,\"message\":\"no\","
         "\"data\":[true]},\"id\":7.0}\n",
         "and nothing is left of it");
  talk_say(&t, REQ("keep", "[1]", "8") "\n");
  buf = mrpc_call_open_result(call);
  mrpc_buf_lit(buf, "[1]");
  ok(mrpc_call_close_result(call) == MRPC_OK, "a result that is written");
  is_str(talk_take(&t), RES("[1]", "8") "\n", "is sent");
  ok(talk_end(&t), "all memory came back");
}

/* Ids that don't fit into the call itself. */
/* Text that a method hands over may hold line ends between its tokens. */
static void lines(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  begin(&t, &call);
  talk_say(&t, REQ("keep", "[]", "1") "\n");
  mrpc_call_reply(call, "\n[1,\n\n2]\n", 9);
  is_str(talk_take(&t), RES(" [1,  2] ", "1") "\n", "a result is one line");
  talk_say(&t, REQ("keep", "[]", "2") "\n");
  mrpc_call_error(call, 5, "no\nway", "[\n]");
  is_str(talk_take(&t),
         "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":5,\"message\":"
         "\"no\\nway\",\"data\":[ ]},\"id\":2}\n",
         "and so is an error");
  talk_say(&t,
           "[" REQ("wait", "[\"a\"]", "1") "," REQ("keep", "[]", "2") "]\n");
  mrpc_call_reply(call, "[\n]", 3);
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), "[" RES("\"a\"", "1") "," RES("[ ]", "2") "]\n",
         "and a result that waits for its turn");
  talk_say(&t, NOTE("keep", "[]") "\n");
  mrpc_call_reply(call, "[\n]", 3);
  is_str(talk_take(&t), "", "a notification has none");
  ok(talk_end(&t), "all memory came back");
}

/* What is said between the parts of a start stays whole. */
static void chatter(mrpc_call *call, void *ud) {
  mrpc_peer *peer = mrpc_call_peer(call);
  (void)ud;
  mrpc_peer_notify(peer, "a", "[\n]");
  mrpc_buf_lit(mrpc_call_open_result(call), "[1");
  mrpc_call_undo_result(call);
  mrpc_peer_notify(peer, "b", "[]");
  mrpc_call_reply(call, "1", 1);
  mrpc_peer_notify(peer, "c", "[]");
}

static void between(void) {
  talk t = {0};
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "chatter", chatter, NULL);
  talk_is(&t, REQ("chatter", "[]", "1") "\n" REQ("chatter", "[]", "2") "\n",
          NOTE("a", "[ ]") "\n" NOTE("b", "[]") "\n" RES("1", "1") "\n" NOTE(
              "c", "[]") "\n" NOTE("a", "[ ]") "\n" NOTE("b", "[]") "\n" RES(
              "1", "2") "\n" NOTE("c", "[]") "\n",
          "an answer stands among what else is said");
  ok(talk_end(&t), "all memory came back");
}

static void long_id(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  char say[400], want[400];
  begin(&t, &call);
  for (int len = 37; len < 44; len++) {
    snprintf(say, sizeof say, REQ("keep", "[]", "\"%0*d\"") "\n", len, 0);
    snprintf(want, sizeof want, RES("1", "\"%0*d\"") "\n", len, 0);
    talk_say(&t, say);
    mrpc_call_reply(call, "1", 1);
    is_str(talk_take(&t), want, "a long id");
  }
  ok(talk_end(&t), "all memory came back");
}

/* Nobody reads what a notification answers. */
static void notification(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  begin(&t, &call);
  talk_say(&t, NOTE("keep", "[]") "\n");
  ok(mrpc_call_is_notification(call) && length(mrpc_call_id, call) == 0,
     "a notification has no id");
  mrpc_buf *buf = mrpc_call_open_result(call);
  for (int i = 0; i < 1000; i++) mrpc_buf_lit(buf, "0123456789");
  ok(buf->len == 0 && buf->cap == 0, "its result takes no memory");
  ok(mrpc_call_close_result(call) == MRPC_OK, "and is no failure");
  talk_say(&t, NOTE("keep", "[]") "\n");
  ok(mrpc_call_error(call, 1, "no", NULL) == MRPC_OK, "nor is its error");
  is_str(talk_take(&t), "", "nothing is sent");
  ok(talk_end(&t), "all memory came back");
}

/* Cancellation. */

#define CANCEL(id) NOTE("$/cancelRequest", "{\"id\":" id "}")
#define SILENCE(id) NOTE("notifications/cancelled", "{\"requestId\":" id "}")

static void cancel(void) {
  talk t = {0};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("wait", "[\"b\"]",
                                                    "\"1\"") "\n");
  talk_is(&t, CANCEL("2") "\n" CANCEL("null") "\n" CANCEL("[1]") "\n"
              NOTE("$/cancelRequest", "[1]") "\n"
              NOTE("$/cancelRequest", "{}") "\n"
              "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\"}\n",
          "", "unknown ids and odd params are ignored");
  talk_is(&t, CANCEL("1.0") "\n", CANCELLED("1") "\n",
          "ids are compared by value");
  talk_is(&t, CANCEL("1") "\n", "", "twice is once");
  talk_is(&t, CANCEL("\"\\u0031\"") "\n", CANCELLED("\"1\"") "\n",
          "strings by their characters");
  talk_is(&t, REQ("sum", "[]", "3") "\n" CANCEL("3") "\n", RES("0", "3") "\n",
          "after its end it's too late");
  talk_is(&t, REQ("$/cancelRequest", "{\"id\":1}", "4") "\n", UNKNOWN("4") "\n",
          "as a request it's a method like others");
  ok(t.methods.cancelled == 2, "two were cancelled");
  ok(talk_end(&t), "all memory came back");
}

static void in_batch(void) {
  talk t = {0};
  talk_begin(&t);
  talk_is(
      &t,
      "[" CANCEL("1") "," REQ("wait", "[\"a\"]", "1") "," REQ(
          "wait", "[\"b\"]",
          "2") "," CANCEL("2") "," CANCEL("1") "," REQ("sum", "[3]", "3") "]\n",
      "[" CANCELLED("1") "," CANCELLED("2") "," RES("3", "3") "]\n",
      "before its start, and inside of its batch");
  talk_say(&t, "[" REQ("wait", "[\"a\"]", "1") "," REQ("wait", "[\"b\"]",
                                                       "2") "]\n");
  talk_is(&t, CANCEL("2") "\n", "", "a batch waits for its other calls");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), "[" RES("\"a\"", "1") "," CANCELLED("2") "]\n",
         "and is sent whole");
  ok(talk_end(&t), "all memory came back");
}

static void silent(void) {
  talk t = {0};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  talk_is(&t, SILENCE("1") "\n", "", "the other contract: no answer");
  ok(t.methods.cancelled == 1, "but a cancel");
  talk_say(&t,
           "[" REQ("wait", "[\"a\"]", "1") "," REQ("sum", "[2]", "2") "]\n");
  talk_is(&t, SILENCE("1") "\n", "[" RES("2", "2") "]\n",
          "a batch goes out without it");
  talk_say(&t, "[" REQ("wait", "[\"a\"]", "1") "]\n");
  talk_is(&t, SILENCE("1") "\n", "", "a batch of nothing else is silence");
  talk_is(&t, SILENCE("1") "\n" CANCEL("1") "\n", "", "once is enough");
  ok(talk_end(&t), "all memory came back");
}

/* The method goes on after a silent cancel and answers in its own time. */
static void silent_then_answer(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  begin(&t, &call);
  talk_say(&t,
           "[" REQ("keep", "[]", "1") "," REQ("wait", "[\"a\"]", "2") "]\n");
  talk_is(&t, SILENCE("1") "\n" SILENCE("1") "\n", "", "nothing yet");
  ok(mrpc_call_is_cancelled(call), "it can see that");
  mrpc_call_reply(call, "1", 1);
  is_str(talk_take(&t), "", "its answer goes nowhere");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), "[" RES("\"a\"", "2") "]\n", "the others' go out");
  ok(talk_end(&t), "all memory came back");
}

/* Two in flight with one id: the older one is meant first. */
static void one_id(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  begin(&t, &call);
  talk_say(&t, REQ("keep", "[]", "1") "\n");
  mrpc_call *older = call;
  talk_say(&t, REQ("keep", "[]", "1") "\n" CANCEL("1") "\n");
  ok(mrpc_call_is_cancelled(older) && !mrpc_call_is_cancelled(call),
     "the older one is cancelled");
  talk_say(&t, CANCEL("1.0") "\n");
  ok(mrpc_call_is_cancelled(call), "then the younger one");
  mrpc_call_reply(older, "1", 1);
  mrpc_call_reply(call, "2", 1);
  is_str(talk_take(&t), RES("1", "1") "\n" RES("2", "1") "\n",
         "a method may answer all the same");
  ok(talk_end(&t), "all memory came back");
}

static void own_method(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "$/cancelRequest", keep, &call);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" CANCEL("1") "\n");
  ok(call && t.methods.cancelled == 0, "a method of that name comes first");
  mrpc_call_reply(call, "1", 1);
  ok(talk_end(&t), "all memory came back");
}

static void note_cancel(mrpc_call *call, void *ud) {
  (void)call;
  ++*(int *)ud;
}

static void on_cancel(void) {
  talk t = {0};
  mrpc_call *call = NULL;
  int count = 0, other = 0;
  begin(&t, &call);
  talk_say(&t, REQ("keep", "[]", "1") "\n");
  mrpc_call_on_cancel(call, note_cancel, &other);
  mrpc_call_on_cancel(call, note_cancel, &count);
  talk_say(&t, CANCEL("1") "\n" CANCEL("1") "\n");
  ok(count == 1 && other == 0, "the last function is called, once");
  mrpc_call_on_cancel(call, note_cancel, &other);
  ok(other == 1, "one that comes too late at once");
  mrpc_peer_drop(t.peer);
  ok(count == 1 && other == 1, "and the loss of the peer is no second cancel");
  mrpc_call_reply(call, "1", 1);
  ok(talk_end(&t), "all memory came back");
}

/* One that is cancelled answers another that is about to be. */
static void answer_other(mrpc_call *call, void *ud) {
  mrpc_call **other = ud;
  if (*other) mrpc_call_reply(*other, "1", 1);
  *other = NULL;
  mrpc_call_reply(call, "1", 1);
}

static void cancel_answers_other(void) {
  talk t = {0};
  mrpc_call *first = NULL, *second = NULL;
  begin(&t, &first);
  talk_say(&t, REQ("keep", "[]", "1") "\n");
  mrpc_call_on_cancel(first, answer_other, &second);
  mrpc_dispatch_add(t.dispatch, "second", keep, &second);
  talk_say(&t, REQ("second", "[]", "2") "\n");
  int count = 0;
  mrpc_call_on_cancel(second, note_cancel, &count);
  mrpc_peer_drop(t.peer);
  ok(second == NULL, "both are answered");
  ok(count == 0, "and what is answered isn't cancelled any more");
  ok(talk_end(&t), "all memory came back");
}

/* A cancel overtakes requests that queue, since a call of ours reads on. */
static void answer_none(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  *(int *)ud = answer->result;
}

static void queued(void) {
  talk t = {.limits.in_flight = 1};
  int result = 1;
  talk_begin(&t);
  talk_say(&t,
           "[" REQ("wait", "[\"a\"]", "1") "," REQ("sum", "[2]", "2") "," REQ(
               "sum", "[3]", "3") "," REQ("sum", "[4]", "4") ",5]\n");
  mrpc_peer_call(t.peer, "ask", NULL, 0, answer_none, &result, NULL);
  talk_take(&t);
  talk_is(&t, CANCEL("3") "\n" SILENCE("4") "\n" CANCEL("9") "\n", "",
          "cancels of entries that queue");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t),
         "[" RES("\"a\"", "1") "," RES(
             "2", "2") "," CANCELLED("3") "," INVALID("null") "]\n",
         "one is answered, one isn't, neither starts");
  ok(t.methods.started == 2, "two have run");
  ok(talk_end(&t) && result == MRPC_ECLOSED, "all memory came back");
}

int main(void) {
  at_once();
  later();
  lines();
  between();
  long_id();
  notification();
  cancel();
  in_batch();
  silent();
  silent_then_answer();
  one_id();
  own_method();
  on_cancel();
  cancel_answers_other();
  queued();
  return tap_finish();
}
