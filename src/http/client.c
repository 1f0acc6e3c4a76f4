/* SPDX-License-Identifier: MIT
 *
 * HTTP/1.1 as a framing, client side: each message that is pushed is one POST,
 * each answer with a body is a message. Answers come in the order of the
 * requests; which call they belong to their JSON says. An answer that is no
 * JSON text (a proxy's page, another kind of server) ends the conversation,
 * since the call that it belongs to can't be told. */
#include "http/client.h"

#include <llhttp.h>

#include "http/piece.h"
#include "http/refusal.h"
#include "http/scan.h"

enum { KEEP = 1024 }; /* bytes of a buffer that an idle connection keeps */

typedef enum phase { IDLE, HEAD, BODY } phase;

typedef struct client {
  mrpc_framing base;
  llhttp_t parser;
  char *request; /* the request up to the number of its Content-Length */
  size_t request_len;
  size_t message_max; /* limits.message */
  size_t header_max;  /* limits.header */
  double header_time; /* seconds */
  double body_time;   /* seconds */
  phase phase;
  bool is_resumed;   /* the parser has a step to do without more bytes */
  bool is_too_long;  /* the body passed limits.message */
  bool is_nomem;     /* a callback of the parser found no memory */
  bool is_json;      /* the answer's Content-Type says so */
  bool is_last;      /* the connection ends behind this answer */
  bool is_draining;  /* it ends behind the answers that are owed */
  int failed;        /* sticky result, or MRPC_OK */
  int status;        /* of the last answer */
  uint64_t deadline; /* for what is incomplete; UINT64_MAX: nothing is */
  mrpc_piece head;
  mrpc_piece body;
  mrpc_refusal refusal;
} client;

static int step(client *c, const char **at, const char *end, mrpc_message *msg);
static int end_answer(client *c, mrpc_message *msg);

static int on_pause(llhttp_t *parser) {
  (void)parser;
  return HPE_PAUSED;
}

static int on_body(llhttp_t *parser, const char *at, size_t len) {
  client *c = parser->data;
  c->is_too_long = c->body.len + len > c->message_max;
  if (c->is_too_long) return -1;
  c->is_nomem = mrpc_piece_add(&c->body, at, len) != MRPC_OK;
  return c->is_nomem ? -1 : 0;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_pause,
    .on_body = on_body,
    .on_message_complete = on_pause,
};

static int fail(client *c, int code, const char *why) {
  c->failed = code;
  c->base.error = why;
  c->base.closing = true;
  c->deadline = UINT64_MAX;
  return code;
}

static int nomem(client *c) {
  return fail(c, MRPC_ENOMEM, "out of memory");
}

static int suspend(client *c) {
  if (c->phase == IDLE) return MRPC_PARTIAL;
  if (mrpc_piece_keep(&c->head) || mrpc_piece_keep(&c->body)) return nomem(c);
  if (c->deadline == UINT64_MAX)
    c->deadline = mrpc_env_after(
        c->base.env, c->phase == HEAD ? c->header_time : c->body_time);
  return MRPC_PARTIAL;
}

static int recv(mrpc_framing *f, const char *bytes, size_t len,
                size_t *consumed, mrpc_message *msg) {
  client *c = (client *)f;
  const char *at = bytes, *end = bytes + len;
  int rc = c->failed ? c->failed : MRPC_PARTIAL;
  if (c->phase == IDLE) mrpc_piece_reset(&c->body, KEEP);
  while (rc == MRPC_PARTIAL && !f->closing && (at < end || c->is_resumed))
    rc = step(c, &at, end, msg);
  if (rc == MRPC_PARTIAL) rc = suspend(c);
  *consumed = rc == MRPC_PARTIAL ? len : (size_t)(at - bytes);
  return rc;
}

static int begin_answer(client *c) {
  if (c->base.owed == 0)
    return fail(c, MRPC_EPROTO, "the server sent what nobody asked for");
  mrpc_piece_reset(&c->head, 0);
  mrpc_piece_reset(&c->body, KEEP);
  c->phase = HEAD;
  return MRPC_PARTIAL;
}

/* What the parser wouldn't read. */
static int break_off(client *c) {
  const char *why = llhttp_get_error_reason(&c->parser);
  if (c->is_nomem) return nomem(c);
  if (c->is_too_long) why = "the answer is over limits.message";
  return fail(c, MRPC_EPROTO, why ? why : "malformed answer");
}

