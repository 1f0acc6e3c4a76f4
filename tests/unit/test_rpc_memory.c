/* SPDX-License-Identifier: MIT
 *
 * A whole conversation, both ways, with each allocation failing in turn: once,
 * and from then on for good. Nothing leaks, nothing is answered twice, and
 * when the failure was a passing one the dispatch serves the next peer. */
#include "talk.h"

static void note(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  (void)answer;
  ++*(int *)ud;
}

static void say(talk *t, const char *text) {
  if (t->framing == mrpc_framing_line) {
    talk_say(t, text);
    talk_say(t, "\n");
    return;
  }
  char head[64];
  snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(text));
  talk_say(t, head);
  talk_say(t, text);
}

#define LONG_ID "\"0123456789012345678901234567890123456789012345\""

static void converse(talk *t, int *answers) {
  say(t, REQ("subtract", "[42,23]", "1"));
  say(t, REQ("s\\u0075m", "[1,2]", "2"));
  say(t, REQ("wait", "[\"a\"]", LONG_ID));
  say(t, "[" REQ("wait", "[\"b\"]", "3") ",1," REQ("sum", "[4]", "4") "," REQ(
             "nothing", "[]", "5") "," REQ("wait", "[\"c\"]", "6") "," NOTE(
             "wait", "[\"d\"]") "," REQ("wait", "[\"e\"]", "7") "," REQ(
             "sum", "[8]", "8") "," REQ("wait", "[\"f\"]", "9") "]");
  say(t, REQ("sum", "[10]", "10"));
  if (mrpc_peer_call(t->peer, "ask", "[1]", 1, note, answers, NULL) == 0)
    ++answers[1];
  if (mrpc_peer_call(t->peer, "ask", NULL, 0, note, answers, NULL) == 0)
    ++answers[1];
  mrpc_peer_notify(t->peer, "note", "{}");
  say(t, RES("[1,2,3]", "2"));
  talk_flush(t);
  say(t, NOTE("$/cancelRequest", "{\"id\":6}"));
  talk_release(t, "\"b\"");
  talk_pass(t, 2);
  say(t, "{\"jsonrpc\":1,\"id\":11}");
  say(t, "{{");
  talk_release(t, "\"d\"");
  talk_release(t, "\"a\"");
  say(t, REQ("echo",
             "[\"01234567890123456789012345678901234567890123456789"
             "0123456789012345678901234567890123456789\"]",
             "12"));
  talk_release(t, "\"e\"");
  talk_flush(t);
  mrpc_peer_eof(t->peer);
  talk_run(t);
  talk_release(t, "\"f\"");
  talk_flush(t);
}

/* How often `what` stands in the output. */
static int count(const talk *t, const char *what) {
  int n = 0;
  for (const char *at = t->out; at && (at = strstr(at, what)); at++) n++;
  return n;
}

static const char *const ids[] = {
    "\"id\":1}", "\"id\":2}",  "\"id\":3}",  "\"id\":4}",
    "\"id\":5}", "\"id\":6}",  "\"id\":7}",  "\"id\":8}",
    "\"id\":9}", "\"id\":10}", "\"id\":12}", "\"id\":" LONG_ID "}"};
enum { IDS = sizeof ids / sizeof *ids };

/* Is no request answered twice? Two calls of ours share ids with them, and the
 * cancel of the first. */
static bool is_sane(const talk *t) {
  for (size_t i = 0; i < IDS; i++)
    if (count(t, ids[i]) > (i == 0 ? 3 : i == 1 ? 2 : 1)) return false;
  return true;
}

/* Is every request answered, be it with an error that doesn't know the id? */
static bool is_complete(const talk *t) {
  if (count(t, INTERNAL("null"))) return true;
  for (size_t i = 0; i < IDS; i++)
    if (!count(t, ids[i])) return false;
  return true;
}

static bool serves_next(talk *t) {
  mrpc_peer_free(t->peer);
  t->peer = NULL;
  free(t->out);
  t->out = NULL;
  t->out_len = 0;
  if (talk_open(t)) return false;
  say(t, REQ("subtract", "[42,23]", "1"));
  return strstr(talk_take(t), RES("19", "1")) != NULL;
}

static int (*framing)(mrpc_env *, const mrpc_limits *, mrpc_framing **);
static unsigned insane, incomplete, unserved, unanswered, whole;

static void scenario(oom *o) {
  talk t = {.mem = *o, .framing = framing, .config.explain = true};
  t.limits = (mrpc_limits){.in_flight = 3, .reply = 1700};
  int answers[2] = {0};
  if (talk_start(&t) == MRPC_OK && talk_open(&t) == MRPC_OK) {
    converse(&t, answers);
    if (!is_sane(&t)) insane++;
    bool is_alive = mrpc_peer_recv(t.peer, "", 0) == MRPC_OK;
    if (is_alive && !is_complete(&t)) incomplete++;
    if (!t.mem.hit && is_alive && !count(&t, INTERNAL("null"))) whole++;
    if (t.mem.hit && !t.mem.sticky && !serves_next(&t)) unserved++;
    mrpc_peer_free(t.peer);
    if (answers[0] != answers[1]) unanswered++;
  }
  methods_clear(&t.methods);
  mrpc_dispatch_free(t.dispatch);
  mrpc_env_free(t.env);
  free(t.out);
  free(t.taken);
  *o = t.mem;
}

static void play(const char *name,
                 int (*f)(mrpc_env *, const mrpc_limits *, mrpc_framing **)) {
  framing = f;
  insane = incomplete = unserved = unanswered = whole = 0;
  oom_each(name, scenario, false);
  oom_each(name, scenario, true);
  ok(whole == 2, "%s: without a failure, all is answered", name);
  ok(insane == 0, "%s: nothing is answered twice", name);
  ok(incomplete == 0, "%s: all is answered, or the peer ends", name);
  ok(unanswered == 0, "%s: each call out has one end", name);
  ok(unserved == 0, "%s: the next peer is served", name);
}

int main(void) {
  play("lines", mrpc_framing_line);
  play("headers", mrpc_framing_header);
  return tap_finish();
}
