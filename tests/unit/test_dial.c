/* SPDX-License-Identifier: MIT
 *
 * rpc.connect with the embedder at hand. tests/spec/connect_spec.lua has real
 * servers. */
#include "dial.h"

#define HEARD(part, name)                                   \
  do {                                                      \
    turn();                                                 \
    const char *heard = stage_heard(&S);                    \
    ok(strstr(heard, part) != NULL, "%s: %s", name, heard); \
  } while (0)

static void test_call(void) {
  begin(NULL);
  stage_call(&S, "open");
  ok(count == 1, "it dials");
  open_dial(0);
  HEARD("\"result\":\"tcp\"", "it is open");
  stage_call(&S, "call");
  ok(strstr(said(0), "\"method\":\"m\",\"params\":[1],\"id\":1") != NULL,
     "a call goes out");
  answer(0, 1, "7");
  HEARD("\"result\":7", "and is answered");
  finish();
}

static void test_refusals(void) {
  begin(NULL);
  refusal = "tcp:x: not today";
  is_str(stage_call(&S, "open"), "error -32057", "refused at once");
  refusal = NULL;
  stage_call(&S, "open");
  refuse_dial(0, "tcp:x: nobody there");
  HEARD("The peer went away: nobody there", "refused later");
  stage_call(&S, "open");
  stage_pass(&S, 5.1);
  HEARD("The peer went away: no connection in time", "never answered");
  open_dial(1);
  ok(mrpc_peer_is_done(dials[1].peer), "one that comes too late is closed");
  finish();
}

static void test_return(void) {
  begin(NULL);
  stage_call(&S, "open");
  open_dial(0);
  turn();
  stage_call(&S, "call");
  end_dial(0, "tcp:x: pulled");
  HEARD("-32057,\"message\":\"The peer went away: pulled\"",
        "a call that went");
  stage_call(&S, "call");
  stage_pass(&S, 0.3);
  ok(count == 2, "it dials again");
  open_dial(1);
  turn();
  ok(strstr(said(1), "\"method\":\"m\"") != NULL, "what waited goes out");
  answer(1, 1, "8");
  HEARD("\"result\":8", "and is answered");
  stage_call(&S, "again");
  for (int i = 1; i <= 3; i++) {
    ok(strstr(said(i), "\"method\":\"m\"") != NULL, "sending %d", i);
    end_dial(i, "");
    if (i == 3) break;
    turn();
    stage_pass(&S, 0.9);
    open_dial(i + 1);
    turn();
  }
  HEARD("-32057,\"message\":\"The peer went away", "is the last");
  finish();
}

static void test_retry(void) {
  begin(NULL);
  is_str(stage_call(&S, "retry"), "false", "it doesn't wait");
  turn();
  for (int i = 0; i < 8; i++) {
    refuse_dial(count - 1, "tcp:x: nobody there");
    int before = count;
    uint64_t from = S.f.now, most = (uint64_t)(1e8 * (2 << i));
    while (count == before && stage_step(&S)) continue;
    ok(S.f.now - from <= most, "pause %d is %g s", i,
       (double)(S.f.now - from) / 1e9);
  }
  stage_call(&S, "call");
  open_dial(count - 1);
  turn();
  answer(count - 1, 1, "9");
  HEARD("\"result\":9", "it comes at last");
  finish();
}

/* One exchange at a time on each of two connections; the third waits. */
static void test_pool(void) {
  begin(NULL);
  kind = HTTP;
  stage_call(&S, "web");
  open_dial(0);
  HEARD("\"result\":\"http\"", "the first is open");
  stage_call(&S, "call");
  ok(strstr(said(0), "\"method\":\"m\"") != NULL, "a call takes it");
  stage_call(&S, "note");
  ok(count == 2, "what comes then dials another");
  stage_call(&S, "call");
  ok(count == 2, "but no more than are allowed");
  open_dial(1);
  turn();
  ok(strstr(said(1), "\"method\":\"n\"") != NULL, "a notification takes it");
  answer_http(1, "204 No Content", "");
  HEARD("\"result\":null", "it is taken");
  ok(mrpc_peer_is_done(dials[1].peer), "which no call may use then");
  end_dial(1, "");
  open_dial(2);
  turn();
  ok(strstr(said(2), "\"method\":\"m\"") != NULL, "the next has another");
  answer_http(2, "200 OK", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":8}");
  HEARD("\"result\":8", "and is answered, before the first");
  stage_call(&S, "note");
  answer_http(2, "401 Unauthorized", "no");
  HEARD("-32057", "a notification that is refused");
  stage_pass(&S, 4);
  ok(mrpc_peer_is_done(dials[0].peer), "a call that times out ends its own");
  end_dial(0, "");
  end_dial(2, "");
  stage_call(&S, "call");
  stage_pass(&S, 0.3);
  ok(count == 4, "the next dials again");
  finish();
}

/* A connection is there when its handshake is through. */
static void test_handshake(void) {
  begin(NULL);
  kind = WS;
  stage_call(&S, "open");
  open_dial(0);
  turn();
  ok(!strncmp(said(0), "GET / HTTP/1.1\r\n", 16), "it asks");
  is_str(stage_heard(&S), "", "and waits for the server's word");
  answer_http(0, "401 Unauthorized", "no");
  turn();
  ok(mrpc_peer_is_done(dials[0].peer), "which is no");
  end_dial(0, "tcp:x: refused");
  HEARD("The peer went away: refused", "so there is no connection");
  stage_call(&S, "open");
  open_dial(1);
  said(1);
  stage_pass(&S, 5.1);
  HEARD("The peer went away: no connection in time", "nor without a word");
  ok(mrpc_peer_is_done(dials[1].peer), "which is waited for no longer");
  end_dial(1, "");
  stage_call(&S, "open");
  open_dial(2);
  said(2);
  mrpc_runtime_free(S.runtime);
  S.runtime = NULL;
  ok(mrpc_peer_is_done(dials[2].peer), "nor when the runtime has gone");
  finish();
}

/* A client that goes with its file, with who holds it, and with the runtime. */
static void test_ends(void) {
  begin(NULL);
  stage_call(&S, "open");
  open_dial(0);
  turn();
  stage_call(&S, "call");
  fake_put(&S.f, "init.lua", "return {}");
  stage_load(&S, false);
  HEARD("-32057", "a call when the file is replaced");
  ok(mrpc_peer_is_done(dials[0].peer) || *said(0), "whose connection ends");
  finish();

  begin(NULL);
  stage_call(&S, "open");
  open_dial(0);
  turn();
  stage_call(&S, "drop");
  turn();
  ok(mrpc_peer_is_done(dials[0].peer), "collected");
  finish();

  begin(NULL);
  stage_call(&S, "open");
  mrpc_runtime_free(S.runtime);
  S.runtime = NULL;
  open_dial(0);
  ok(mrpc_peer_is_done(dials[0].peer), "opened when the runtime has gone");
  finish();

  begin(NULL);
  stage_call(&S, "open");
  open_dial(0);
  turn();
  mrpc_runtime_free(S.runtime);
  S.runtime = NULL;
  end_dial(0, "x");
  ok(true, "ended when the runtime has gone");
  finish();
}

int main(void) {
  test_call();
  test_refusals();
  test_return();
  test_retry();
  test_pool();
  test_handshake();
  test_ends();
  return tap_finish();
}
