/* SPDX-License-Identifier: MIT
 *
 * Calls out: what is sent, which answer belongs to which, and what becomes of
 * those that get none. */
#include "rpc/pending.h"

#include "talk.h"

/* The text of the answers so far: result code, kind, JSON. */
typedef struct answers {
  char text[512];
  unsigned count;
  bool has_doc; /* of the last one */
} answers;

static void note(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  answers *a = ud;
  uint32_t node;
  size_t at = strlen(a->text);
  snprintf(a->text + at, sizeof a->text - at, "%d%s %.*s;", answer->result,
           answer->is_error ? "!" : "", (int)answer->len, answer->json);
  a->has_doc = mrpc_peer_answer_doc(peer, &node) != NULL;
  a->count++;
}

static void call(talk *t, answers *a) {
  if (mrpc_peer_call(t->peer, "ask", "[1]", 0, note, a, NULL)) abort();
}

static uint64_t strays(const talk *t) {
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(t->peer, &stats);
  return stats.stray_answers;
}

static void sent(void) {
  talk t = {0};
  answers a = {0};
  talk_begin(&t);
  ok(mrpc_peer_call(t.peer, "a\"b", "{\"x\":1}", 0, note, &a, NULL) ==
             MRPC_OK &&
         mrpc_peer_notify(t.peer, "note", "[]") == MRPC_OK &&
         mrpc_peer_notify(t.peer, "note", NULL) == MRPC_OK &&
         mrpc_peer_call(t.peer, "c", NULL, 0, NULL, NULL, NULL) == MRPC_OK &&
         mrpc_peer_push(t.peer, "{}", 2) == MRPC_OK,
     "calls and notifications");
  is_str(talk_take(&t),
         REQ("a\\\"b", "{\"x\":1}", "1") "\n" NOTE("note", "[]")
         "\n{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n"
         "{\"jsonrpc\":\"2.0\",\"method\":\"c\",\"id\":2}\n{}\n",
         "as they go out");
  ok(mrpc_peer_call(t.peer, "\xff", NULL, 0, note, &a, NULL) == MRPC_ETYPE &&
         mrpc_peer_notify(t.peer, "\xff", NULL) == MRPC_ETYPE,
     "a name must be UTF-8");
  ok(t.wakes == 5, "the embedder learns of each");
  talk_say(&t, RES("1", "2") "\n");
  ok(a.count == 0, "an answer that nobody wants to see");
  ok(talk_end(&t) && a.count == 1, "all memory came back");
}

static void matched(void) {
  talk t = {0};
  answers a = {0}, b = {0}, c = {0};
  talk_begin(&t);
  call(&t, &a);
  call(&t, &b);
  call(&t, &c);
  talk_say(&t, RES("[ 1 ]", "3.0") "\n");
  is_str(c.text, "0 [ 1 ];", "by id, not by order, numbers by value");
  ok(c.has_doc, "as nodes, too");
  talk_say(&t, "[" ERR("5", "no", "1") "," RES("null", "2") "]\n");
  is_str(a.text, "0! {\"code\":5,\"message\":\"no\"};", "an error, in a batch");
  is_str(b.text, "0 null;", "and a null result");
  talk_take(&t);
  ok(strays(&t) == 0 && t.warnings == 0, "none was stray");
  ok(talk_end(&t), "all memory came back");
}

static void stray(void) {
  talk t = {0};
  answers a = {0};
  talk_begin(&t);
  call(&t, &a);
  talk_take(&t);
  talk_is(
      &t,
      RES("1", "2") "\n" RES("1", "\"1\"") "\n" RES("1", "1.5") "\n" RES(
          "1", "-1") "\n" RES("1",
                              "1e30") "\n" RES("1",
                                               "0") "\n" RES("1",
                                                             "18446744073709551"
                                                             "617") "\n",
      "", "other ids, and ids of another type");
  ok(strays(&t) == 7 && t.warnings == 1, "are counted; the first is a warning");
  talk_is(&t,
          "{\"jsonrpc\":\"2.0\",\"result\":1,\"error\":{\"code\":1,"
          "\"message\":\"\"},\"id\":1}\n"
          "{\"jsonrpc\":\"2.0\",\"error\":1,\"id\":1}\n"
          "{\"result\":1,\"id\":1}\n",
          "", "malformed ones");
  ok(strays(&t) == 10 && t.warnings == 2, "are another kind");
  talk_is(&t, ERR("-32700", "Parse error", "null") "\n" RES("1", "null") "\n",
          "", "and those without an id");
  ok(strays(&t) == 12 && t.warnings == 3, "a third");
  ok(a.count == 0, "all the time, the call waits");
  talk_say(&t, RES("1", "1") "\n" RES("2", "1") "\n");
  is_str(a.text, "0 1;", "for its own answer, and for one only");
  ok(strays(&t) == 13 && t.warnings == 4, "the second is late, a fourth kind");
  talk_say(&t, "[" RES("1", "1") "," RES("1", "7") "," RES("1", "\"1\"") "]\n");
  ok(strays(&t) == 16 && t.warnings == 4, "each kind is a warning once");
  ok(talk_end(&t) && a.count == 1, "all memory came back");
}

