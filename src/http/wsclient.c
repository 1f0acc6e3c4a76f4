/* SPDX-License-Identifier: MIT
 *
 * WebSocket, client side: the handshake is a framing of its own, which gives
 * way to that of the frames (RFC 6455 section 4.1). What is pushed before goes
 * into the output of the other one and follows when the server has agreed: a
 * server that doesn't speak WebSocket mustn't be sent what it may take for a
 * request. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "http/client.h"
#include "http/refusal.h"
#include "http/scan.h"
#include "http/sha1.h"
#include "http/websocket.h"

typedef struct opening {
  mrpc_framing base;
  mrpc_websocket *frames; /* what comes behind it; NULL: handed over */
  const char *const *protocols;
  mrpc_buf head;     /* of the answer, so far */
  int failed;        /* sticky result, or MRPC_OK */
  uint64_t deadline; /* for it */
  char key[MRPC_WS_KEY_LEN + 1];
  mrpc_refusal refusal;
} opening;

/* What the answer's fields say. */
typedef struct answer {
  bool upgrades;
  bool is_websocket;
  bool is_accepted;
  bool is_extended; /* by what nobody offered */
  mrpc_text protocol;
} answer;

static int fail(opening *o, int code, const char *why) {
  o->failed = code;
  o->base.error = why;
  o->base.closing = true;
  o->deadline = UINT64_MAX;
  return code;
}

/* Takes bytes up to the end of the header block; answers how many. */
static size_t take_head(opening *o, const char *bytes, size_t len,
                        bool *is_whole) {
  mrpc_buf *head = &o->head;
  *is_whole = false;
  for (size_t i = 0; i < len && !head->err && !*is_whole; i++) {
    mrpc_buf_addc(head, bytes[i]);
    *is_whole = bytes[i] == '\n' && head->len >= 4 &&
                !memcmp(head->data + head->len - 4, "\r\n\r\n", 4);
    if (*is_whole) return i + 1;
  }
  return len;
}

static void read_field(const opening *o, mrpc_text line, answer *out) {
  char accept[MRPC_WS_ACCEPT_SIZE];
  mrpc_text name = mrpc_text_until(line, ':');
  if (name.len == line.len) return;
  mrpc_text value = mrpc_text_trim(mrpc_text_skip(line, name.len + 1));
  if (MRPC_TEXT_IS(name, "Upgrade")) {
    out->is_websocket |= mrpc_http_list_has(value, "websocket");
  } else if (MRPC_TEXT_IS(name, "Connection")) {
    out->upgrades |= mrpc_http_list_has(value, "upgrade");
  } else if (MRPC_TEXT_IS(name, "Sec-WebSocket-Accept")) {
    mrpc_ws_accept(o->key, accept);
    out->is_accepted =
        value.len == sizeof accept - 1 && !memcmp(value.at, accept, value.len);
  } else if (MRPC_TEXT_IS(name, "Sec-WebSocket-Extensions")) {
    out->is_extended = true;
  } else if (MRPC_TEXT_IS(name, "Sec-WebSocket-Protocol")) {
    out->protocol = value;
  }
}

static bool was_offered(const opening *o, mrpc_text protocol) {
  for (const char *const *one = o->protocols; one && *one; one++)
    if (protocol.len == strlen(*one) &&
        !memcmp(protocol.at, *one, protocol.len))
      return true;
  return false;
}

static const char *check(const opening *o, mrpc_text block) {
  answer got = {0};
  mrpc_text line;
  while (mrpc_http_next_line(&block, &line)) read_field(o, line, &got);
  if (!got.is_websocket || !got.upgrades || !got.is_accepted)
    return "the server's handshake isn't WebSocket's";
  if (got.is_extended) return "the server uses an extension nobody offered";
  if (got.protocol.at && !was_offered(o, got.protocol))
    return "the server chose a subprotocol nobody offered";
  return NULL;
}

/* HTTP/1.1 SP three digits; 0 for anything else. */
static int read_status(mrpc_text line) {
  int status = 0;
  if (line.len < 12 || memcmp(line.at, "HTTP/1.1 ", 9) != 0) return 0;
  for (int i = 9; i < 12; i++) {
    if (line.at[i] < '0' || line.at[i] > '9') return 0;
    status = status * 10 + line.at[i] - '0';
  }
  return status;
}

/* Hands over: what was pushed so far stands behind the request. */
static int agree(opening *o) {
  mrpc_websocket *w = o->frames;
  mrpc_text block = {o->head.data, o->head.len};
  mrpc_buf_add(&o->base.out, w->base.out.data, w->base.out.len);
  mrpc_http_fields_get(&w->fields, &o->base.env->mem, block);
  if (o->base.out.err || !w->fields.block)
    return fail(o, MRPC_ENOMEM, "out of memory");
  mrpc_buf_clear(&w->base.out);
  w->base.is_told = o->base.is_told;
  o->base.held = 0;
  o->base.next = &w->base;
  o->frames = NULL;
  return MRPC_PARTIAL;
}

static int recv(mrpc_framing *f, const char *bytes, size_t len,
                size_t *consumed, mrpc_message *msg) {
  opening *o = (opening *)f;
  mrpc_text line = {"", 0};
  bool is_whole;
  (void)msg;
  *consumed = len;
  if (o->failed || len == 0) return o->failed ? o->failed : MRPC_PARTIAL;
  *consumed = take_head(o, bytes, len, &is_whole);
  if (o->head.err == MRPC_ENOMEM) return fail(o, MRPC_ENOMEM, "out of memory");
  if (o->head.err)
    return fail(o, MRPC_EPROTO, "the answer's header is over limits.header");
  if (!is_whole) return MRPC_PARTIAL;
  mrpc_text block = {o->head.data, o->head.len};
  mrpc_http_next_line(&block, &line);
  int status = read_status(line);
  if (!status) return fail(o, MRPC_EPROTO, "the answer isn't HTTP/1.1");
  if (status != 101) {
    mrpc_refusal_keep(&o->refusal, status, bytes + *consumed, len - *consumed);
    return fail(o, MRPC_EPROTO, "the server refused the upgrade");
  }
  const char *wrong = check(o, block);
  return wrong ? fail(o, MRPC_EPROTO, wrong) : agree(o);
}

