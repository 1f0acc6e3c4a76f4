/* SPDX-License-Identifier: MIT
 *
 * What a call keeps of its message once its start has returned: the token for
 * progress, and header fields. */
#include "rpc/call.h"
#include "talk.h"

/* A method that tells progress while it starts, and one that keeps its call
 * for the test to do so later. */

static int told;
static mrpc_call *kept;

static void tell(mrpc_call *call, void *ud) {
  (void)ud;
  told = mrpc_call_progress(call, "[1]", 3);
  mrpc_call_reply(call, "true", 4);
}

static void keep(mrpc_call *call, void *ud) {
  (void)ud;
  kept = call;
}

static void begin(talk *t) {
  talk_begin(t);
  if (mrpc_dispatch_add(t->dispatch, "half", tell, NULL) ||
      mrpc_dispatch_add(t->dispatch, "keep", keep, NULL))
    abort();
}

static int progress(const char *json) {
  return mrpc_call_progress(kept, json, strlen(json));
}

#define PROGRESS(token, value) \
  NOTE("$/progress", "{\"token\":" token ",\"value\":" value "}") "\n"
#define META(token, rest) \
  NOTE("notifications/progress", "{\"progressToken\":" token rest "}") "\n"

/* Where the token stands. */
static void tokens(void) {
  static const struct {
    const char *params, *token;
  } cases[] = {
      {"{\"workDoneToken\":1}", "1"},
      {"{\"a\":[1,{}],\"partialResultToken\":\"x\\n\"}", "\"x\\n\""},
      {"{\"progressToken\":1.0,\"z\":{\"workDoneToken\":5}}", "1.0"},
      {"{\"workDoneToken\":1,\"partialResultToken\":2}", "1"},
      {"{\"partialResultToken\":2,\"workDoneToken\":1}", "1"},
      {"{\"_meta\":{\"progressToken\":3},\"progressToken\":2}", "2"},
      {"{\"progressToken\":2,\"_meta\":{\"progressToken\":3}}", "2"},
      {"{\"workDoneTok\\u0065n\":9007199254740993}", "9007199254740993"},
      {"{\"workDoneToken\":1,\"workDoneToken\":2}", "2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    talk t = {0};
    char say[256], want[256];
    begin(&t);
    snprintf(say, sizeof say, REQ("half", "%s", "1") "\n", cases[i].params);
    snprintf(want, sizeof want, PROGRESS("%s", "[1]") RES("true", "1") "\n",
             cases[i].token);
    talk_is(&t, say, want, cases[i].params);
    snprintf(say, sizeof say, REQ("keep", "%s", "1") "\n", cases[i].params);
    snprintf(want, sizeof want, PROGRESS("%s", "0.5"), cases[i].token);
    talk_say(&t, say);
    int rc = progress("0.5");
    is_str(talk_take(&t), want, "the same once it waits");
    ok(rc == MRPC_OK, "sent");
    mrpc_call_reply(kept, "1", 1);
    ok(talk_end(&t), "all memory came back");
  }
}

static void unasked(void) {
  static const char *const cases[] = {
      "[]",
      "[1,{\"workDoneToken\":1}]",
      "{\"workDoneToken\":null}",
      "{\"workDoneToken\":{}}",
      "{\"_meta\":{\"workDoneToken\":1}}",
      "{\"_meta\":[{\"progressToken\":1}]}",
      "{\"a\":{\"progressToken\":1}}",
      "{\"_meta\":{\"progressToken\":true}}",
  };
  talk t = {0};
  char say[256];
  begin(&t);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(say, sizeof say, REQ("half", "%s", "1") "\n", cases[i]);
    talk_is(&t, say, RES("true", "1") "\n", cases[i]);
    ok(told == MRPC_ENOTFOUND, "nobody asked");
  }
  talk_is(&t, "{\"jsonrpc\":\"2.0\",\"method\":\"half\",\"id\":1}\n",
          RES("true", "1") "\n", "no params");
  ok(told == MRPC_ENOTFOUND, "nobody asked");
  ok(talk_end(&t), "all memory came back");
}

