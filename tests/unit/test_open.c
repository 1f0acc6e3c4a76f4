/* SPDX-License-Identifier: MIT
 *
 * How a peer's watcher follows its life, and how a conversation is closed from
 * our side. */
#include "framing/stream.h"
#include "talk.h"

/* The watcher. */

typedef struct watcher {
  unsigned opens, ends;
  unsigned started; /* methods, when the first peer opened */
  unsigned waiting; /* calls out, when the last one ended */
  bool closes, drops;
  talk *t;
} watcher;

static void on_open(mrpc_peer *peer, void *ud) {
  watcher *w = ud;
  w->opens++;
  w->started = w->t->methods.started;
  if (mrpc_peer_notify(peer, "hello", NULL)) abort();
  if (w->closes) mrpc_peer_close(peer, NULL);
  if (w->drops) mrpc_peer_drop(peer);
}

static void on_end(mrpc_peer *peer, void *ud) {
  watcher *w = ud;
  mrpc_peer_stats stats;
  mrpc_peer_get_stats(peer, &stats);
  w->waiting = stats.pending + stats.in_flight;
  w->ends++;
}

static const mrpc_peer_watch watch = {on_open, on_end};

static void begin(talk *t, watcher *w) {
  if (talk_start(t)) abort();
  w->t = t;
  mrpc_dispatch_watch(t->dispatch, &watch, w);
  if (talk_open(t)) abort();
}

#define HELLO "{\"jsonrpc\":\"2.0\",\"method\":\"hello\"}\n"

static void opens(void) {
  talk t = {0};
  watcher w = {0};
  begin(&t, &w);
  ok(w.opens == 0, "not from inside mrpc_peer_new");
  talk_run(&t);
  is_str(talk_take(&t), HELLO, "but from the timer, at once");
  talk_say(&t, REQ("sum", "[1]", "1") "\n");
  talk_run(&t);
  ok(w.opens == 1 && w.ends == 0 && t.wakes > 0, "once");
  mrpc_peer_call(t.peer, "ask", NULL, 0, NULL, NULL, NULL);
  talk_say(&t, REQ("wait", "[\"a\"]", "2") "\n");
  ok(talk_end(&t) && w.ends == 1 && w.waiting == 0,
     "and its end when all its calls have ended");
}

static void opens_by_message(void) {
  talk t = {.framing = mrpc_framing_auto};
  watcher w = {.started = 9};
  begin(&t, &w);
  talk_run(&t);
  ok(w.opens == 0, "who hasn't spoken yet can't be spoken to");
  talk_is(&t, REQ("sum", "[1]", "1") "\n", HELLO RES("1", "1") "\n",
          "the first message tells the framing");
  ok(w.opens == 1 && w.started == 0, "before it is taken");
  ok(talk_end(&t) && w.ends == 1, "all memory came back");
}

static void never_opens(void) {
  talk t = {.framing = mrpc_framing_auto};
  watcher w = {0};
  begin(&t, &w);
  ok(mrpc_peer_script(t.peer) == NULL, "no script at first");
  ok(talk_end(&t) && w.opens + w.ends == 0, "what never opened never ends");
  talk other = {.framing = mrpc_framing_auto};
  watcher scripted = {0};
  begin(&other, &scripted);
  mrpc_peer_set_script(other.peer, &scripted);
  ok(mrpc_peer_script(other.peer) == &scripted, "a script is kept");
  ok(talk_end(&other) && scripted.opens == 0 && scripted.ends == 1,
     "but who bears one does");
}

static void opens_and_ends(void) {
  for (int way = 0; way < 2; way++) {
    talk t = {0};
    watcher w = {.closes = way == 0, .drops = way == 1};
    begin(&t, &w);
    talk_say(&t, REQ("sum", "[1]", "1") "\n" REQ("sum", "[1]", "2") "\n");
    ok(t.methods.started == 0, "on_open may end the peer: nothing starts");
    is_str(talk_take(&t), way == 0 ? HELLO : "", "nothing is answered");
    ok(mrpc_peer_is_done(t.peer), "it is done");
    ok(talk_end(&t) && w.ends == 1, "and has ended once");
  }
}

