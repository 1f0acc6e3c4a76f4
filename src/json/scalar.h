/* SPDX-License-Identifier: MIT
 *
 * The parser's state, and how it reads strings, numbers and literals into a
 * node each. What is short and plain is read in line, the rest by functions
 * that are called. For parse.c only: the state lives in registers, so that
 * functions that take it are inlined, and those that aren't never see its
 * address. Every reader answers where the value ends, or NULL when it has
 * failed. */
#ifndef MRPC_JSON_SCALAR_H
#define MRPC_JSON_SCALAR_H

#include "json/decimal.h"
#include "json/document.h"
#include "json/escape.h"

typedef struct state {
  mrpc_doc *doc;
  const char *end;
  mrpc_node *node; /* where the next one goes */
  mrpc_node *last; /* the end of the room for nodes */
  uint32_t open;   /* the innermost open container, or NONE */
  uint32_t count;  /* its elements or members so far */
  uint32_t depth;  /* how many more may be opened */
  char close;      /* what closes it: ] or } */
  bool sealed;     /* constant: does the text end in a closing bracket? */
} state;

/* Does the text end at p? A sealed one needs that question only behind a
 * closing bracket and inside strings: all else stops at its last byte. */
MRPC_INLINE bool is_end(const state *s, const char *p) {
  return !s->sealed && p == s->end;
}

/* The digit at p; more than 9 when there is none. */
MRPC_INLINE unsigned digit_at(const state *s, const char *p) {
  return is_end(s, p) ? 10 : (unsigned)(uint8_t)*p - '0';
}

MRPC_INLINE bool is_digit(const state *s, const char *p) {
  return digit_at(s, p) <= 9;
}

static const char no_more[] = "unexpected end of text";

/* NULL, for the caller to return. */
MRPC_COLD static const char *fail(mrpc_doc *doc, const char *at,
                                  const char *what) {
  doc->error = what;
  doc->error_at = (size_t)(at - doc->text);
  return NULL;
}

/* What was expected isn't there; perhaps nothing is. */
MRPC_COLD static const char *fail_expected(mrpc_doc *doc, const char *at,
                                           const char *what) {
  if (at == doc->text + doc->len) what = no_more;
  return fail(doc, at, what);
}

/* A node is written as two words: field by field it takes twice as many
 * stores. */
MRPC_INLINE void put_node(mrpc_node *node, uint8_t type, uint8_t flags,
                          uint32_t size, uint64_t rest) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t head = type | (uint64_t)flags << 8 | (uint64_t)size << 32;
  memcpy(node, &head, sizeof head);
#else
  *node = (mrpc_node){.type = type, .flags = flags, .size = size};
#endif
  memcpy(&node->u, &rest, sizeof rest);
}

/* The second word of a string's node: where it starts. */
MRPC_INLINE uint64_t start_word(uint32_t start) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return start;
#else
  return (uint64_t)start << 32;
#endif
}

/* The offset of p in the text. */
MRPC_INLINE uint32_t offset(const mrpc_doc *doc, const char *p) {
  return (uint32_t)(p - doc->text);
}

/* Strings. */

/* Steps over the characters at p that aren't ASCII. */
static const char *many_utf8(mrpc_doc *doc, const char *p, const char *end) {
  for (;;) {
    while (end - p >= 4 && mrpc_utf8_is3(mrpc_load4(p))) p += 3;
    if (p == end || !(*p & 0x80)) return p;
    size_t n = mrpc_utf8_length(p, end);
    if (n == 0) return fail(doc, p, "invalid UTF-8 in a string");
    p += n;
  }
}

/* Checks the special byte at p and what belongs to it. */
MRPC_INLINE const char *special(mrpc_doc *doc, const char *p, const char *end) {
  if (*p & 0x80) return many_utf8(doc, p, end);
  if (*p != '\\') return fail(doc, p, "control character in a string");
  if (MRPC_LIKELY(end - p >= 2 && p[1] != 'u' && mrpc_is_escape(p[1])))
    return p + 2;
  int n = mrpc_escape_check(p, end);
  if (n > 0) return p + n;
  return fail(
      doc, p,
      n < 0 ? "lone surrogate in a string" : "invalid escape in a string");
}

/* The quote at p ends the string that began at `start`. */
MRPC_INLINE const char *end_string(const mrpc_doc *doc, const char *start,
                                   const char *p, uint8_t flags,
                                   mrpc_node *node) {
  put_node(node, MRPC_JSON_STRING, flags, (uint32_t)(p - start),
           start_word(offset(doc, start)));
  return p + 1;
}

