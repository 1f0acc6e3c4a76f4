/* SPDX-License-Identifier: MIT
 *
 * One message a line. memchr finds the newlines; a line that lies whole in
 * the bytes received is handed out where it stands, and only one that spans
 * reads is gathered in `part`. White space before a message is dropped, and
 * with it the empty lines and blank ones.
 *
 * A line over the limit is reported as soon as that is sure and skipped up to
 * its newline, wherever reads cut it.
 *
 * On sockets two rules keep browsers out, which post what they like to any
 * port but can't choose their first line: it must begin as JSON does, and no
 * line may look like the start of an HTTP request. From a program that we have
 * started, which may not know what its libraries print, other lines are told
 * as what they are: answers to them would be noise for it in turn. */
#include "framing/stream.h"

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_json_start(char c) {
  return c == '{' || c == '[';
}

/* No method that a page may use unasked begins so (Fetch: GET, HEAD, POST, and
 * OPTIONS before any other). Those that it may use at home, is_request_line
 * knows. */
static bool is_scalar_start(char c) {
  return c && strchr("\"-0123456789tfn", c);
}

/* Does it begin as an object, or as an array of some? A log's "[info]" doesn't.
 */
static bool is_message_start(const char *at, size_t len) {
  size_t i = 1;
  while (i < len && is_blank(at[i])) i++;
  char next = i < len ? at[i] : '\0';
  return *at == '{' ? next == '"' || next == '}'
                    : *at == '[' && (next == '{' || next == ']');
}

static bool is_noise(const mrpc_stream *s, const char *at, size_t len) {
  return (s->rules & MRPC_LINE_NOISY) && !is_message_start(at, len);
}

/* METHOD SP target SP HTTP/x (RFC 9112 section 3); a version that is longer
 * than ours is no reason to trust the line. */
static bool is_request_line(const char *at, size_t len) {
  if (is_json_start(*at)) return false;
  const char *space = memchr(at, ' ', len);
  if (!space) return false;
  const char *last = memrchr(at, ' ', len);
  return last > space && len - (size_t)(last - at) >= sizeof " HTTP/" &&
         !memcmp(last, " HTTP/", sizeof " HTTP/" - 1);
}

/* Looks at the first byte of a line. */
static int open_line(mrpc_stream *s, char first) {
  bool is_first = !s->started;
  s->started = true;
  if (is_first && (s->rules & MRPC_LINE_FIRST_JSON) && !is_json_start(first) &&
      !is_scalar_start(first))
    return mrpc_stream_fail(s, MRPC_EPROTO, "the first line isn't JSON");
  return MRPC_PARTIAL;
}

/* Is the line that is gathered and continued by `at` over the limit? The
 * carriage return of a line end doesn't count. */
static bool is_long(const mrpc_stream *s, const char *at, size_t len) {
  size_t all = s->part.len + len;
  const char *last = len ? at + len - 1 : s->part.data + all - 1;
  return all - (*last == '\r') > s->message_max;
}

/* An overlong line may hide a request line, so it must begin as JSON too. */
static int refuse_long(mrpc_stream *s, const char *at, mrpc_message *msg) {
  static const char what[] = "(a line over limits.message)";
  bool is_json = is_json_start(*(s->part.len ? s->part.data : at));
  bool is_none = (s->rules & MRPC_LINE_NOISY) && !is_json;
  mrpc_buf_clear(&s->part);
  if ((s->rules & MRPC_LINE_NO_HTTP) && !is_json)
    return mrpc_stream_fail(s, MRPC_EPROTO, "an overlong line isn't JSON");
  *msg = (mrpc_message){.bytes = is_none ? what : "",
                        .len = is_none ? sizeof what - 1 : 0,
                        .token = 0};
  return is_none ? MRPC_ETYPE : MRPC_ELIMIT;
}

static int keep(mrpc_stream *s, const char *at, size_t len) {
  mrpc_buf_add(&s->part, at, len);
  if (s->part.err == MRPC_OK) return MRPC_PARTIAL;
  return mrpc_stream_fail(s, MRPC_ENOMEM, "out of memory");
}

/* The received bytes end inside of a line. */
static int begin_line(mrpc_stream *s, const char *at, size_t len,
                      mrpc_message *msg) {
  mrpc_stream_expect(s, s->body_time);
  if (s->state == MRPC_STREAM_SKIP) return MRPC_PARTIAL;
  if (!is_long(s, at, len)) return keep(s, at, len);
  s->state = MRPC_STREAM_SKIP;
  return refuse_long(s, at, msg);
}

/* A line of at least one byte, without its newline, is complete. */
static int take_line(mrpc_stream *s, const char *at, size_t len,
                     mrpc_message *msg) {
  if (at[len - 1] == '\r') len--;
  if ((s->rules & MRPC_LINE_NO_HTTP) && is_request_line(at, len))
    return mrpc_stream_fail(s, MRPC_EPROTO, "an HTTP request on a line socket");
  *msg = (mrpc_message){.bytes = at, .len = len, .token = 0};
  return is_noise(s, at, len) ? MRPC_ETYPE : MRPC_OK;
}

