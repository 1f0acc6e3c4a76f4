/* SPDX-License-Identifier: MIT
 *
 * rpc.connect over a dialer in memory: the test decides when a connection is
 * there, answers, and ends. tests/spec/connect_spec.lua has real servers. */
#include "base/env.h"
#include "oom.h"
#include "runtime/runtime.h"
#include "stage.h"

enum { DIALS = 64 };

typedef struct dial {
  mrpc_peer_open_fn on_open;
  mrpc_peer_fn on_close;
  void *to;
  mrpc_peer *peer;
} dial;

static stage S;
static dial dials[DIALS];
static int count;           /* of the dials that were made */
static const char *refusal; /* all are refused at once, for this reason */
static const char *reason;
static bool is_http; /* so the next connections are */

static int dial_to(void *ud, const char *url, const char *header,
                   mrpc_peer_open_fn on_open, mrpc_peer_fn on_close, void *to) {
  (void)ud;
  (void)header;
  (void)url;
  reason = refusal;
  if (refusal || count == DIALS) return MRPC_EIO;
  dials[count++] = (dial){on_open, on_close, to, NULL};
  return MRPC_OK;
}

static const char *dial_error(void *ud) {
  (void)ud;
  return reason ? reason : "";
}

static const mrpc_dialer dialer = {dial_to, dial_error, NULL};

/* The embedder's part. */

static int make_peer(dial *d) {
  mrpc_framing *framing;
  mrpc_peer_config config = {.env = S.env,
                             .dispatch = S.dispatch,
                             .transport = is_http ? "http" : "tcp"};
  int rc = is_http ? mrpc_framing_http_client(S.env, NULL, "x", "/", &framing)
                   : mrpc_framing_line(S.env, NULL, &framing);
  return rc ? rc : mrpc_peer_new(&config, framing, &d->peer);
}

static void open_dial(int i) {
  dial *d = &dials[i];
  reason = "";
  if (make_peer(d)) {
    reason = "out of memory";
    d->peer = NULL;
  }
  mrpc_peer_open_fn fn = d->on_open;
  d->on_open = NULL;
  fn(d->peer, d->to);
}

static void refuse_dial(int i, const char *why) {
  reason = why;
  mrpc_peer_open_fn fn = dials[i].on_open;
  dials[i].on_open = NULL;
  fn(NULL, dials[i].to);
}

static void end_dial(int i, const char *why) {
  dial *d = &dials[i];
  mrpc_peer *peer = d->peer;
  d->peer = NULL;
  mrpc_peer_drop(peer);
  reason = why;
  d->on_close(peer, d->to);
  mrpc_peer_free(peer);
}

/* What the script has said on a connection. */
static const char *said(int i) {
  static char text[400];
  const char *bytes;
  text[0] = '\0';
  if (!dials[i].peer) return text;
  size_t len = mrpc_peer_output(dials[i].peer, &bytes);
  snprintf(text, sizeof text, "%.*s", (int)len, bytes);
  mrpc_peer_sent(dials[i].peer, len);
  return text;
}

static void answer(int i, int id, const char *result) {
  char text[100];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n",
           id, result);
  if (dials[i].peer) mrpc_peer_recv(dials[i].peer, text, strlen(text));
}

static void answer_http(int i, const char *status, const char *body) {
  char text[200];
  snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
           status, strlen(body), body);
  if (dials[i].peer) mrpc_peer_recv(dials[i].peer, text, strlen(text));
}

static void end_all(void) {
  for (int i = 0; i < count; i++) {
    if (dials[i].on_open) refuse_dial(i, "the end");
    if (dials[i].peer) end_dial(i, "");
  }
}

/* The script's. */

static const char text[] =
    "local c\n"
    "local M = {}\n"
    "function M.open() c = rpc.connect('tcp:x') return c.transport end\n"
    "function M.retry() c = rpc.connect('tcp:x', { retry = true })\n"
    "  return c:closed() end\n"
    "function M.call() return c:call('m', { 1 }, { timeout = 3 }) end\n"
    "function M.again()\n"
    "  return c:call('m', nil, { timeout = 3, idempotent = true })\n"
    "end\n"
    "function M.web() c = rpc.connect('http:x', { connections = 2 })\n"
    "  return c.transport end\n"
    "function M.note() return c:notify('n', nil, { timeout = 3 }) end\n"
    "function M.drop() c = nil collectgarbage() collectgarbage() end\n"
    "return M\n";

