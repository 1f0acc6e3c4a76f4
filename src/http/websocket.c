/* SPDX-License-Identifier: MIT
 *
 * What a WebSocket says, and how it lives and ends. Whoever says Close says
 * nothing after it, so an end that we want waits until all that was asked is
 * answered, and the connection closes behind that frame: the other side's
 * Close is thrown away with what else still arrives.
 *
 * A conversation that is silent for a while is asked for a sign of life.
 * Activity sets a flag instead of moving a deadline, so that a message costs
 * no look at the clock. */
#include "http/websocket.h"

#include <stdio.h>
#include <string.h>

#include "http/sha1.h"

/* RFC 6455 section 10.3: the keys can't be foretold by who chooses what we
 * send. A digest of a secret and a count gives one each. */
static void make_key(mrpc_ws_mask *mask, char key[MRPC_WS_KEY_SIZE]) {
  uint8_t digest[MRPC_SHA1_SIZE];
  mask->count++;
  mrpc_sha1(mask, sizeof *mask, digest);
  memcpy(key, digest, MRPC_WS_KEY_SIZE);
}

int mrpc_websocket_send(mrpc_websocket *w, uint8_t opcode, const char *bytes,
                        size_t len) {
  mrpc_buf *out = &w->base.out;
  size_t mark = out->len;
  char *to = mrpc_buf_reserve(out, len + MRPC_WS_HEAD_MAX);
  if (!to) {
    mrpc_buf_truncate(out, mark);
    return MRPC_ENOMEM;
  }
  size_t head = mrpc_ws_write_head(to, opcode, len, w->mask != NULL);
  if (w->mask) {
    make_key(w->mask, to + head);
    head += MRPC_WS_KEY_SIZE;
    mrpc_ws_xor(to + head, bytes, len, to + head - MRPC_WS_KEY_SIZE);
  } else if (len) {
    memcpy(to + head, bytes, len);
  }
  out->len += head + len;
  return MRPC_OK;
}

/* Its end mustn't be in the midst of a character. */
static size_t fit(const char *text, size_t most) {
  size_t len = strlen(text);
  if (len <= most) return len;
  while (most && (text[most] & 0xc0) == 0x80) most--;
  return most;
}

int mrpc_websocket_say_close(mrpc_websocket *w, uint16_t code,
                             const char *reason) {
  char payload[MRPC_WS_CONTROL_MAX];
  size_t len = 0;
  if (w->base.closing) return MRPC_OK;
  if (code) {
    payload[0] = (char)(code >> 8);
    payload[1] = (char)(code & 255);
    len = reason ? fit(reason, sizeof payload - 2) : 0;
    if (len) memcpy(payload + 2, reason, len);
    len += 2;
  }
  int rc = mrpc_websocket_send(w, WSLAY_CONNECTION_CLOSE, payload, len);
  w->base.closing = true;
  return rc;
}

int mrpc_websocket_fail(mrpc_websocket *w, uint16_t code, const char *why) {
  w->failed = MRPC_ECLOSED;
  w->base.error = why;
  int rc = mrpc_websocket_say_close(w, code, why);
  mrpc_buf_clear(&w->part);
  return rc ? (w->failed = rc) : MRPC_ECLOSED;
}

static int eof(mrpc_framing *f, mrpc_message *msg) {
  (void)msg;
  f->closing = true;
  return MRPC_ECLOSED;
}

/* Answers. */

/* One less is owed; the last one ends a conversation that is to end. */
static int settle(mrpc_websocket *w) {
  if (w->owed) w->owed--;
  if (!w->farewell || w->owed) return MRPC_OK;
  return mrpc_websocket_say_close(w, w->farewell, w->reason);
}

int mrpc_websocket_push(mrpc_framing *f, const char *bytes, size_t len) {
  if (f->closing) return MRPC_ESTATE;
  return mrpc_websocket_send((mrpc_websocket *)f, WSLAY_TEXT_FRAME, bytes, len);
}

int mrpc_websocket_put(mrpc_framing *f, uint64_t token, const char *bytes,
                       size_t len, mrpc_outcome outcome) {
  mrpc_websocket *w = (mrpc_websocket *)f;
  (void)token;
  (void)outcome;
  if (f->closing) return MRPC_OK;
  int rc = mrpc_websocket_send(w, WSLAY_TEXT_FRAME, bytes, len);
  return rc ? rc : settle(w);
}

int mrpc_websocket_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome) {
  (void)token;
  (void)outcome;
  return settle((mrpc_websocket *)f);
}

static bool can_push(const mrpc_framing *f) {
  return !f->closing;
}

/* The end that we want. */

static void part(mrpc_websocket *w, uint16_t code) {
  if (w->base.closing || w->farewell) return;
  w->farewell = code;
  if (w->owed == 0 && mrpc_websocket_say_close(w, code, w->reason))
    w->base.closing = true;
}

static void drain(mrpc_framing *f) {
  part((mrpc_websocket *)f, MRPC_WS_GOING_AWAY);
}

