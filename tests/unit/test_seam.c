/* SPDX-License-Identifier: MIT
 *
 * The seam between a peer and its framing: what a framing may answer and how
 * the peer takes it, what it is told. */
#include "talk.h"

static void note_end(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  *(int *)ud = answer->result;
}

/* A framing whose other side says goodbye in band. */
static mrpc_framing_vt polite_vt;
static const mrpc_framing_vt *line_vt;

static int polite_recv(mrpc_framing *f, const char *bytes, size_t len,
                       size_t *consumed, mrpc_message *msg) {
  int rc = line_vt->recv(f, bytes, len, consumed, msg);
  if (rc == MRPC_OK && msg->len == 5 && memcmp(msg->bytes, "[end]", 5) == 0) {
    f->closing = true;
    return MRPC_PARTIAL;
  }
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

/* Less polite: no more is read, what is in flight goes on. */
static void closing(void) {
  talk t = {.framing = make_polite};
  int result = 1;
  talk_begin(&t);
  mrpc_peer_call(t.peer, "ask", NULL, 0, note_end, &result, NULL);
  talk_take(&t);
  talk_say(&t,
           REQ("wait", "[\"a\"]", "1") "\n[end]\n" REQ("sum", "[1]", "2") "\n");
  ok(result == MRPC_ECLOSED && t.methods.started == 1,
     "a framing that closes ends the input");
  talk_release(&t, "\"a\"");
  is_str(talk_take(&t), RES("\"a\"", "1") "\n", "what is in flight goes on");
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
  noting_vt.end = 0; /* all replies are to come through put */
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

/* HTTP: answers that wait for their turn are held, too, and a drain is the
 * framing's to end. */
static void post(talk *t, const char *body) {
  char say[2000];
  snprintf(say, sizeof say,
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
           "Content-Length: %zu\r\n\r\n%s",
           strlen(body), body);
  talk_say(t, say);
}

static int make_http(mrpc_env *env, const mrpc_limits *limits,
                     mrpc_framing **out) {
  return mrpc_framing_http(env, &(mrpc_http_config){.limits = limits}, out);
}

static void http(void) {
  talk t = {.framing = make_http, .limits.output = 1000};
  char body[1300];
  mrpc_peer_stats stats;
  talk_begin(&t);
  post(&t, REQ("wait", "[\"a\"]", "1"));
  snprintf(body, sizeof body, REQ("echo", "[\"%01000d\"]", "2"), 0);
  post(&t, body);
  mrpc_peer_get_stats(t.peer, &stats);
  ok(stats.held > 1000 && !mrpc_peer_wants_read(t.peer),
     "an answer that waits for its turn counts");
  talk_release(&t, "\"a\"");
  const char *got = talk_take(&t);
  ok(strstr(got, RES("\"a\"", "1")) && strstr(got, "\"id\":2}"), "both go out");
  talk_run(&t);
  ok(mrpc_peer_wants_read(t.peer), "and reading goes on");
  mrpc_peer_drain(t.peer);
  talk_take(&t);
  ok(mrpc_peer_is_done(t.peer), "an idle peer that drains is done");
  ok(talk_end(&t), "all memory came back");
}

int main(void) {
  goodbye();
  closing();
  http();
  show_outcomes();
  return tap_finish();
}