/* Goes on from p with a string that isn't short and plain, or stands at the
 * end of the text. */
__attribute__((noinline)) static const char *hard_string(mrpc_doc *doc,
                                                         const char *start,
                                                         const char *p,
                                                         const char *end,
                                                         mrpc_node *node) {
  uint8_t flags = 0;
  for (;;) {
    p = mrpc_find_special(doc->text, p, end);
    if (MRPC_UNLIKELY(p == end)) return fail(doc, p, no_more);
    if (*p == '"') return end_string(doc, start, p, flags, node);
    flags |= *p == '\\';
    p = special(doc, p, end);
    if (MRPC_UNLIKELY(!p)) return NULL;
  }
}

/* A string that begins less than sixteen bytes before the end: those are
 * looked at together with what stands before it. Every message has such a
 * one. */
MRPC_INLINE const char *late_string(mrpc_doc *doc, const char *start,
                                    const char *end, mrpc_node *node) {
  if (MRPC_LIKELY(end - doc->text >= 16)) {
    unsigned hit = mrpc_special16(end - 16) >> (16 - (end - start));
    const char *p = start + (unsigned)__builtin_ctz(hit | 0x10000);
    if (MRPC_LIKELY(hit && *p == '"'))
      return end_string(doc, start, p, 0, node);
  }
  return hard_string(doc, start, start, end, node);
}

/* From behind the opening quote to behind the closing one. */
MRPC_INLINE const char *string(state *s, const char *p, mrpc_node *node) {
  const char *start = p;
  while (MRPC_LIKELY(s->end - p >= 16)) {
    unsigned hit = mrpc_special16(p);
    if (MRPC_LIKELY(hit)) {
      p += (unsigned)__builtin_ctz(hit);
      if (MRPC_UNLIKELY(*p != '"')) break;
      return end_string(s->doc, start, p, 0, node);
    }
    p += 16;
  }
  return hard_string(s->doc, start, p, s->end, node);
}

/* The same, of a name: most are short, and as their lengths repeat, guessing
 * pays. */
MRPC_INLINE const char *short_string(state *s, const char *p, mrpc_node *node) {
  const char *start = p;
  if (MRPC_UNLIKELY(s->end - p < 16))
    return late_string(s->doc, start, s->end, node);
  unsigned hit = mrpc_special16(p);
  if (MRPC_LIKELY(hit)) p = mrpc_guess16(p, (unsigned)__builtin_ctz(hit));
  if (MRPC_LIKELY(*p == '"')) return end_string(s->doc, start, p, 0, node);
  return hard_string(s->doc, start, p, s->end, node);
}

/* Other scalars. */

MRPC_INLINE const char *literal(const state *s, const char *p, const char *word,
                                size_t len, uint8_t type, mrpc_node *node) {
  if ((size_t)(s->end - p) < len || memcmp(p, word, len) != 0)
    return fail(s->doc, p, "expected a value");
  put_node(node, type, 0, offset(s->doc, p), 0);
  return p + len;
}

MRPC_INLINE const char *few_digits(const state *s, const char *p,
                                   uint64_t *value) {
  for (unsigned d; (d = digit_at(s, p)) <= 9; p++) *value = *value * 10 + d;
  return p;
}

/* Eight at a time, and the last ones in one go. */
MRPC_INLINE const char *many_digits(const state *s, const char *p,
                                    uint64_t *value) {
  static const uint64_t power[] = {1,      10,      100,      1000,     10000,
                                   100000, 1000000, 10000000, 100000000};
  while (MRPC_LIKELY(s->end - p >= 8)) {
    uint64_t word = mrpc_load8(p);
    unsigned n = mrpc_count_digits8(word);
    if (n < 8) {
      word = n ? word << (64 - 8 * n) : 0;
      *value = *value * power[n] + mrpc_digits8(word);
      return p + n;
    }
    *value = *value * 100000000 + mrpc_digits8(word);
    p += 8;
  }
  return few_digits(s, p, value);
}

/* An exponent from behind its "e"; far beyond any double it stands still. */
static const char *exponent(const char *p, const char *end, int64_t *value) {
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  const char *first = p;
  int64_t e = 0;
  for (; p < end && (uint8_t)(*p - '0') <= 9; p++)
    if (e < 100000) e = e * 10 + (*p - '0');
  *value = negative ? -e : e;
  return p == first ? NULL : p;
}