/* Without memory for its reason it closes without one. */
static void close_with(mrpc_framing *f, const char *reason) {
  mrpc_websocket *w = (mrpc_websocket *)f;
  const mrpc_mem *mem = &f->env->mem;
  if (reason && !w->reason)
    w->reason = mrpc_mem_copy(mem, reason, strlen(reason));
  part(w, MRPC_WS_NORMAL);
}

/* Its Close has a code, and a reason that isn't ended by a NUL. An end in good
 * order and without a reason needs no words. */
static void explain(const mrpc_framing *f, char *text, size_t size) {
  const mrpc_websocket *w = (const mrpc_websocket *)f;
  char number[24] = "";
  const char *said = w->heard ? w->control + 2 : "";
  if (!w->heard || (!*said && w->heard <= MRPC_WS_GOING_AWAY)) return;
  if (w->heard != MRPC_WS_NORMAL)
    snprintf(number, sizeof number, " (code %d)", w->heard);
  snprintf(text, size, "the %s has closed the connection%s%s%s",
           w->mask ? "server" : "client", *said ? ": " : "", said, number);
  for (char *at = text; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
}

/* Time. */

static uint64_t deadline(const mrpc_framing *f) {
  const mrpc_websocket *w = (const mrpc_websocket *)f;
  if (f->closing) return UINT64_MAX;
  return w->deadline < w->alive_at ? w->deadline : w->alive_at;
}

static uint64_t later(uint64_t now, double seconds) {
  if (!(seconds >= 0) || seconds >= 9e9) return UINT64_MAX;
  return now + (uint64_t)(seconds * 1e9);
}

/* Where the peer doesn't read, an answer may wait unseen. */
static void look_alive(mrpc_websocket *w, uint64_t now) {
  bool is_alive = w->is_active || w->base.is_unread;
  w->is_active = false;
  if (is_alive || !w->is_asked) {
    w->is_asked = !is_alive;
    w->alive_at = later(now, is_alive ? w->ping : w->pong);
    if (is_alive || !mrpc_websocket_send(w, WSLAY_PING, "", 0)) return;
  }
  w->base.error = "it didn't answer a ping";
  w->failed = MRPC_ECLOSED;
  w->base.closing = w->base.is_dead = true;
}

static void tick(mrpc_framing *f, uint64_t now) {
  mrpc_websocket *w = (mrpc_websocket *)f;
  if (f->closing) return;
  if (now >= w->alive_at) look_alive(w, now);
  if (f->closing || now < w->deadline) return;
  mrpc_websocket_fail(w, MRPC_WS_POLICY, "a message took too long to arrive");
  f->is_dead = true;
}

/* Birth and death. */

static const mrpc_header_field *headers(const mrpc_framing *f) {
  return ((const mrpc_websocket *)f)->fields.block;
}

void mrpc_websocket_free(mrpc_framing *f) {
  if (!f) return;
  mrpc_websocket *w = (mrpc_websocket *)f;
  const mrpc_mem *mem = &f->env->mem;
  wslay_frame_context_free(w->frames);
  if (w->reason) mrpc_mem_free(mem, w->reason, strlen(w->reason) + 1);
  mrpc_mem_free(mem, w->mask, sizeof *w->mask);
  mrpc_http_fields_clear(&w->fields, mem);
  mrpc_buf_clear(&w->part);
  mrpc_buf_clear(&f->out);
  mrpc_mem_free(mem, w, sizeof *w);
}

const mrpc_framing_vt mrpc_websocket_vt = {
    .name = "websocket",
    .transport = "ws",
    .recv = mrpc_websocket_recv,
    .eof = eof,
    .put = mrpc_websocket_put,
    .none = mrpc_websocket_none,
    .push = mrpc_websocket_push,
    .can_push = can_push,
    .deadline = deadline,
    .tick = tick,
    .drain = drain,
    .close = close_with,
    .headers = headers,
    .explain = explain,
    .free = mrpc_websocket_free,
};

static void configure(mrpc_websocket *w, const mrpc_limits *limits,
                      const mrpc_websocket_config *config) {
  mrpc_limits all = limits ? *limits : (mrpc_limits){0};
  mrpc_websocket_config own = config ? *config : (mrpc_websocket_config){0};
  mrpc_limits_init(&all);
  w->message_max = all.message;
  w->body_time = all.body_time;
  w->ping = own.ping != 0 ? own.ping : 30;
  w->pong = own.pong != 0 ? own.pong : 10;
  w->takes_binary = own.binary;
  w->deadline = UINT64_MAX;
  w->alive_at = mrpc_env_after(w->base.env, w->ping);
}

int mrpc_websocket_new(mrpc_env *env, const mrpc_limits *limits,
                       const mrpc_websocket_config *config,
                       mrpc_websocket **out) {
  mrpc_websocket *w = mrpc_mem_new(&env->mem, sizeof *w);
  if (!w) return MRPC_ENOMEM;
  w->base.vt = &mrpc_websocket_vt;
  w->base.env = env;
  mrpc_buf_init(&w->base.out, &env->mem, SIZE_MAX);
  configure(w, limits, config);
  mrpc_buf_init(&w->part, &env->mem, w->message_max);
  *out = w;
  return MRPC_OK;
}