/* Ids that a JSON library might round to ours; of our own row none comes near
 * 2^53. */
static void large_ids(void) {
  static const char *const ids[] = {
      "9007199254740993",
      "9007199254740993.0",
      "-9223372036854775808",
      "9223372036854775807",
      "9223372036854775808",
      "18446744073709551617",
      "1.0000000000000000000000000001",
      "0.99999999999999999999999999999",
      "100000000000000000000000000000001e-33",
      "1e999999999",
      "4294967297",
  };
  talk t = {0};
  answers a = {0};
  char say[100];
  talk_begin(&t);
  call(&t, &a);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    snprintf(say, sizeof say, RES("0", "%s") "\n", ids[i]);
    talk_say(&t, say);
  }
  ok(a.count == 0, "an id that is nearly ours isn't ours");
  talk_say(&t, RES("1", "10e-1") "\n");
  is_str(a.text, "0 1;", "one that is, however it is written, is");
  ok(talk_end(&t), "all memory came back");
}

/* An answer and its double in one batch, with answers to others around. */
static void in_batches(void) {
  talk t = {0};
  answers a = {0}, b = {0};
  talk_begin(&t);
  call(&t, &a);
  call(&t, &b);
  talk_take(&t);
  talk_is(&t,
          "[" RES("1", "9") "," RES("2", "2") "," RES("3", "2") "," REQ(
              "sum", "[5]", "1") "," RES("4", "1") "," RES("5", "null") "]\n",
          "[" RES("5", "1") "]\n", "answers among requests");
  is_str(a.text, "0 4;", "each call has its own");
  is_str(b.text, "0 2;", "and the first of two");
  ok(strays(&t) == 3, "the others are counted");
  ok(talk_end(&t), "all memory came back");
}

static void other_peer(void) {
  talk t = {0}, other = {0};
  answers a = {0};
  talk_begin(&t);
  talk_begin(&other);
  call(&t, &a);
  talk_say(&other, RES("1", "1") "\n");
  ok(a.count == 0 && strays(&other) == 1, "another peer can't answer");
  ok(talk_end(&other) && talk_end(&t), "all memory came back");
}

static void timeouts(void) {
  talk t = {.limits.wait = 60};
  answers a = {0}, b = {0};
  talk_begin(&t);
  call(&t, &a);
  mrpc_peer_call(t.peer, "ask", NULL, 1.5, note, &b, NULL);
  talk_pass(&t, 1.4);
  ok(b.count == 0, "not yet");
  talk_pass(&t, 0.2);
  is_str(b.text, "-10 ;", "a timeout");
  ok(!b.has_doc, "has no answer");
  talk_say(&t, RES("1", "2") "\n");
  ok(b.count == 1 && strays(&t) == 1, "an answer behind it is stray");
  talk_pass(&t, 59);
  is_str(a.text, "-10 ;", "limits.wait");
  mrpc_peer_call(t.peer, "ask", NULL, -1, note, &b, NULL);
  talk_pass(&t, 1e6);
  ok(b.count == 1, "a negative one is for ever");
  ok(talk_end(&t) && b.count == 2, "all memory came back");
}

static void again(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  int *left = ud;
  if (answer->result) *left -= 1000;
  if (--*left > 0) mrpc_peer_call(peer, "ask", NULL, 0, again, left, NULL);
}

static void from_answers(void) {
  talk t = {0};
  int left = 3;
  talk_begin(&t);
  mrpc_peer_call(t.peer, "ask", NULL, 0, again, &left, NULL);
  talk_say(&t, RES("1", "1") "\n" RES("1", "2") "\n" RES("1", "3") "\n");
  ok(left == 0, "an answer's function may call again");
  left = 3;
  mrpc_peer_call(t.peer, "ask", NULL, 0, again, &left, NULL);
  mrpc_peer_eof(t.peer);
  ok(left == -998, "but at the end that is in vain");
  ok(talk_end(&t), "all memory came back");
}

static void many(void) {
  enum { COUNT = 1000 };
  talk t = {0};
  answers a = {0};
  char say[100];
  talk_begin(&t);
  for (int i = 0; i < COUNT; i++) call(&t, &a);
  for (int i = COUNT; i > 0; i--) {
    snprintf(say, sizeof say, RES("%d", "%d") "\n", i, i);
    talk_say(&t, say);
  }
  ok(a.count == COUNT && strays(&t) == 0, "%d calls out, answered backwards",
     COUNT);
  ok(talk_end(&t), "all memory came back");
}

/* Ends. */

static void ends(void) {
  for (int way = 0; way < 4; way++) {
    talk t = {0};
    answers a = {0};
    talk_begin(&t);
    call(&t, &a);
    if (way == 0) mrpc_peer_eof(t.peer);
    if (way == 1) mrpc_peer_drop(t.peer);
    if (way == 2) talk_say(&t, "GET / HTTP/1.1\n");
    if (way < 3) {
      is_str(a.text, "-12 ;", "the end of the peer is the end of its calls");
      ok(mrpc_peer_call(t.peer, "ask", NULL, 0, note, &a, NULL) == MRPC_ESTATE,
         "no more can be made");
    }
    ok(talk_end(&t) && a.count == 1, "all memory came back");
  }
}