/* The newline of the line that began in an earlier read, or at `at`. */
static int end_line(mrpc_stream *s, const char *at, size_t len,
                    mrpc_message *msg) {
  s->deadline = UINT64_MAX;
  if (s->state == MRPC_STREAM_SKIP) {
    s->state = MRPC_STREAM_HEAD;
    return MRPC_PARTIAL;
  }
  if (is_long(s, at, len)) return refuse_long(s, at, msg);
  if (s->part.len == 0) return take_line(s, at, len, msg);
  int rc = keep(s, at, len);
  if (rc != MRPC_PARTIAL) return rc;
  s->given = true;
  return take_line(s, s->part.data, s->part.len, msg);
}

/* Reads up to the end of one line, or of the bytes. */
static int step(mrpc_stream *s, const char **at, const char *end,
                mrpc_message *msg) {
  if (s->part.len == 0 && s->state != MRPC_STREAM_SKIP) {
    while (*at < end && is_blank(**at)) ++*at;
    if (*at == end) return MRPC_PARTIAL;
    int rc = open_line(s, **at);
    if (rc != MRPC_PARTIAL) return rc;
  }
  const char *from = *at;
  const char *newline = memchr(from, '\n', (size_t)(end - from));
  *at = newline ? newline + 1 : end;
  return newline ? end_line(s, from, (size_t)(newline - from), msg)
                 : begin_line(s, from, (size_t)(end - from), msg);
}

/* Takes a line that lies whole at the start of the bytes and begins as JSON
 * does: most do, and neither the rules nor what was kept concern them. `step`
 * would do the same in more steps. */
static bool take_whole(mrpc_stream *s, const char *bytes, size_t len,
                       size_t *consumed, mrpc_message *msg) {
  bool is_idle = !s->given && !s->failed && s->part.len == 0 &&
                 s->state != MRPC_STREAM_SKIP;
  if (!is_idle || len == 0 || !is_json_start(*bytes)) return false;
  const char *newline = memchr(bytes, '\n', len);
  if (!newline || (size_t)(newline - bytes) > s->message_max) return false;
  if (is_noise(s, bytes, (size_t)(newline - bytes))) return false;
  s->started = true;
  s->deadline = UINT64_MAX;
  *consumed = (size_t)(newline - bytes) + 1;
  *msg = (mrpc_message){
      .bytes = bytes, .len = *consumed - 1 - (newline[-1] == '\r'), .token = 0};
  return true;
}

static int recv(mrpc_framing *f, const char *bytes, size_t len,
                size_t *consumed, mrpc_message *msg) {
  mrpc_stream *s = (mrpc_stream *)f;
  if (take_whole(s, bytes, len, consumed, msg)) return MRPC_OK;
  mrpc_stream_begin(s);
  const char *at = bytes, *end = bytes + len;
  int rc = s->failed ? s->failed : MRPC_PARTIAL;
  while (rc == MRPC_PARTIAL && at < end) rc = step(s, &at, end, msg);
  *consumed = (size_t)(at - bytes);
  return rc;
}

/* A last line needs no newline. */
static int eof(mrpc_framing *f, mrpc_message *msg) {
  mrpc_stream *s = (mrpc_stream *)f;
  mrpc_stream_begin(s);
  if (s->failed) return s->failed;
  s->deadline = UINT64_MAX;
  if (s->state == MRPC_STREAM_SKIP || s->part.len == 0) return MRPC_PARTIAL;
  s->given = true;
  return take_line(s, s->part.data, s->part.len, msg);
}

static int put(mrpc_framing *f, uint64_t token, const char *bytes, size_t len,
               mrpc_outcome outcome) {
  size_t mark = f->out.len;
  (void)token;
  (void)outcome;
  mrpc_buf_add(&f->out, bytes, len);
  mrpc_buf_addc(&f->out, '\n');
  return mrpc_stream_added(f, mark);
}

/* A newline inside of valid JSON is white space between tokens; it must not
 * end the line. */
static int push(mrpc_framing *f, const char *bytes, size_t len) {
  size_t mark = f->out.len;
  int rc = put(f, 0, bytes, len, MRPC_OUTCOME_ANSWERED);
  if (rc == MRPC_OK) mrpc_buf_replace(&f->out, mark, len, '\n', ' ');
  return rc;
}

const mrpc_framing_vt mrpc_line_vt = {
    .name = "line",
    .end = '\n',
    .recv = recv,
    .eof = eof,
    .put = put,
    .none = mrpc_stream_none,
    .push = push,
    .can_push = mrpc_stream_can_push,
    .deadline = mrpc_stream_deadline,
    .tick = mrpc_stream_tick,
    .free = mrpc_stream_free,
};