/* The header block is complete. */
static int open_body(client *c) {
  mrpc_text block = {mrpc_piece_bytes(&c->head), c->head.len}, line;
  c->status = c->parser.status_code;
  c->is_json = false;
  c->is_last = !llhttp_should_keep_alive(&c->parser);
  mrpc_http_next_line(&block, &line);
  while (mrpc_http_next_line(&block, &line)) {
    mrpc_text name = mrpc_text_until(line, ':');
    if (!MRPC_TEXT_IS(name, "Content-Type")) continue;
    mrpc_text type = mrpc_text_trim(mrpc_text_skip(line, name.len + 1));
    c->is_json = mrpc_text_starts(type, "application/json");
  }
  c->phase = BODY;
  c->is_resumed = true;
  c->deadline = UINT64_MAX;
  return MRPC_PARTIAL;
}

static int step_head(client *c, const char *from, const char *to,
                     llhttp_errno_t err) {
  if (mrpc_piece_add(&c->head, from, (size_t)(to - from))) return nomem(c);
  if (c->head.len > c->header_max)
    return fail(c, MRPC_EPROTO, "the answer's header is over limits.header");
  if (err == HPE_OK) return MRPC_PARTIAL;
  return err == HPE_PAUSED ? open_body(c) : break_off(c);
}

/* Goes on to the end of a head, of an answer, or of the bytes. */
static int step(client *c, const char **at, const char *end,
                mrpc_message *msg) {
  const char *from = *at;
  int rc = c->phase == IDLE ? begin_answer(c) : MRPC_PARTIAL;
  if (rc != MRPC_PARTIAL) return rc;
  c->is_resumed = false;
  llhttp_errno_t err = llhttp_execute(&c->parser, from, (size_t)(end - from));
  *at = err == HPE_OK ? end : llhttp_get_error_pos(&c->parser);
  if (err == HPE_PAUSED) llhttp_resume(&c->parser);
  if (c->phase == HEAD) return step_head(c, from, *at, err);
  if (err == HPE_OK) return MRPC_PARTIAL;
  return err == HPE_PAUSED ? end_answer(c, msg) : break_off(c);
}

static bool looks_like_json(const client *c) {
  const char *at = mrpc_piece_bytes(&c->body), *end = at + c->body.len;
  while (at < end && memchr(" \t\r\n", *at, 4)) at++;
  return at < end && (*at == '{' || *at == '[');
}

/* The body is complete. */
static int end_answer(client *c, mrpc_message *msg) {
  c->phase = IDLE;
  c->deadline = UINT64_MAX;
  if (c->status == 101)
    return fail(c, MRPC_EPROTO, "the server changed the protocol");
  if (c->status < 200) return MRPC_PARTIAL;
  c->base.owed--;
  if (c->is_last || (c->is_draining && c->base.owed == 0))
    c->base.closing = true;
  bool is_fine = c->status < 300;
  if (c->body.len == 0 && is_fine) return MRPC_PARTIAL;
  bool is_json = c->body.len && (c->is_json || looks_like_json(c));
  if (!is_json && !is_fine) {
    mrpc_refusal_keep(&c->refusal, c->status, mrpc_piece_bytes(&c->body),
                      c->body.len);
    return fail(c, MRPC_EPROTO, "the server refused the request");
  }
  if (!is_json) return fail(c, MRPC_EPROTO, "the answer isn't JSON");
  *msg = (mrpc_message){
      .bytes = mrpc_piece_bytes(&c->body), .len = c->body.len, .token = 0};
  return MRPC_OK;
}

/* A body without a length ends with the connection (RFC 9112 section 6.3). */
static int eof(mrpc_framing *f, mrpc_message *msg) {
  client *c = (client *)f;
  if (c->failed) return c->failed;
  if (c->phase == IDLE) return MRPC_PARTIAL;
  if (c->phase == BODY && llhttp_finish(&c->parser) == HPE_PAUSED)
    return end_answer(c, msg);
  return fail(c, MRPC_EPROTO, "the answer broke off");
}

static int push(mrpc_framing *f, const char *bytes, size_t len) {
  client *c = (client *)f;
  size_t mark = f->out.len;
  if (f->closing) return MRPC_ESTATE;
  mrpc_buf_add(&f->out, c->request, c->request_len);
  mrpc_buf_addu(&f->out, len);
  mrpc_buf_lit(&f->out, "\r\n\r\n");
  mrpc_buf_add(&f->out, bytes, len);
  if (f->out.err) {
    mrpc_buf_truncate(&f->out, mark);
    return MRPC_ENOMEM;
  }
  f->owed++;
  return MRPC_OK;
}

static bool can_push(const mrpc_framing *f) {
  return !f->closing;
}

int mrpc_client_put(mrpc_framing *f, uint64_t token, const char *bytes,
                    size_t len, mrpc_outcome outcome) {
  (void)f;
  (void)token;
  (void)bytes;
  (void)len;
  (void)outcome;
  return MRPC_OK;
}