static void last_answer(void) {
  talk t = {0};
  answers a = {0}, b = {0};
  talk_begin(&t);
  call(&t, &a);
  call(&t, &b);
  talk_say(&t, RES("1", "1"));
  mrpc_peer_eof(t.peer);
  is_str(a.text, "0 1;", "the last line may be an answer");
  is_str(b.text, "-12 ;", "the others fail");
  ok(mrpc_peer_notify(t.peer, "note", NULL) == MRPC_OK,
     "what asks for no answer may still be sent");
  ok(talk_end(&t), "all memory came back");
}

static void early(void) {
  talk t = {.framing = mrpc_framing_auto};
  answers a = {0};
  talk_begin(&t);
  ok(!mrpc_peer_can_push(t.peer) &&
         mrpc_peer_call(t.peer, "ask", NULL, 0, note, &a, NULL) ==
             MRPC_ESTATE &&
         mrpc_peer_notify(t.peer, "note", NULL) == MRPC_ESTATE,
     "a framing that isn't known yet can't carry it");
  talk_say(&t, REQ("sum", "[]", "1") "\n");
  ok(mrpc_peer_call(t.peer, "ask", NULL, 0, note, &a, NULL) == MRPC_OK,
     "once it is, it can");
  ok(talk_end(&t) && a.count == 1, "all memory came back");
}

/* Both ways. */

/* While a call of ours waits, the limit of calls in flight stops nothing. */
static void reads_on(void) {
  talk t = {.limits.in_flight = 1};
  answers a = {0};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" REQ("sum", "[2]", "2") "\n");
  ok(!mrpc_peer_wants_read(t.peer), "at the limit: reading stops");
  call(&t, &a);
  talk_run(&t);
  ok(mrpc_peer_wants_read(t.peer), "but for an answer it goes on");
  is_str(talk_take(&t),
         REQ("ask", "[1]", "1") "\n" ERR("-32050", "Busy", "2") "\n",
         "what was held back is refused");
  talk_is(&t,
          REQ("sum", "[3]", "3") "\n[" REQ("sum", "[4]", "4") "," NOTE(
              "sum", "[]") ",5]\n",
          ERR("-32050", "Busy", "3") "\n[" ERR("-32050", "Busy",
                                               "4") "," INVALID("null") "]\n",
          "so is what comes now");
  talk_is(&t, NOTE("$/cancelRequest", "{\"id\":1}") "\n", CANCELLED("1") "\n",
          "a cancel gets through");
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n" RES("7", "1") "\n");
  is_str(a.text, "0 7;", "and the answer");
  ok(!mrpc_peer_wants_read(t.peer), "then the limit is one again");
  ok(talk_end(&t), "all memory came back");
}

/* The limit comes back with the end of our call, by whatever end, and goes
 * with the end of theirs, even when that is no output. */
static void limit_again(void) {
  talk t = {.limits.in_flight = 1};
  answers a = {0};
  talk_begin(&t);
  call(&t, &a);
  talk_say(&t, NOTE("wait", "[\"a\"]") "\n");
  ok(mrpc_peer_wants_read(t.peer), "our call waits: reading goes on");
  talk_pass(&t, 100);
  ok(a.count == 1 && !mrpc_peer_wants_read(t.peer),
     "it timed out: reading stops");
  talk_take(&t);
  unsigned wakes = t.wakes;
  talk_release(&t, "\"a\"");
  ok(mrpc_peer_wants_read(t.peer) && t.wakes > wakes,
     "theirs ends: reading goes on, and the embedder learns of it");
  ok(talk_end(&t), "all memory came back");
}

/* A method that asks its caller back before it answers. */
static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  mrpc_call_reply(ud, answer->json, answer->len);
}

static void ask_back(mrpc_call *in, void *ud) {
  (void)ud;
  mrpc_peer_call(mrpc_call_peer(in), "ask", NULL, 0, on_answer, in, NULL);
}

static void nested(void) {
  enum { DEPTH = 100 };
  talk t = {0};
  char say[200];
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "back", ask_back, NULL);
  for (int i = 1; i <= DEPTH; i++) {
    snprintf(say, sizeof say, REQ("back", "[]", "%d") "\n", i);
    talk_say(&t, say);
  }
  talk_take(&t);
  bool fits = true;
  for (int i = DEPTH; i > 0; i--) {
    snprintf(say, sizeof say, RES("%d", "%d") "\n", i, i);
    talk_say(&t, say);
    fits = fits && strcmp(talk_take(&t), say) == 0;
  }
  ok(fits, "calls both ways, %d deep", DEPTH);
  ok(talk_end(&t), "all memory came back");
}

int main(void) {
  sent();
  matched();
  stray();
  large_ids();
  in_batches();
  other_peer();
  timeouts();
  from_answers();
  many();
  ends();
  last_answer();
  early();
  reads_on();
  limit_again();
  nested();
  return tap_finish();
}