static int begin(const mrpc_env_config *memory) {
  memset(&S, 0, sizeof S);
  memset(dials, 0, sizeof dials);
  count = 0;
  refusal = reason = NULL;
  is_http = false;
  S.dialer = &dialer;
  fake_put(&S.f, "init.lua", text);
  int rc = stage_open(&S, memory);
  if (rc) return rc;
  rc = mrpc_runtime_reload(S.runtime, true);
  return rc ? rc : stage_settle(&S);
}

static void turn(void) {
  for (int i = 0; i < 4 && mrpc_timer_next(S.env) <= S.f.now; i++)
    stage_step(&S);
}

static void finish(void) {
  end_all();
  stage_close(&S);
}

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
  is_http = true;
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

static void without_memory(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  if (begin(&config) == MRPC_OK) {
    stage_call(&S, "open");
    if (count) open_dial(0);
    turn();
    stage_call(&S, "call");
    said(0);
    answer(0, 1, "7");
    turn();
    if (count && dials[0].peer) end_dial(0, "pulled");
    stage_call(&S, "again");
    stage_pass(&S, 0.3);
    if (count > 1 && dials[1].on_open) open_dial(1);
    turn();
  }
  finish();
}

/* Functions that the registry holds for C. */
static int count_references(void) {
  lua_State *L = S.runtime->L;
  int found = 0;
  lua_gc(L, LUA_GCCOLLECT);
  for (lua_pushnil(L); lua_next(L, LUA_REGISTRYINDEX); lua_pop(L, 1))
    found += lua_isinteger(L, -2) && lua_isfunction(L, -1);
  return found;
}

/* The timers' heap is full, so that the one of the wait needs memory, too. */
static void fill_timers(mrpc_timer *timers, size_t most) {
  for (size_t i = 0; i < most && S.env->timers.count < S.env->timers.cap; i++)
    mrpc_timer_start(&S.env->timers, &timers[i], UINT64_MAX - 1);
}

/* What a failed try leaves in a runtime that lives on. */
static void test_leftovers(void) {
  static mrpc_timer timers[64];
  int leaks = 0, fails = 0;
  for (bool is_hit = true; is_hit; fails++) {
    oom o = {0};
    mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
    memset(timers, 0, sizeof timers);
    begin(&config);
    refusal = "tcp:x: not today";
    stage_call(&S, "open");
    fill_timers(timers, 64);
    int before = count_references();
    o.fail_at = o.count + (size_t)fails + 1;
    stage_call(&S, "open");
    is_hit = o.hit;
    o.fail_at = 0;
    turn();
    leaks += count_references() != before;
    for (int i = 0; i < 64; i++) mrpc_timer_stop(&S.env->timers, &timers[i]);
    finish();
  }
  ok(leaks == 0, "%d failing allocations, %d left something", fails, leaks);
}

static void pool_without_memory(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  if (begin(&config) == MRPC_OK) {
    is_http = true;
    stage_call(&S, "web");
    if (count) open_dial(0);
    turn();
    stage_call(&S, "call");
    stage_call(&S, "note");
    stage_call(&S, "again");
    if (count > 1 && dials[1].on_open) open_dial(1);
    turn();
    said(0);
    answer_http(0, "200 OK", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}");
    turn();
    said(1);
    answer_http(1, "204 No Content", "");
    turn();
    if (count && dials[0].peer) end_dial(0, "pulled");
    stage_pass(&S, 4.5);
  }
  finish();
}

int main(void) {
  test_call();
  test_refusals();
  test_return();
  test_retry();
  test_pool();
  test_ends();
  test_leftovers();
  oom_each("connect", without_memory, false);
  oom_each("connect, all from one on", without_memory, true);
  oom_each("pool", pool_without_memory, false);
  oom_each("pool, all from one on", pool_without_memory, true);
  return tap_finish();
}
