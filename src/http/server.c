/* SPDX-License-Identifier: MIT
 *
 * Bytes to requests. llhttp follows the protocol; it pauses
 * where a header block ends, so that the request can be judged before its body
 * is read, and where a body ends, so that each call of recv gives one message.
 *
 *   IDLE -> HEAD -> (scan, check) -> BODY -> message, or our own answer -> IDLE
 *
 * What lies whole in the bytes received is neither copied nor, mostly, even
 * parsed: a client that keeps its connection repeats its header block, and one
 * that differs from the last good one in its Content-Length only needs no
 * second look.
 *
 * An upgrade to WebSocket hands the connection over: see upgrade. */
#include "http/server.h"

#include <stdio.h>

#include "http/handshake.h"
#include "http/websocket.h"

enum { KEEP = 1024 }; /* bytes of a buffer that an idle connection keeps */

static int step(mrpc_http_server *s, const char **at, const char *end,
                mrpc_message *msg);
static int open_request(mrpc_http_server *s, bool has_more);
static int end_request(mrpc_http_server *s, mrpc_message *msg);

static int on_headers_complete(llhttp_t *parser) {
  parser->upgrade = 0;
  return HPE_PAUSED;
}

/* A field behind the last chunk: the trailer has begun. */
static int on_header_field(llhttp_t *parser, const char *at, size_t len) {
  mrpc_http_server *s = parser->data;
  (void)len;
  if (parser->flags & F_TRAILING && !s->trailer) s->trailer = at;
  return 0;
}

static int on_message_complete(llhttp_t *parser) {
  (void)parser;
  return HPE_PAUSED;
}

static int on_body(llhttp_t *parser, const char *at, size_t len) {
  mrpc_http_server *s = parser->data;
  s->body_len += len;
  s->is_too_long = s->body_len > s->rules.message_max;
  if (s->is_too_long) return -1;
  if (s->verdict.fate != MRPC_HTTP_CALL) return 0;
  s->is_nomem = mrpc_piece_add(&s->body, at, len) != MRPC_OK;
  return s->is_nomem ? -1 : 0;
}

