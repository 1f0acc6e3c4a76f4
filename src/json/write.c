/* SPDX-License-Identifier: MIT
 *
 * Strings are copied in blocks, and looked at while they are copied. Room is
 * made for the string as it is and some slack that escapes use up; the length
 * of the buffer changes when all of it stands there. Where the limit of the
 * buffer leaves no room for slack, the exact size is counted first. */
#include "json/write.h"

#include "json/number.h"
#include "json/scan.h"

enum {
  ESCAPE_MAX = 6,
  SPILL = 8, /* what storing whole blocks may write too much */
  SLACK = 64
};

/* Writes the escape of an ASCII byte that is special; answers its length. */
static size_t put_escape(char *out, uint8_t c) {
  static const char hex[] = "0123456789abcdef";
  static const char letters['\\' + 1] = {
      ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n',  ['\r'] = 'r',
      ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\',
  };
  out[0] = '\\';
  out[1] = letters[c];
  if (out[1]) return 2;
  memcpy(out + 1, "u00", 3);
  out[4] = hex[c >> 4];
  out[5] = hex[c & 15];
  return 6;
}

/* The length that the character at p gets, 0 when it isn't valid UTF-8; *used
 * is the length that it has. */
static size_t written_length(const char *p, const char *end, size_t *used) {
  char out[ESCAPE_MAX];
  *used = 1;
  if (*p & 0x80) return *used = mrpc_utf8_length(p, end);
  return mrpc_is_special(*p) ? put_escape(out, (uint8_t)*p) : 1;
}

static int write_exactly(mrpc_buf *buf, const char *text, size_t len) {
  const char *end = text + len;
  size_t size = 2, used;
  for (const char *p = text; p < end; p += used) {
    size_t n = written_length(p, end, &used);
    if (n == 0) return MRPC_ETYPE;
    size += n;
  }
  if (!mrpc_buf_reserve(buf, size)) return buf->err;
  char *to = buf->data + buf->len;
  *to++ = '"';
  for (const char *p = text; p < end; p++) {
    if (*p & 0x80 || !mrpc_is_special(*p))
      *to++ = *p;
    else
      to += put_escape(to, (uint8_t)*p);
  }
  *to = '"';
  buf->len += size;
  return MRPC_OK;
}

/* Room for `more` bytes, if that is within the limit. */
static bool make_room(mrpc_buf *buf, size_t more) {
  if (mrpc_buf_has_room(buf, more)) return true;
  return more <= buf->limit - buf->len && mrpc_buf_grow(buf, more);
}

/* Copies what needs no escape: as much as there is, but a block at most at
 * the end. Answers how much; *to may be written beyond that. */
MRPC_INLINE size_t copy_plain(char *to, const char *p, const char *end) {
  const char *start = p;
  while (end - p >= 16) {
    unsigned n = mrpc_copy16_plain(to, p);
    p += n;
    to += n;
    if (n < 16) return (size_t)(p - start);
  }
  if (end - p >= 8) {
    uint64_t word = mrpc_load8(p);
    mrpc_store8(to, word);
    unsigned n = mrpc_plain8(word);
    p += n;
    to += n;
    if (n < 8) return (size_t)(p - start);
  }
  uint64_t word = mrpc_load_less(p, (size_t)(end - p));
  mrpc_store8(to, word);
  unsigned n = mrpc_plain8(word);
  if (MRPC_LIKELY(n == end - p)) return (size_t)(end - start);
  return (size_t)(p - start) + n;
}

/* Copies the characters at p that aren't ASCII. Answers how many bytes; 0 when
 * the first one is none. */
static size_t copy_utf8(char *to, const char *p, const char *end) {
  const char *start = p;
  for (;;) {
    for (; end - p >= 4 && mrpc_utf8_is3(mrpc_load4(p)); p += 3, to += 3)
      memcpy(to, p, 4);
    size_t n = p < end && *p & 0x80 ? mrpc_utf8_length(p, end) : 0;
    if (n == 0) return (size_t)(p - start);
    for (; n > 0; n--) *to++ = *p++;
  }
}

