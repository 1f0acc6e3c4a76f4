/* SPDX-License-Identifier: MIT
 *
 * A block of header fields with a Content-Length, an empty line, and that
 * many bytes (Language Server Protocol 3.17, base protocol). The block is
 * read line by line and nothing of it is kept but the length; a body that
 * lies whole in the bytes received is handed out where it stands.
 *
 * Lines end with CRLF; a bare LF is taken too, since hand-written clients
 * send it, and empty lines before a block are dropped. A Content-Length that
 * isn't a plain number, or two that differ, leave no way to find the next
 * message and are fatal; one that is merely over the limit is skipped. A
 * Content-Type whose charset isn't UTF-8 is fatal, too: the protocol wants an
 * error, and what such a body says can't be known. */
#include "framing/stream.h"
#include "framing/text.h"

#define LENGTH_MAX (UINT64_C(1) << 53)

static int fail(mrpc_stream *s, const char *why) {
  return mrpc_stream_fail(s, MRPC_ESYNTAX, why);
}

static int keep(mrpc_stream *s, const char *at, size_t len) {
  mrpc_buf_add(&s->part, at, len);
  if (s->part.err == MRPC_OK) return MRPC_PARTIAL;
  return mrpc_stream_fail(s, MRPC_ENOMEM, "out of memory");
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static int read_length(mrpc_stream *s, mrpc_text value) {
  uint64_t length = 0;
  if (value.len && *value.at == '-')
    return fail(s, "Content-Length is negative");
  if (value.len == 0) return fail(s, "Content-Length is empty");
  for (size_t i = 0; i < value.len; i++) {
    if (!is_digit(value.at[i])) return fail(s, "Content-Length isn't a number");
    length = length * 10 + (uint64_t)(value.at[i] - '0');
    if (length > LENGTH_MAX) return fail(s, "Content-Length is absurd");
  }
  if (s->has_length && s->length != length)
    return fail(s, "two Content-Length fields differ");
  s->has_length = true;
  s->length = length;
  return MRPC_PARTIAL;
}

/* The value of a parameter, without its quotes. */
static mrpc_text read_value(mrpc_text parameter, size_t name) {
  bool has_value = name < parameter.len;
  mrpc_text value = mrpc_text_trim(mrpc_text_skip(parameter, name + has_value));
  bool is_quoted =
      value.len >= 2 && *value.at == '"' && value.at[value.len - 1] == '"';
  return is_quoted ? (mrpc_text){value.at + 1, value.len - 2} : value;
}

static int read_type(mrpc_stream *s, mrpc_text rest) {
  while (rest.len) {
    mrpc_text all = mrpc_text_until(rest, ';'), one = mrpc_text_trim(all);
    mrpc_text name = mrpc_text_until(one, '=');
    rest = mrpc_text_skip(rest, all.len + (all.len < rest.len));
    if (!MRPC_TEXT_IS(mrpc_text_trim(name), "charset")) continue;
    mrpc_text value = read_value(one, name.len);
    if (!MRPC_TEXT_IS(value, "utf-8") && !MRPC_TEXT_IS(value, "utf8"))
      return fail(s, "the charset in Content-Type isn't utf-8");
  }
  return MRPC_PARTIAL;
}

/* Most lines name the length as the protocol writes it. */
static int read_field(mrpc_stream *s, mrpc_text line) {
  static const char usual[] = "Content-Length:";
  enum { LEN = sizeof usual - 1 };
  if (line.len >= LEN && memcmp(line.at, usual, LEN) == 0)
    return read_length(
        s, mrpc_text_trim((mrpc_text){line.at + LEN, line.len - LEN}));
  const char *colon = memchr(line.at, ':', line.len);
  if (!colon) return fail(s, "a header line without a colon");
  mrpc_text name = {line.at, (size_t)(colon - line.at)};
  if (!mrpc_text_is_token(name))
    return fail(s, "a header line has no proper name");
  mrpc_text value = mrpc_text_trim(mrpc_text_skip(line, name.len + 1));
  if (MRPC_TEXT_IS(name, "Content-Length")) return read_length(s, value);
  return MRPC_TEXT_IS(name, "Content-Type") ? read_type(s, value)
                                            : MRPC_PARTIAL;
}

static int end_body(mrpc_stream *s, const char *at, mrpc_message *msg) {
  *msg = (mrpc_message){.bytes = at, .len = (size_t)s->length, .token = 0};
  s->state = MRPC_STREAM_HEAD;
  s->deadline = UINT64_MAX;
  return MRPC_OK;
}

static int end_block(mrpc_stream *s, mrpc_message *msg) {
  if (!s->has_length) return fail(s, "a header block without Content-Length");
  s->has_length = false;
  s->block = 0;
  s->deadline = UINT64_MAX;
  s->left = s->length;
  if (s->length > s->message_max) {
    s->state = MRPC_STREAM_SKIP;
    *msg = (mrpc_message){.bytes = "", .token = 0};
    return MRPC_ELIMIT;
  }
  s->state = MRPC_STREAM_BODY;
  return s->left ? MRPC_PARTIAL : end_body(s, "", msg);
}

static int end_line(mrpc_stream *s, mrpc_text line, mrpc_message *msg) {
  s->block += line.len + 1;
  if (line.len && line.at[line.len - 1] == '\r') line.len--;
  if (line.len) return read_field(s, line);
  bool is_stray = s->block <= 2;
  if (is_stray) s->block = 0;
  return is_stray ? MRPC_PARTIAL : end_block(s, msg);
}

/* Reads up to the end of one header line, or of the bytes. */
static int step_head(mrpc_stream *s, const char **at, const char *end,
                     mrpc_message *msg) {
  mrpc_text rest = {*at, (size_t)(end - *at)};
  const char *newline = memchr(rest.at, '\n', rest.len);
  if (newline) rest.len = (size_t)(newline - rest.at);
  *at = newline ? newline + 1 : end;
  if (s->block + s->part.len + rest.len >= s->header_max)
    return fail(s, "the header block is over limits.header");
  if (newline && s->part.len == 0) return end_line(s, rest, msg);
  int rc = keep(s, rest.at, rest.len);
  if (rc != MRPC_PARTIAL || !newline) return rc;
  rc = end_line(s, (mrpc_text){s->part.data, s->part.len}, msg);
  mrpc_buf_truncate(&s->part, 0);
  return rc;
}

static size_t count_here(const mrpc_stream *s, const char *at,
                         const char *end) {
  size_t here = (size_t)(end - at);
  return s->left < here ? (size_t)s->left : here;
}

static int step_body(mrpc_stream *s, const char **at, const char *end,
                     mrpc_message *msg) {
  const char *from = *at;
  size_t here = count_here(s, from, end);
  *at += here;
  s->left -= here;
  if (here == s->length) return end_body(s, from, msg);
  int rc = keep(s, from, here);
  if (rc != MRPC_PARTIAL || s->left) return rc;
  s->given = true;
  return end_body(s, s->part.data, msg);
}

static int step_skip(mrpc_stream *s, const char **at, const char *end) {
  size_t here = count_here(s, *at, end);
  *at += here;
  s->left -= here;
  if (s->left) return MRPC_PARTIAL;
  s->state = MRPC_STREAM_HEAD;
  s->deadline = UINT64_MAX;
  return MRPC_PARTIAL;
}

static int step(mrpc_stream *s, const char **at, const char *end,
                mrpc_message *msg) {
  switch (s->state) {
    case MRPC_STREAM_BODY: return step_body(s, at, end, msg);
    case MRPC_STREAM_SKIP: return step_skip(s, at, end);
    default: return step_head(s, at, end, msg);
  }
}

static bool is_inside(const mrpc_stream *s) {
  return s->state != MRPC_STREAM_HEAD || s->block || s->part.len;
}

static int recv(mrpc_framing *f, const char *bytes, size_t len,
                size_t *consumed, mrpc_message *msg) {
  mrpc_stream *s = (mrpc_stream *)f;
  mrpc_stream_begin(s);
  const char *at = bytes, *end = bytes + len;
  int rc = s->failed ? s->failed : MRPC_PARTIAL;
  while (rc == MRPC_PARTIAL && at < end) rc = step(s, &at, end, msg);
  if (rc == MRPC_PARTIAL && is_inside(s))
    mrpc_stream_expect(
        s, s->state == MRPC_STREAM_HEAD ? s->header_time : s->body_time);
  *consumed = (size_t)(at - bytes);
  return rc;
}

static int eof(mrpc_framing *f, mrpc_message *msg) {
  mrpc_stream *s = (mrpc_stream *)f;
  (void)msg;
  mrpc_stream_begin(s);
  if (s->failed) return s->failed;
  s->deadline = UINT64_MAX;
  if (s->state == MRPC_STREAM_SKIP || !is_inside(s)) return MRPC_PARTIAL;
  return fail(s, "the input ended inside of a message");
}

static int push(mrpc_framing *f, const char *bytes, size_t len) {
  size_t mark = f->out.len;
  mrpc_buf_lit(&f->out, "Content-Length: ");
  mrpc_buf_addu(&f->out, len);
  mrpc_buf_lit(&f->out, "\r\n\r\n");
  mrpc_buf_add(&f->out, bytes, len);
  return mrpc_stream_added(f, mark);
}

const mrpc_framing_vt mrpc_header_vt = {
    .name = "header",
    .recv = recv,
    .eof = eof,
    .put = mrpc_stream_put,
    .none = mrpc_stream_none,
    .push = push,
    .can_push = mrpc_stream_can_push,
    .deadline = mrpc_stream_deadline,
    .tick = mrpc_stream_tick,
    .free = mrpc_stream_free,
};
