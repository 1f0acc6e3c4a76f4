/* SPDX-License-Identifier: MIT
 *
 * A script that connects, and a dialer in memory: the test decides when a
 * connection is there, answers, and ends. */
#ifndef MRPC_TEST_DIAL_H
#define MRPC_TEST_DIAL_H

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
static enum { LINE, HTTP, WS } kind; /* of the next connections */

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
                             .transport = kind == HTTP ? "http" : "tcp"};
  int rc;
  if (kind == HTTP)
    rc = mrpc_framing_http_client(S.env, NULL, "x", "/", &framing);
  else if (kind == WS)
    rc = mrpc_framing_ws_client(S.env, NULL, "x", "/", NULL, &framing);
  else
    rc = mrpc_framing_line(S.env, NULL, &framing);
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
__attribute__((unused)) static const char *said(int i) {
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

static const char script[] =
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
  kind = LINE;
  S.dialer = &dialer;
  fake_put(&S.f, "init.lua", script);
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

#endif
