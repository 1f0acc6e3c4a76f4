/* SPDX-License-Identifier: MIT
 *
 * Strings are copied sixteen bytes at a time while each is looked at. Room is
 * made for the string as it is, with a little slack that escapes use up; the
 * buffer's length changes only when all of it has been written. Where the
 * buffer's limit is too near for slack, the exact size is counted before. */
#include "json/write.h"

#include "json/number.h"
#include "json/scan.h"

enum { SLACK = 64 };

/* The escape of an ASCII byte: length 0 when it stands for itself. */
static unsigned escape(uint8_t c, char out[6]) {
  static const char hex[] = "0123456789abcdef";
  static const char letters[] = "btn.fr"; /* for 8 to 13 */
  if (c >= 0x20 && c != '"' && c != '\\') return 0;
  out[0] = '\\';
  out[1] = (char)c;
  if (c >= 0x20) return 2;
  if (c >= 8 && c <= 13 && c != 11) {
    out[1] = letters[c - 8];
    return 2;
  }
  memcpy(out + 1, "u00", 3);
  out[4] = hex[c >> 4];
  out[5] = hex[c & 15];
  return 6;
}

int mrpc_json_write_string(mrpc_buf *buf, const char *text, size_t len) {
  const char *end = text + len;
  size_t mark = buf->len;
  if (buf->err) return buf->err;
  mrpc_buf_addc(buf, '"');
  while (text < end) {
    char out[6];
    if (*text & 0x80) {
      size_t n = mrpc_utf8_length(text, end);
      if (n == 0) {
        mrpc_buf_truncate(buf, mark);
        return MRPC_ETYPE;
      }
      mrpc_buf_add(buf, text, n);
      text += n;
      continue;
    }
    unsigned n = escape((uint8_t)*text, out);
    if (n)
      mrpc_buf_add(buf, out, n);
    else
      mrpc_buf_addc(buf, *text);
    text++;
  }
  mrpc_buf_addc(buf, '"');
  return buf->err;
}

int mrpc_json_write_text(mrpc_buf *buf, const char *text, size_t len) {
  int result = mrpc_json_write_string(buf, text, len);
  if (result != MRPC_ETYPE) return result;
  const char *end = text + len;
  mrpc_buf_addc(buf, '"');
  while (text < end) {
    char out[6];
    if (*text & 0x80) {
      size_t n = mrpc_utf8_length(text, end);
      if (n == 0)
        mrpc_buf_lit(buf, "\xef\xbf\xbd");
      else
        mrpc_buf_add(buf, text, n);
      text += n ? n : 1;
      continue;
    }
    unsigned n = escape((uint8_t)*text, out);
    if (n)
      mrpc_buf_add(buf, out, n);
    else
      mrpc_buf_addc(buf, *text);
    text++;
  }
  mrpc_buf_addc(buf, '"');
  return buf->err;
}

int mrpc_json_write_int(mrpc_buf *buf, int64_t value) {
  if (MRPC_LIKELY(!buf->err && buf->cap - buf->len >= MRPC_INT_CHARS)) {
    buf->len += mrpc_int_write(value, buf->data + buf->len);
    return MRPC_OK;
  }
  char out[MRPC_INT_CHARS];
  mrpc_buf_add(buf, out, mrpc_int_write(value, out));
  return buf->err;
}

int mrpc_json_write_double(mrpc_buf *buf, double value) {
  if (!(value - value == 0)) return MRPC_ETYPE;
  if (MRPC_LIKELY(!buf->err && buf->cap - buf->len >= MRPC_DOUBLE_CHARS)) {
    buf->len += mrpc_double_write(value, buf->data + buf->len);
    return MRPC_OK;
  }
  char out[MRPC_DOUBLE_CHARS];
  mrpc_buf_add(buf, out, mrpc_double_write(value, out));
  return buf->err;
}