static void unwatched(void) {
  talk t = {0};
  watcher w = {0};
  begin(&t, &w);
  talk_run(&t);
  mrpc_dispatch_watch(t.dispatch, NULL, NULL);
  ok(talk_end(&t) && w.opens == 1 && w.ends == 0, "a watcher may leave before");
}

/* Closing. */

static void note(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  *(int *)ud = answer->result;
}

static void close_idle(void) {
  talk t = {0};
  int result = 1;
  talk_begin(&t);
  mrpc_peer_call(t.peer, "ask", NULL, 0, note, &result, NULL);
  talk_take(&t);
  mrpc_peer_close(t.peer, "enough");
  ok(result == 1, "calls out aren't failed from inside the close");
  ok(mrpc_peer_call(t.peer, "ask", NULL, 0, NULL, NULL, NULL) == MRPC_ESTATE &&
         mrpc_peer_notify(t.peer, "note", NULL) == MRPC_ESTATE,
     "none can be made any more");
  talk_is(&t, RES("1", "1") "\n" REQ("sum", "[1]", "1") "\n", "",
          "nothing is taken any more");
  ok(result == MRPC_ECLOSED && t.wakes > 0 && mrpc_peer_is_done(t.peer),
     "they have failed, and it's done");
  mrpc_peer_close(t.peer, NULL);
  ok(talk_end(&t), "all memory came back");
}

static void close_in_flight(void) {
  talk t = {.limits.half_closed = 5};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_close(t.peer, NULL);
  talk_run(&t);
  ok(!mrpc_peer_wants_read(t.peer) && !mrpc_peer_is_done(t.peer),
     "a call in flight may still be answered");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), RES("\"a\"", "1") "\n", "it is");
  ok(mrpc_peer_is_done(t.peer) && !t.methods.cancelled, "then it's done");
  ok(talk_end(&t), "all memory came back");
  talk slow = {.limits.half_closed = 5};
  talk_begin(&slow);
  talk_say(&slow, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_close(slow.peer, NULL);
  talk_pass(&slow, 4.9);
  ok(!mrpc_peer_is_done(slow.peer), "but not for ever");
  talk_pass(&slow, 0.2);
  ok(mrpc_peer_is_done(slow.peer) && slow.methods.cancelled == 1,
     "limits.half_closed ends it");
  ok(talk_end(&slow), "all memory came back");
}

static void close_caller(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_peer_close(mrpc_call_peer(call), NULL);
  mrpc_call_reply(call, "true", 4);
}

/* From inside a method: its own answer goes out, the rest of its batch and
 * what queues are refused, what comes behind isn't read. */
static void close_inside(void) {
  talk t = {.limits.in_flight = 2};
  int result = 1;
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "close", close_caller, NULL);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_call(t.peer, "ask", NULL, 0, note, &result, NULL);
  talk_take(&t);
  talk_is(&t,
          "[" REQ("close", "[]", "2") "," REQ("sum", "[]", "3") "]\n" REQ(
              "sum", "[]", "4") "\n" RES("1", "1") "\n",
          "[" RES("true", "2") "," ERR("-32054", "Shutting down", "3") "]\n",
          "a method may close its caller");
  ok(result == MRPC_ECLOSED, "calls out fail at once");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), RES("\"a\"", "1") "\n", "calls in are answered");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
}

static void close_queued(void) {
  talk t = {.limits.in_flight = 1};
  talk_begin(&t);
  talk_say(&t, "[" REQ("wait", "[\"a\"]", "1") "," REQ(
                   "sum", "[]", "2") "]\n" REQ("sum", "[]", "3") "\n");
  mrpc_peer_close(t.peer, NULL);
  talk_run(&t);
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t),
         "[" RES("\"a\"", "1") "," ERR("-32054", "Shutting down", "2") "]\n",
         "what queues is refused, what wasn't taken is forgotten");
  ok(mrpc_peer_is_done(t.peer), "then it's done");
  ok(talk_end(&t), "all memory came back");
}