int mrpc_client_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome) {
  return mrpc_client_put(f, token, "", 0, outcome);
}

static uint64_t deadline(const mrpc_framing *f) {
  return ((const client *)f)->deadline;
}

static void tick(mrpc_framing *f, uint64_t now) {
  client *c = (client *)f;
  if (now < c->deadline) return;
  fail(c, MRPC_EPROTO, "the answer took too long to arrive");
}

static void drain(mrpc_framing *f) {
  client *c = (client *)f;
  c->is_draining = true;
  if (f->owed == 0) f->closing = true;
}

/* Behind the request line. */
static int add_headers(mrpc_framing *f, const char *lines, size_t len) {
  client *c = (client *)f;
  const mrpc_mem *mem = &f->env->mem;
  const char *end = memchr(c->request, '\n', c->request_len);
  size_t at = (size_t)(end - c->request) + 1;
  char *request = mrpc_mem_resize(mem, NULL, 0, c->request_len + len);
  if (!request) return MRPC_ENOMEM;
  memcpy(request, c->request, at);
  memcpy(request + at, lines, len);
  memcpy(request + at + len, c->request + at, c->request_len - at);
  mrpc_mem_free(mem, c->request, c->request_len);
  c->request = request;
  c->request_len += len;
  return MRPC_OK;
}

static void explain(const mrpc_framing *f, char *text, size_t size) {
  mrpc_refusal_explain(&((const client *)f)->refusal, f->error, text, size);
}

static void free_client(mrpc_framing *f) {
  if (!f) return;
  client *c = (client *)f;
  const mrpc_mem *mem = &f->env->mem;
  mrpc_piece_clear(&c->head);
  mrpc_piece_clear(&c->body);
  mrpc_buf_clear(&f->out);
  mrpc_mem_free(mem, c->request, c->request_len);
  mrpc_mem_free(mem, c, sizeof *c);
}

static const mrpc_framing_vt table = {
    .name = "http-client",
    .is_exchange = true,
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
    .free = free_client,
};

static bool is_printable(const char *text) {
  for (; *text; text++)
    if (*text <= ' ' || *text > '~') return false;
  return true;
}

bool mrpc_client_is_target(const char *host, const char *path) {
  return is_printable(host) && is_printable(path) && *path == '/';
}

/* What all requests begin with, in memory of its exact size. */
static int make_request(client *c, const char *host, const char *path) {
  const mrpc_mem *mem = &c->base.env->mem;
  mrpc_buf text;
  mrpc_buf_init(&text, mem, SIZE_MAX);
  mrpc_buf_lit(&text, "POST ");
  mrpc_buf_adds(&text, path);
  mrpc_buf_lit(&text, " HTTP/1.1\r\nHost: ");
  mrpc_buf_adds(&text, host);
  mrpc_buf_lit(&text, "\r\nUser-Agent: moonrpc/" MRPC_VERSION
                      "\r\nAccept: application/json"
                      "\r\nContent-Type: application/json"
                      "\r\nContent-Length: ");
  if (!text.err) c->request = mrpc_mem_resize(mem, NULL, 0, text.len);
  if (c->request) {
    memcpy(c->request, text.data, text.len);
    c->request_len = text.len;
  }
  mrpc_buf_clear(&text);
  return c->request ? MRPC_OK : MRPC_ENOMEM;
}

static void set_limits(client *c, const mrpc_limits *given) {
  mrpc_limits limits = given ? *given : (mrpc_limits){0};
  mrpc_limits_init(&limits);
  c->message_max = limits.message;
  c->header_max = limits.header;
  c->header_time = limits.header_time;
  c->body_time = limits.body_time;
  c->deadline = UINT64_MAX;
}

int mrpc_framing_http_client(mrpc_env *env, const mrpc_limits *limits,
                             const char *host, const char *path,
                             mrpc_framing **out) {
  if (!mrpc_client_is_target(host, path)) return MRPC_EINVAL;
  client *c = mrpc_mem_new(&env->mem, sizeof *c);
  if (!c) return MRPC_ENOMEM;
  c->base.vt = &table;
  c->base.env = env;
  mrpc_buf_init(&c->base.out, &env->mem, SIZE_MAX);
  mrpc_piece_init(&c->head, &env->mem);
  mrpc_piece_init(&c->body, &env->mem);
  set_limits(c, limits);
  llhttp_init(&c->parser, HTTP_RESPONSE, &settings);
  c->parser.data = c;
  int rc = make_request(c, host, path);
  if (rc)
    free_client(&c->base);
  else
    *out = &c->base;
  return rc;
}