static const char *hard_number(mrpc_doc *doc, const char *start, const char *p,
                               mrpc_node *node) {
  *node = (mrpc_node){.type = MRPC_JSON_DOUBLE,
                      .size = (uint32_t)(start - doc->text)};
  if (!mrpc_double_read(start, (size_t)(p - start), &node->u.d))
    return fail(doc, start, "number out of range");
  return p;
}

MRPC_INLINE const char *put_integer(const state *s, const char *start,
                                    const char *p, uint64_t value,
                                    mrpc_node *node) {
  put_node(node, MRPC_JSON_INT, (uint8_t)(p - start), offset(s->doc, start),
           value);
  return p;
}

/* Eighteen digits always fit; -0 is a double. */
MRPC_INLINE const char *integer(const state *s, const char *start,
                                const char *p, uint64_t value, bool negative,
                                mrpc_node *node) {
  size_t count = (size_t)(p - start) - negative;
  if (MRPC_UNLIKELY(count > 18 || (negative && value == 0))) {
    if (count > 19 || value > (uint64_t)INT64_MAX + negative || value == 0)
      return hard_number(s->doc, start, p, node);
  }
  return put_integer(s, start, p, negative ? 0 - value : value, node);
}

/* Fraction and exponent. Up to nineteen digits make an exact integer; what
 * has more, or isn't decided by that, is read again with all care. */
MRPC_INLINE const char *real(const state *s, const char *start, const char *p,
                             uint64_t value, bool negative, mrpc_node *node) {
  size_t count = (size_t)(p - start) - negative;
  int64_t e = 0, fraction = 0;
  if (*p == '.') {
    const char *first = ++p;
    p = many_digits(s, p, &value);
    fraction = p - first;
    if (MRPC_UNLIKELY(fraction == 0))
      return fail_expected(s->doc, p, "invalid number");
  }
  if (!is_end(s, p) && (*p | 0x20) == 'e') {
    const char *to = exponent(p + 1, s->end, &e);
    if (!to) return fail(s->doc, p, "invalid exponent");
    p = to;
  }
  double d;
  if (MRPC_UNLIKELY(count + (size_t)fraction > 19 ||
                    !mrpc_double_make(value, e - fraction, &d)))
    return hard_number(s->doc, start, p, node);
  size_t length = (size_t)(p - start);
  put_node(node, MRPC_JSON_DOUBLE, length > UINT8_MAX ? 0 : (uint8_t)length,
           offset(s->doc, start), 0);
  node->u.d = negative ? -d : d;
  return p;
}

/* No number begins with what stands from start to p. */
MRPC_COLD static const char *bad_number(mrpc_doc *doc, const char *start,
                                        const char *p) {
  return fail_expected(doc, p[-1] == '-' ? p : start, "invalid number");
}

MRPC_INLINE bool is_real(const state *s, const char *p) {
  return !is_end(s, p) && (*p == '.' || (*p | 0x20) == 'e');
}

/* A number from its first digit on. Most whole parts are short, and their
 * jumps are foreseen; many digits at a time are better only for fractions. */
MRPC_INLINE const char *number(const state *s, const char *start, bool negative,
                               mrpc_node *node) {
  const char *p = start + negative;
  uint64_t value = digit_at(s, p++);
  if (MRPC_UNLIKELY(value == 0 && is_digit(s, p)))
    return bad_number(s->doc, start, p);
  p = few_digits(s, p, &value);
  if (is_real(s, p)) return real(s, start, p, value, negative, node);
  if (negative || MRPC_UNLIKELY(p - start > 18))
    return integer(s, start, p, value, negative, node);
  return put_integer(s, start, p, value, node);
}

MRPC_INLINE const char *negative_number(const state *s, const char *p,
                                        mrpc_node *node) {
  if (is_digit(s, p + 1)) return number(s, p, true, node);
  return bad_number(s->doc, p, p + 1);
}

MRPC_INLINE const char *other_scalar(const state *s, const char *p,
                                     mrpc_node *node) {
  switch (*p) {
    case '-': return negative_number(s, p, node);
    case 't': return literal(s, p, "true", 4, MRPC_JSON_TRUE, node);
    case 'f': return literal(s, p, "false", 5, MRPC_JSON_FALSE, node);
    case 'n': return literal(s, p, "null", 4, MRPC_JSON_NULL, node);
    default: return fail(s->doc, p, "expected a value");
  }
}

#endif