static int eof(mrpc_framing *f, mrpc_message *msg) {
  opening *o = (opening *)f;
  (void)msg;
  if (o->failed) return o->failed;
  return fail(o, MRPC_EPROTO, "the connection ended in the handshake");
}

static int push(mrpc_framing *f, const char *bytes, size_t len) {
  opening *o = (opening *)f;
  if (f->closing) return MRPC_ESTATE;
  int rc = mrpc_websocket_push(&o->frames->base, bytes, len);
  f->held = o->frames->base.out.len;
  return rc;
}

static bool can_push(const mrpc_framing *f) {
  return !f->closing;
}

static uint64_t deadline(const mrpc_framing *f) {
  return ((const opening *)f)->deadline;
}

static void tick(mrpc_framing *f, uint64_t now) {
  opening *o = (opening *)f;
  if (now >= o->deadline) fail(o, MRPC_EPROTO, "the handshake took too long");
}

static void drain(mrpc_framing *f) {
  f->closing = true;
}

/* Before the empty line. */
static int add_headers(mrpc_framing *f, const char *lines, size_t len) {
  mrpc_buf_truncate(&f->out, f->out.len - 2);
  mrpc_buf_add(&f->out, lines, len);
  mrpc_buf_lit(&f->out, "\r\n");
  return f->out.err ? MRPC_ENOMEM : MRPC_OK;
}

static void explain(const mrpc_framing *f, char *text, size_t size) {
  mrpc_refusal_explain(&((const opening *)f)->refusal, f->error, text, size);
}

static void free_opening(mrpc_framing *f) {
  if (!f) return;
  opening *o = (opening *)f;
  if (o->frames) mrpc_websocket_vt.free(&o->frames->base);
  if (f->next) f->next->vt->free(f->next);
  mrpc_buf_clear(&o->head);
  mrpc_buf_clear(&f->out);
  mrpc_mem_free(&f->env->mem, o, sizeof *o);
}

static const mrpc_framing_vt table = {
    .name = "websocket-client",
    .transport = "ws",
    .recv = recv,
    .eof = eof,
    .put = mrpc_client_put,
    .none = mrpc_client_none,
    .push = push,
    .can_push = can_push,
    .deadline = deadline,
    .tick = tick,
    .drain = drain,
    .add_headers = add_headers,
    .explain = explain,
    .free = free_opening,
};

static int write_request(opening *o, const char *host, const char *path) {
  mrpc_buf *out = &o->base.out;
  uint8_t nonce[MRPC_WS_NONCE];
  int rc = mrpc_random(nonce, sizeof nonce);
  if (rc) return rc;
  mrpc_base64(nonce, sizeof nonce, o->key);
  mrpc_buf_lit(out, "GET ");
  mrpc_buf_adds(out, path);
  mrpc_buf_lit(out, " HTTP/1.1\r\nHost: ");
  mrpc_buf_adds(out, host);
  mrpc_buf_lit(out, "\r\nUser-Agent: moonrpc/" MRPC_VERSION
                    "\r\nUpgrade: websocket\r\nConnection: Upgrade"
                    "\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ");
  mrpc_buf_adds(out, o->key);
  const char *between = "\r\nSec-WebSocket-Protocol: ";
  for (const char *const *one = o->protocols; one && *one; one++) {
    mrpc_buf_adds(out, between);
    mrpc_buf_adds(out, *one);
    between = ", ";
  }
  mrpc_buf_lit(out, "\r\n\r\n");
  return out->err ? MRPC_ENOMEM : MRPC_OK;
}

static int make_frames(opening *o, const mrpc_limits *limits) {
  mrpc_env *env = o->base.env;
  int rc = mrpc_websocket_new(env, limits, NULL, &o->frames);
  if (rc) return rc;
  mrpc_ws_mask *mask = mrpc_mem_new(&env->mem, sizeof *mask);
  if (!mask) return MRPC_ENOMEM;
  o->frames->mask = mask;
  return mrpc_random(mask->secret, sizeof mask->secret);
}

int mrpc_framing_ws_client(mrpc_env *env, const mrpc_limits *given,
                           const char *host, const char *path,
                           const char *const *subprotocols,
                           mrpc_framing **out) {
  mrpc_limits limits = given ? *given : (mrpc_limits){0};
  if (!mrpc_client_is_target(host, path)) return MRPC_EINVAL;
  opening *o = mrpc_mem_new(&env->mem, sizeof *o);
  if (!o) return MRPC_ENOMEM;
  mrpc_limits_init(&limits);
  o->base.vt = &table;
  o->base.env = env;
  o->base.is_opening = true;
  o->protocols = subprotocols;
  o->deadline = mrpc_env_after(env, limits.header_time);
  mrpc_buf_init(&o->base.out, &env->mem, SIZE_MAX);
  mrpc_buf_init(&o->head, &env->mem, limits.header);
  int rc = make_frames(o, &limits);
  if (!rc) rc = write_request(o, host, path);
  if (rc)
    free_opening(&o->base);
  else
    *out = &o->base;
  return rc;
}