/* Goes on at p, where a special character stands; what was before it stands
 * in the buffer already, up to `to`. */
static int write_special(mrpc_buf *buf, char *to, const char *text,
                         const char *p, const char *end) {
  while (p < end) {
    if (*p & 0x80) {
      size_t n = copy_utf8(to, p, end);
      if (n == 0) return MRPC_ETYPE;
      p += n;
      to += n;
    } else {
      size_t done = (size_t)(to - buf->data) - buf->len;
      size_t left = (size_t)(end - p), room = buf->cap - buf->len - done;
      if (MRPC_UNLIKELY(room < left + ESCAPE_MAX + SPILL)) {
        if (!make_room(buf, done + left + left / 4 + SLACK))
          return buf->err ? buf->err
                          : write_exactly(buf, text, (size_t)(end - text));
        to = buf->data + buf->len + done;
      }
      to += put_escape(to, (uint8_t)*p++);
    }
    size_t n = copy_plain(to, p, end);
    p += n;
    to += n;
  }
  *to++ = '"';
  buf->len = (size_t)(to - buf->data);
  return MRPC_OK;
}

MRPC_COLD static int grow_and_write(mrpc_buf *buf, const char *text,
                                    size_t len) {
  if (make_room(buf, len + 2 + SLACK))
    return mrpc_json_write_string(buf, text, len);
  return buf->err ? buf->err : write_exactly(buf, text, len);
}

int mrpc_json_write_string(mrpc_buf *buf, const char *text, size_t len) {
  if (MRPC_UNLIKELY(!mrpc_buf_has_room(buf, len + 2 + SLACK)))
    return grow_and_write(buf, text, len);
  char *to = buf->data + buf->len;
  *to++ = '"';
  size_t n = copy_plain(to, text, text + len);
  if (MRPC_UNLIKELY(n < len))
    return write_special(buf, to + n, text, text + n, text + len);
  to[len] = '"';
  buf->len += len + 2;
  return MRPC_OK;
}

int mrpc_json_write_text(mrpc_buf *buf, const char *text, size_t len) {
  int result = mrpc_json_write_string(buf, text, len);
  if (result != MRPC_ETYPE) return result;
  const char *end = text + len;
  size_t used;
  mrpc_buf_addc(buf, '"');
  for (const char *p = text; p < end; p += used) {
    char out[ESCAPE_MAX];
    size_t n = written_length(p, end, &used);
    if (n == 0) {
      mrpc_buf_lit(buf, "\xef\xbf\xbd");
      used = 1;
    } else if (n == used) {
      mrpc_buf_add(buf, p, n);
    } else {
      mrpc_buf_add(buf, out, put_escape(out, (uint8_t)*p));
    }
  }
  mrpc_buf_addc(buf, '"');
  return buf->err;
}

MRPC_COLD static int add_int(mrpc_buf *buf, int64_t value) {
  char out[MRPC_INT_CHARS];
  mrpc_buf_add(buf, out, mrpc_int_write(value, out));
  return buf->err;
}

int mrpc_json_write_int(mrpc_buf *buf, int64_t value) {
  if (MRPC_UNLIKELY(!mrpc_buf_has_room(buf, MRPC_INT_CHARS)))
    return add_int(buf, value);
  buf->len += mrpc_int_write(value, buf->data + buf->len);
  return MRPC_OK;
}

MRPC_COLD static int add_double(mrpc_buf *buf, double value) {
  char out[MRPC_DOUBLE_CHARS];
  mrpc_buf_add(buf, out, mrpc_double_write(value, out));
  return buf->err;
}

int mrpc_json_write_double(mrpc_buf *buf, double value) {
  if (value - value != 0) return MRPC_ETYPE;
  if (MRPC_UNLIKELY(!mrpc_buf_has_room(buf, MRPC_DOUBLE_CHARS)))
    return add_double(buf, value);
  buf->len += mrpc_double_write(value, buf->data + buf->len);
  return MRPC_OK;
}
