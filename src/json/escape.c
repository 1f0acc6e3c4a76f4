/* SPDX-License-Identifier: MIT */
#include "json/escape.h"

#include "json/parse.h"
#include "json/scan.h"

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four hex digits at p, or -1. */
static int hex4(const char *p) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    int digit = hex_digit(p[i]);
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

int mrpc_escape_check(const char *p, const char *end) {
  if (end - p < 2 || !mrpc_is_escape(p[1])) return 0;
  if (p[1] != 'u') return 2;
  int unit = end - p >= 6 ? hex4(p + 2) : -1;
  if (unit < 0) return 0;
  if (unit < 0xd800 || unit > 0xdfff) return 6;
  if (unit > 0xdbff || end - p < 12 || p[6] != '\\' || p[7] != 'u') return -1;
  int second = hex4(p + 8);
  return second >= 0xdc00 && second <= 0xdfff ? 12 : -1;
}

/* Unescaping: the string has been checked. */

static char *put_utf8(char *out, uint32_t c) {
  if (c < 0x80) {
    *out++ = (char)c;
    return out;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  *out++ = (char)(lead[more] | c >> 6 * more);
  while (more-- > 0) *out++ = (char)(0x80 | (c >> 6 * more & 0x3f));
  return out;
}

static char *put_unescaped(char *out, const char *raw, size_t len) {
  static const char letters[256] = {
      ['b'] = '\b', ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r',
      ['t'] = '\t', ['"'] = '"',  ['\\'] = '\\', ['/'] = '/'};
  if (len == 2) {
    *out = letters[(uint8_t)raw[1]];
    return out + 1;
  }
  uint32_t c = (uint32_t)hex4(raw + 2);
  if (len == 12)
    c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)hex4(raw + 8) - 0xdc00);
  return put_utf8(out, c);
}

/* What is written never overtakes what is read, so that where a block is left
 * to read there is room for one, too. */
size_t mrpc_json_unescape(const char *raw, size_t len, char *out) {
  const char *end = raw + len;
  char *to = out;
  while (raw < end) {
    if (end - raw >= 16) {
      unsigned n = mrpc_copy16(to, raw, '\\');
      raw += n;
      to += n;
      if (n == 16) continue;
    } else if (end - raw >= 8) {
      unsigned n = mrpc_copy8(to, raw, '\\');
      raw += n;
      to += n;
      if (n == 8) continue;
    } else if (*raw != '\\') {
      *to++ = *raw++;
      continue;
    }
    size_t n = mrpc_json_escape_length(raw);
    to = put_unescaped(to, raw, n);
    raw += n;
  }
  return (size_t)(to - out);
}