static void meta(void) {
  static const struct {
    const char *value, *rest;
  } cases[] = {
      {"{\"progress\":1,\"total\":2}", ",\"progress\":1,\"total\":2"},
      {" { \"progress\" : 1 } ", ",\"progress\" : 1 "},
      {"{ }", ""},
      {"{}", ""},
      {"0.25", ",\"progress\":0.25"},
      {"-1", ",\"progress\":-1"},
  };
  talk t = {0};
  char want[256];
  begin(&t);
  talk_say(&t, REQ("keep", "{\"_meta\":{\"progressToken\":\"t\"}}", "1") "\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(want, sizeof want, META("\"t\"", "%s"), cases[i].rest);
    ok(progress(cases[i].value) == MRPC_OK, "%s", cases[i].value);
    is_str(talk_take(&t), want, "its members stand beside the token");
  }
  ok(progress("[1]") == MRPC_EINVAL && progress("\"x\"") == MRPC_EINVAL &&
         progress("null") == MRPC_EINVAL && progress("") == MRPC_EINVAL,
     "other values have none");
  is_str(talk_take(&t), "", "nothing is sent");
  mrpc_call_reply(kept, "1", 1);
  ok(talk_end(&t), "all memory came back");
}

/* A notification may ask, too; a call that was given up doesn't any more. */
static void awaited(void) {
  talk t = {0};
  begin(&t);
  talk_is(&t, NOTE("half", "{\"workDoneToken\":1}") "\n", PROGRESS("1", "[1]"),
          "of a notification");
  talk_say(&t, REQ("keep", "{\"workDoneToken\":1}", "1") "\n");
  talk_say(&t, NOTE("$/cancelRequest", "{\"id\":1}") "\n");
  ok(progress("1") == MRPC_OK, "a cancelled call may tell how it ends");
  mrpc_call_error(kept, MRPC_REQUEST_CANCELLED, NULL, NULL);
  is_str(talk_take(&t), PROGRESS("1", "1") CANCELLED("1") "\n", "in order");
  talk_say(&t, REQ("keep", "{\"workDoneToken\":1}", "1") "\n");
  talk_say(&t, NOTE("notifications/cancelled", "{\"requestId\":1}") "\n");
  ok(progress("1") == MRPC_ENOTFOUND, "silently cancelled: nobody listens");
  mrpc_call_reply(kept, "1", 1);
  is_str(talk_take(&t), "", "nothing is sent");
  talk_say(&t, REQ("keep", "{\"workDoneToken\":1}", "2") "\n");
  mrpc_peer_drop(t.peer);
  ok(progress("1") == MRPC_ENOTFOUND, "nor when the peer has gone");
  mrpc_call_reply(kept, "1", 1);
  ok(talk_end(&t), "all memory came back");
}

static void held(void) {
  talk t = {.limits.output = 60, .is_stuck = true};
  begin(&t);
  talk_say(&t, REQ("keep", "{\"workDoneToken\":1}", "1") "\n");
  ok(progress("1") == MRPC_OK && progress("1") == MRPC_ELIMIT,
     "who doesn't read isn't told more");
  mrpc_call_reply(kept, "1", 1);
  ok(talk_end(&t), "all memory came back");
}

/* What long tokens keep is bounded as output is. */
static void bounded(void) {
  talk t = {.limits.output = 100};
  char say[256];
  begin(&t);
  snprintf(say, sizeof say,
           REQ("keep", "{\"workDoneToken\":\"%0120d\"}", "1") "\n", 7);
  talk_say(&t, say);
  ok(!mrpc_peer_wants_read(t.peer), "a token beyond the limit stops reading");
  mrpc_call_reply(kept, "1", 1);
  ok(strstr(talk_take(&t), RES("1", "1")) != NULL, "its call ends");
  talk_run(&t);
  ok(mrpc_peer_wants_read(t.peer), "reading goes on");
  ok(talk_end(&t), "all memory came back");
}

/* Header fields. */

static const char *field(const mrpc_call *call, const char *name) {
  const mrpc_header_field *f = mrpc_call_headers(call);
  for (; f && f->name; f++)
    if (strcmp(f->name, name) == 0) return f->value;
  return "none";
}

static void show(mrpc_call *call, void *ud) {
  (void)ud;
  char text[64];
  snprintf(text, sizeof text, "\"%s\"", field(call, "x-who"));
  mrpc_call_reply(call, text, strlen(text));
}

enum { KEEPS = 4 };
static mrpc_call *keeps[KEEPS];
static size_t keep_count;

static void keep_more(mrpc_call *call, void *ud) {
  (void)ud;
  keeps[keep_count++] = call;
}

static int http(mrpc_env *env, const mrpc_limits *limits, mrpc_framing **out) {
  return mrpc_framing_http(env, &(mrpc_http_config){.limits = limits}, out);
}

static void post(talk *t, const char *who, const char *body) {
  char say[1024];
  snprintf(say, sizeof say,
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
           "X-Who: %s\r\nContent-Length: %zu\r\n\r\n%s",
           who, strlen(body), body);
  talk_say(t, say);
}