const llhttp_settings_t mrpc_http_settings = {
    .on_headers_complete = on_headers_complete,
    .on_header_field = on_header_field,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* Reads a number of one to eight digits; answers how many. */
static size_t read_digits(const char *at, const char *end, size_t *value) {
  size_t count = 0;
  *value = 0;
  while (at < end && *at >= '0' && *at <= '9' && count < 9) {
    *value = *value * 10 + (size_t)(*at++ - '0');
    count++;
  }
  return count < 9 ? count : 0;
}

/* Is this the request that we know, but for the length of its body, and is
 * all of it here? Answers the length of its head, 0 if it isn't so. */
static size_t match_last(const mrpc_http_server *s, const char *bytes,
                         size_t len, size_t *body_len) {
  const char *last = s->last.data, *at = bytes + s->digits_at;
  if (len < s->last.len || memcmp(bytes, last, s->digits_at) != 0) return 0;
  size_t digits = read_digits(at, bytes + len, body_len);
  size_t rest = s->last.len - s->digits_at - s->digits_len;
  size_t head = s->digits_at + digits + rest;
  bool is_whole =
      digits && *body_len <= s->rules.message_max && len >= head + *body_len;
  return is_whole && !memcmp(at + digits, last + s->last.len - rest, rest)
             ? head
             : 0;
}

static void reset_request(mrpc_http_server *s) {
  mrpc_piece_reset(&s->head, KEEP);
  mrpc_piece_reset(&s->body, KEEP);
  if (s->fields.block) mrpc_http_fields_clear(&s->fields, &s->base.env->mem);
}

/* The short way: MRPC_PARTIAL when the request must be read in full. */
static int take_repeated(mrpc_http_server *s, const char **at, const char *end,
                         mrpc_message *msg) {
  if (s->phase != MRPC_HTTP_IDLE || !s->last.len || s->is_stopped ||
      s->rules.is_draining || s->order.count >= s->most_slots)
    return MRPC_PARTIAL;
  size_t head = match_last(s, *at, (size_t)(end - *at), &msg->len);
  if (!head) return MRPC_PARTIAL;
  mrpc_http_slot *slot = mrpc_http_order_add(&s->order, &msg->token);
  if (!slot) return mrpc_http_die(s);
  slot->origin = s->last_origin;
  mrpc_piece_add(&s->head, *at, head);
  msg->bytes = *at + head;
  *at += head + msg->len;
  return MRPC_OK;
}

/* Nothing more of the request has come: what is needed of it is copied, and
 * its time begins to run. */
static int suspend(mrpc_http_server *s) {
  if (s->is_stopped || s->phase == MRPC_HTTP_IDLE) return MRPC_PARTIAL;
  if (mrpc_piece_keep(&s->head) || mrpc_piece_keep(&s->body))
    return mrpc_http_die(s);
  if (s->deadline == UINT64_MAX)
    s->deadline =
        mrpc_env_after(s->base.env, s->phase == MRPC_HTTP_HEAD ? s->header_time
                                                               : s->body_time);
  return MRPC_PARTIAL;
}

int mrpc_http_recv(mrpc_framing *f, const char *bytes, size_t len,
                   size_t *consumed, mrpc_message *msg) {
  mrpc_http_server *s = (mrpc_http_server *)f;
  const char *at = bytes, *end = bytes + len;
  if (s->phase == MRPC_HTTP_IDLE) reset_request(s);
  int rc = take_repeated(s, &at, end, msg);
  while (rc == MRPC_PARTIAL && !s->is_stopped && (at < end || s->is_resumed))
    rc = step(s, &at, end, msg);
  if (rc == MRPC_PARTIAL) rc = suspend(s);
  bool is_all = rc == MRPC_PARTIAL && !f->next;
  *consumed = is_all ? len : (size_t)(at - bytes);
  return rc;
}

static int step_idle(mrpc_http_server *s, const char **at, const char *end) {
  while (*at < end && (**at == '\r' || **at == '\n')) ++*at;
  if (*at == end) return MRPC_PARTIAL;
  reset_request(s);
  s->is_active = true;
  s->phase = MRPC_HTTP_HEAD;
  return MRPC_PARTIAL;
}

/* What the parser wouldn't read. */
static int break_off(mrpc_http_server *s) {
  const char *why = llhttp_get_error_reason(&s->parser);
  if (s->is_nomem) return mrpc_http_die(s);
  if (!s->is_too_long) return mrpc_http_refuse(s, 400, why ? why : "malformed");
  mrpc_http_verdict *verdict = &s->verdict;
  if (verdict->fate == MRPC_HTTP_CALL) {
    verdict->status = 413;
    verdict->what = "the body is over the limit";
    verdict->limit = s->rules.message_max;
  }
  return mrpc_http_break_off(s);
}

static int step_head(mrpc_http_server *s, const char *from, const char *to,
                     bool has_more, llhttp_errno_t err) {
  if (mrpc_piece_add(&s->head, from, (size_t)(to - from)))
    return mrpc_http_die(s);
  if (s->head.len > s->header_max) {
    s->verdict = (mrpc_http_verdict){.status = 431,
                                     .what = "the header is over the limit",
                                     .limit = (uint32_t)s->header_max};
    return mrpc_http_break_off(s);
  }
  if (err == HPE_OK) return MRPC_PARTIAL;
  return err == HPE_PAUSED ? open_request(s, has_more) : break_off(s);
}

/* Does a line begin with white space, and so go on with the one before (RFC
 * 9112 section 5.2)? `last` stands before the text. */
static bool is_folded(char last, const char *from, const char *to) {
  for (; from < to; last = *from++)
    if (last == '\n' && (*from == ' ' || *from == '\t')) return true;
  return false;
}

/* llhttp takes a bare LF for the end of a chunked body, and folded lines in the
 * trailer that may stand before it. That isn't used, but bounded, and so are
 * chunks so small that their sizes outweigh them. */
static const char *check_chunks(mrpc_http_server *s, const char *from,
                                const char *to, bool is_end) {
  size_t len = (size_t)(to - from);
  s->wire_len += len;
  if (s->trailer && is_folded(s->before_last[1], s->trailer, to))
    return "a folded line in the trailer";
  if (len == 1) s->before_last[0] = s->before_last[1];
  if (len > 1) s->before_last[0] = to[-2];
  if (len) s->before_last[1] = to[-1];
  if (s->wire_len > s->header_max + 16 * s->body_len)
    return "chunk sizes or trailer outweigh the body";
  if (is_end && memcmp(s->before_last, "\r\n", 2) != 0)
    return "the body doesn't end with CRLF";
  return NULL;
}

static int step_body(mrpc_http_server *s, const char *from, const char *to,
                     llhttp_errno_t err, mrpc_message *msg) {
  const char *wrong = NULL;
  if (err != HPE_OK && err != HPE_PAUSED) return break_off(s);
  if (s->parser.flags & F_CHUNKED)
    wrong = check_chunks(s, from, to, err == HPE_PAUSED);
  if (wrong) return mrpc_http_refuse(s, 400, wrong);
  return err == HPE_PAUSED ? end_request(s, msg) : MRPC_PARTIAL;
}

/* Goes on to the end of a head, of a request, or of the bytes. */
static int step(mrpc_http_server *s, const char **at, const char *end,
                mrpc_message *msg) {
  if (s->phase == MRPC_HTTP_IDLE) return step_idle(s, at, end);
  const char *from = *at;
  s->is_resumed = false;
  s->trailer = s->parser.flags & F_TRAILING ? from : NULL;
  llhttp_errno_t err = llhttp_execute(&s->parser, from, (size_t)(end - from));
  *at = err == HPE_OK ? end : llhttp_get_error_pos(&s->parser);
  if (err == HPE_PAUSED) llhttp_resume(&s->parser);
  return s->phase == MRPC_HTTP_HEAD ? step_head(s, from, *at, *at < end, err)
                                    : step_body(s, from, *at, err, msg);
}

/* Remembers a header block that leads straight to a call. */
static void remember(mrpc_http_server *s, const mrpc_http_head *head) {
  bool is_plain =
      s->verdict.fate == MRPC_HTTP_CALL && head->minor > 0 &&
      (s->parser.flags & ~F_CONNECTION_KEEP_ALIVE) == F_CONTENT_LENGTH &&
      !head->expect.at && s->head.len <= MRPC_HTTP_LAST_MAX;
  if (!is_plain || !head->content_length.at) return;
  mrpc_buf_truncate(&s->last, 0);
  const char *bytes = mrpc_piece_bytes(&s->head);
  mrpc_buf_add(&s->last, bytes, s->head.len);
  if (s->last.err) mrpc_buf_truncate(&s->last, 0);
  s->digits_at = (size_t)(head->content_length.at - bytes);
  s->digits_len = head->content_length.len;
  s->last_origin = s->verdict.origin;
}

static void tell_protocol(const mrpc_http_server *s, const mrpc_ws_offer *o) {
  char wished[64];
  if (o->protocol || !o->wished.len) return;
  snprintf(wished, sizeof wished, "%.*s", (int)o->wished.len, o->wished.at);
  mrpc_log(s->base.env, MRPC_LOG_DEBUG, "no subprotocol in common", "peer",
           s->base.peer ? s->base.peer : "", "wished", wished, "key",
           "websocket.protocols", NULL);
}

/* The conversation goes on as WebSocket, behind the answer that says so. Its
 * place among earlier answers couldn't be kept. */
static int upgrade(mrpc_http_server *s, mrpc_text block) {
  mrpc_websocket *w;
  mrpc_ws_offer offer;
  mrpc_env *env = s->base.env;
  mrpc_limits limits = {.message = s->rules.message_max,
                        .body_time = s->body_time};
  if (s->order.count)
    return mrpc_http_refuse(s, 400, "an upgrade must wait for earlier answers");
  if (mrpc_websocket_new(env, &limits, &s->config.websocket, &w))
    return mrpc_http_die(s);
  s->base.next = &w->base;
  mrpc_http_fields_get(&w->fields, &env->mem, block);
  mrpc_ws_read_offer(block, s->config.websocket.protocols, &offer);
  mrpc_ws_write_accept(&s->base.out, &offer);
  tell_protocol(s, &offer);
  if (!w->fields.block || s->base.out.err) return mrpc_http_die(s);
  s->is_stopped = true;
  return MRPC_PARTIAL;
}

/* The header block is complete. `has_more`: bytes stand behind it. */
static int open_request(mrpc_http_server *s, bool has_more) {
  mrpc_http_head head;
  mrpc_text block = {mrpc_piece_bytes(&s->head), s->head.len};
  const char *wrong = mrpc_http_scan(block, &head);
  if (wrong) return mrpc_http_refuse(s, 400, wrong);
  s->length = s->parser.flags & F_CONTENT_LENGTH ? s->parser.content_length : 0;
  mrpc_http_check(&s->rules, &head, s->length, &s->verdict);
  if (s->verdict.fate == MRPC_HTTP_UPGRADE) return upgrade(s, block);
  mrpc_http_slot *slot = mrpc_http_order_add(&s->order, &s->token);
  if (!slot) return mrpc_http_die(s);
  slot->origin = s->verdict.origin;
  slot->is_old = head.minor == 0;
  slot->is_head = s->parser.method == HTTP_HEAD;
  slot->closes = s->rules.is_draining || !llhttp_should_keep_alive(&s->parser);
  s->phase = MRPC_HTTP_BODY;
  s->deadline = UINT64_MAX;
  s->is_resumed = true;
  s->body_len = s->wire_len = 0;
  if (s->order.count > s->most_slots)
    return mrpc_http_refuse(s, 503, "too many requests are waiting");
  if (s->verdict.fate == MRPC_HTTP_BREAK_OFF) return mrpc_http_break_off(s);
  remember(s, &head);
  s->owes_continue = head.expect.at && head.minor > 0 && !has_more;
  mrpc_http_continue(s);
  return MRPC_PARTIAL;
}

/* The body is complete. */
static int end_request(mrpc_http_server *s, mrpc_message *msg) {
  mrpc_http_slot *slot = mrpc_http_order_get(&s->order, s->token);
  s->phase = MRPC_HTTP_IDLE;
  s->deadline = UINT64_MAX;
  s->owes_continue = false;
  if (slot->closes) s->is_stopped = true;
  if (s->verdict.fate != MRPC_HTTP_CALL)
    return mrpc_http_put_verdict(s, s->token) ? MRPC_ENOMEM : MRPC_PARTIAL;
  msg->bytes = mrpc_piece_bytes(&s->body);
  msg->len = s->body.len;
  msg->token = s->token;
  return MRPC_OK;
}

int mrpc_http_eof(mrpc_framing *f, mrpc_message *msg) {
  mrpc_http_server *s = (mrpc_http_server *)f;
  (void)msg;
  if (s->is_stopped) return MRPC_PARTIAL;
  if (s->phase != MRPC_HTTP_IDLE)
    return mrpc_http_refuse(s, 400, "the request ended early");
  s->is_stopped = true;
  if (s->order.count == 0) f->closing = true;
  return MRPC_PARTIAL;
}