/* A framing with words for the end: it says "bye", and has heard "bye" when
 * the other side's line is longer than its limit. */
static void say_bye(mrpc_framing *f, const char *reason) {
  mrpc_line_vt.push(f, "bye", 3);
  mrpc_line_vt.push(f, reason, strlen(reason));
}

static mrpc_framing_vt polite;

static int polite_recv(mrpc_framing *f, const char *bytes, size_t len,
                       size_t *consumed, mrpc_message *msg) {
  int rc = mrpc_line_vt.recv(f, bytes, len, consumed, msg);
  if (rc == MRPC_OK && msg->len == 3) f->closing = true;
  return f->closing ? MRPC_PARTIAL : rc;
}

static int polite_new(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out) {
  polite = mrpc_line_vt;
  polite.recv = polite_recv;
  polite.close = say_bye;
  return mrpc_stream_new(env, limits, &polite, MRPC_LINE_PLAIN, out);
}

static void close_politely(void) {
  talk t = {.framing = polite_new};
  int result = 1;
  talk_begin(&t);
  mrpc_peer_call(t.peer, "ask", NULL, 0, note, &result, NULL);
  talk_take(&t);
  mrpc_peer_close(t.peer, "late");
  talk_run(&t);
  is_str(talk_take(&t), "bye\nlate\n", "the other side is told why");
  ok(result == MRPC_ECLOSED, "calls out have failed");
  ok(mrpc_peer_wants_read(t.peer) && !mrpc_peer_is_done(t.peer),
     "its word is awaited");
  talk_is(&t, REQ("sum", "[]", "1") "\n", "", "messages are dropped");
  ok(t.methods.started == 0, "and start nothing");
  talk_say(&t, "bye\n");
  ok(mrpc_peer_is_done(t.peer), "it came: done");
  ok(talk_end(&t), "all memory came back");
  talk deaf = {.framing = polite_new, .limits.half_closed = 5};
  talk_begin(&deaf);
  mrpc_peer_close(deaf.peer, "late");
  talk_pass(&deaf, 5.1);
  ok(mrpc_peer_is_done(deaf.peer), "it didn't come: done as well");
  ok(talk_end(&deaf), "all memory came back");
}

/* The default method. */

static void take_any(mrpc_call *call, void *ud) {
  size_t len;
  const char *name = mrpc_call_method(call, &len);
  talk *t = ud;
  char text[64];
  snprintf(text, sizeof text, "\"%.*s\"", (int)len, name);
  mrpc_call_reply(call, text, strlen(text));
  t->wakes += 100;
}

static void any(void) {
  talk t = {0};
  talk_begin(&t);
  mrpc_dispatch_set_default(t.dispatch, take_any, &t);
  talk_is(&t, REQ("what", "[]", "1") "\n", RES("\"what\"", "1") "\n",
          "whatever isn't found");
  talk_is(&t, REQ("sum", "[1]", "2") "\n", RES("1", "2") "\n",
          "but what is found is called");
  talk_is(&t, REQ("rpc.status", "[]", "3") "\n", UNKNOWN("3") "\n",
          "reserved names are the host's");
  talk_is(&t, NOTE("$/cancelRequest", "{\"id\":1}") "\n" NOTE("n", "[]") "\n",
          "", "cancels are still cancels");
  ok(t.wakes == 200, "and notifications arrive");
  mrpc_dispatch_set_default(t.dispatch, NULL, NULL);
  talk_is(&t, REQ("what", "[]", "1") "\n", UNKNOWN("1") "\n", "none any more");
  ok(talk_end(&t), "all memory came back");
}

int main(void) {
  opens();
  opens_by_message();
  never_opens();
  opens_and_ends();
  unwatched();
  close_idle();
  close_in_flight();
  close_inside();
  close_queued();
  close_politely();
  any();
  return tap_finish();
}