static void begin_http(talk *t) {
  t->framing = http;
  talk_begin(t);
  keep_count = 0;
  if (mrpc_dispatch_add(t->dispatch, "show", show, NULL) ||
      mrpc_dispatch_add(t->dispatch, "keep", keep_more, NULL))
    abort();
}

static void headers(void) {
  talk t = {0};
  begin_http(&t);
  post(&t, "ann", REQ("show", "[]", "1"));
  ok(strstr(talk_take(&t), RES("\"ann\"", "1")) != NULL, "while it starts");
  post(&t, "bob",
       "[" REQ("keep", "[]", "1") "," NOTE("keep", "[]") "," REQ(
           "show", "[]", "2") "," REQ("keep", "[]", "3") "]");
  post(&t, "cid", REQ("keep", "[]", "4"));
  ok(keep_count == 4, "four wait");
  is_str(field(keeps[0], "x-who"), "bob", "what waits has its own");
  is_str(field(keeps[1], "x-who"), "bob", "a notification, too");
  ok(mrpc_call_headers(keeps[0]) == mrpc_call_headers(keeps[2]),
     "those of a batch are kept once");
  is_str(field(keeps[3], "x-who"), "cid", "the next message has others");
  ok(mrpc_peer_headers(t.peer) == NULL, "the conversation has none");
  mrpc_call_reply(keeps[0], "1", 1);
  mrpc_call_reply(keeps[2], "1", 1);
  ok(strstr(talk_take(&t), RES("\"bob\"", "2")) != NULL, "the batch is over");
  is_str(field(keeps[1], "x-who"), "bob", "the notification still has them");
  mrpc_peer_drop(t.peer);
  is_str(field(keeps[1], "x-who"), "bob", "even when the peer has gone");
  mrpc_call_reply(keeps[1], "1", 1);
  mrpc_call_reply(keeps[3], "1", 1);
  ok(talk_end(&t), "all memory came back");
}

/* Entries that queue start when the framing has forgotten their message. */
static void headers_queued(void) {
  talk t = {.limits.in_flight = 1};
  begin_http(&t);
  post(&t, "ann", "[" REQ("keep", "[]", "1") "," REQ("show", "[]", "2") "]");
  post(&t, "bob", REQ("show", "[]", "3"));
  mrpc_call_reply(keeps[0], "1", 1);
  talk_run(&t);
  const char *out = talk_take(&t);
  ok(strstr(out, RES("\"ann\"", "2")) && strstr(out, RES("\"bob\"", "3")),
     "each sees its own");
  ok(talk_end(&t), "all memory came back");
}

static void no_headers(void) {
  talk t = {0};
  begin(&t);
  talk_say(&t, REQ("keep", "[]", "1") "\n");
  ok(mrpc_call_headers(kept) == NULL && mrpc_peer_headers(t.peer) == NULL,
     "lines have no header fields");
  mrpc_call_reply(kept, "1", 1);
  ok(talk_end(&t), "all memory came back");
}

static void converse(talk *t) {
  post(t, "ann",
       "[" REQ("keep", "{\"workDoneToken\":7}", "1") "," NOTE(
           "keep", "{\"_meta\":{\"progressToken\":7}}") "," REQ("show", "[]",
                                                                "2") "]");
  for (size_t i = 0; i < keep_count; i++) {
    field(keeps[i], "x-who");
    mrpc_call_progress(keeps[i], "1", 1);
    mrpc_call_reply(keeps[i], "1", 1);
  }
  talk_flush(t);
}

static void scenario(oom *o) {
  talk t = {.mem = *o, .framing = http, .limits.in_flight = 2};
  keep_count = 0;
  if (talk_start(&t) == MRPC_OK && talk_open(&t) == MRPC_OK &&
      mrpc_dispatch_add(t.dispatch, "show", show, NULL) == MRPC_OK &&
      mrpc_dispatch_add(t.dispatch, "keep", keep_more, NULL) == MRPC_OK)
    converse(&t);
  mrpc_peer_free(t.peer);
  methods_clear(&t.methods);
  mrpc_dispatch_free(t.dispatch);
  mrpc_env_free(t.env);
  free(t.out);
  free(t.taken);
  *o = t.mem;
}

int main(void) {
  tokens();
  unasked();
  meta();
  awaited();
  held();
  bounded();
  headers();
  headers_queued();
  no_headers();
  oom_each("what is kept", scenario, false);
  oom_each("what is kept", scenario, true);
  return tap_finish();
}
