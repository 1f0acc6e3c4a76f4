/* SPDX-License-Identifier: MIT
 *
 * One loop over the text: a value begins, it ends, and what stands behind it
 * says whether another begins or its container ends. Nodes are appended as
 * their values begin. The open containers are a list through their nodes: each
 * holds the index of the one around it (in u.at.next) and, while another is
 * open inside, its count of children so far (in size). So depth costs neither
 * C stack nor memory of its own.
 *
 * The state lives in registers: functions that take it are inlined, and those
 * that aren't never see its address. */
#include "json/parse.h"

#include "json/decimal.h"
#include "json/scan.h"

enum { FIRST_CAP = 32, NONE = UINT32_MAX };

typedef struct state {
  mrpc_doc *doc;
  const char *end;
  mrpc_node *node; /* where the next one goes */
  mrpc_node *last; /* the end of the room for nodes */
  uint32_t open;   /* the innermost open container, or NONE */
  uint32_t count;  /* its elements or members so far */
  uint32_t depth;  /* how many more may be opened */
  bool in_object;  /* is it an object? */
} state;

static const char too_deep[] = "nested too deeply";

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
  if (at == doc->text + doc->len) what = "unexpected end of text";
  return fail(doc, at, what);
}

MRPC_COLD static mrpc_node *grow(mrpc_doc *doc) {
  uint32_t cap = doc->cap ? doc->cap : FIRST_CAP;
  if (doc->cap) cap = cap > UINT32_MAX / 2 ? UINT32_MAX : cap * 2;
  mrpc_node *nodes = NULL;
  size_t size;
  if (!__builtin_mul_overflow(cap, sizeof *nodes, &size))
    nodes =
        mrpc_mem_resize(doc->mem, doc->nodes, doc->cap * sizeof *nodes, size);
  if (!nodes) return NULL;
  mrpc_node *room = nodes + doc->cap;
  doc->nodes = nodes;
  doc->cap = cap;
  return room;
}

MRPC_INLINE mrpc_node *append(state *s) {
  if (MRPC_UNLIKELY(s->node == s->last)) {
    s->node = grow(s->doc);
    if (!s->node) return NULL;
    s->last = s->doc->nodes + s->doc->cap;
  }
  return s->node++;
}

MRPC_INLINE const char *skip_space(const state *s, const char *p) {
  while (p < s->end && MRPC_UNLIKELY((uint8_t)*p <= ' ')) {
    if (MRPC_LIKELY(s->end - p >= 16)) {
      unsigned n = mrpc_space16(p);
      p += n;
      if (n < 16) break;
    } else if (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') {
      p++;
    } else {
      break;
    }
  }
  return p;
}

/* --- strings --- */

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

static const char *unicode_escape(mrpc_doc *doc, const char *p,
                                  const char *end) {
  int unit = end - p >= 6 ? hex4(p + 2) : -1;
  if (unit < 0) return fail(doc, p, "invalid escape in a string");
  if (unit < 0xd800 || unit > 0xdfff) return p + 6;
  if (unit < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
    int second = hex4(p + 8);
    if (second >= 0xdc00 && second <= 0xdfff) return p + 12;
  }
  return fail(doc, p, "lone surrogate in a string");
}

/* Checks the special byte at p and what belongs to it. */
static const char *special(mrpc_doc *doc, const char *p, const char *end) {
  if (*p & 0x80) {
    do {
      size_t n = mrpc_utf8_length(p, end);
      if (n == 0) return fail(doc, p, "invalid UTF-8 in a string");
      p += n;
    } while (p < end && (*p & 0x80));
    return p;
  }
  if (*p != '\\') return fail(doc, p, "control character in a string");
  char c = end - p >= 2 ? p[1] : '\0';
  if (c == 'u') return unicode_escape(doc, p, end);
  if (c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' ||
      c == 'r' || c == 't')
    return p + 2;
  return fail(doc, p, "invalid escape in a string");
}

/* The next special byte at or behind p, or the end. Where fewer than sixteen
 * bytes are left, the last sixteen of the text are looked at. */
MRPC_INLINE const char *find_special(const char *text, const char *p,
                                     const char *end) {
  while (MRPC_LIKELY(end - p >= 16)) {
    unsigned hit = mrpc_special16(p);
    if (hit) return p + __builtin_ctz(hit);
    p += 16;
  }
  if (MRPC_LIKELY(end - text >= 16)) {
    unsigned hit = mrpc_special16(end - 16) >> (16 - (end - p));
    return hit ? p + __builtin_ctz(hit) : end;
  }
  while (p < end && (uint8_t)*p >= 0x20 && !(*p & 0x80) && *p != '"' &&
         *p != '\\')
    p++;
  return p;
}

/* From behind the opening quote to behind the closing one. */
MRPC_INLINE const char *string(state *s, const char *p, mrpc_node *node) {
  const char *start = p;
  uint8_t flags = 0;
  for (;;) {
    p = find_special(s->doc->text, p, s->end);
    if (MRPC_UNLIKELY(p == s->end)) return fail_expected(s->doc, p, "");
    if (*p == '"') break;
    flags |= *p == '\\';
    p = special(s->doc, p, s->end);
    if (MRPC_UNLIKELY(!p)) return NULL;
  }
  node->type = MRPC_JSON_STRING;
  node->flags = flags;
  node->size = (uint32_t)(p - start);
  node->u.at.start = (uint32_t)(start - s->doc->text);
  return p + 1;
}

/* --- other scalars --- */

MRPC_INLINE const char *literal(state *s, const char *p, const char *word,
                                size_t len, uint8_t type, mrpc_node *node) {
  if ((size_t)(s->end - p) < len || memcmp(p, word, len) != 0)
    return fail(s->doc, p, "expected a value");
  node->type = type;
  node->size = (uint32_t)(p - s->doc->text);
  return p + len;
}

MRPC_INLINE const char *digits(const char *p, const char *end,
                               uint64_t *value) {
  while (p < end && (uint8_t)(*p - '0') <= 9)
    *value = *value * 10 + (uint64_t)(*p++ - '0');
  return p;
}

/* The same, for longer runs: eight at a time. */
MRPC_INLINE const char *many_digits(const char *p, const char *end,
                                    uint64_t *value) {
  while (end - p >= 8) {
    uint64_t word = mrpc_load8(p);
    if (!mrpc_is_digits8(word)) break;
    *value = *value * 100000000 + mrpc_digits8(word);
    p += 8;
  }
  return digits(p, end, value);
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
  node->type = MRPC_JSON_DOUBLE;
  if (!mrpc_double_read(start, (size_t)(p - start), &node->u.d))
    return fail(doc, start, "number out of range");
  return p;
}

MRPC_INLINE const char *integer(state *s, const char *start, const char *p,
                                uint64_t value, mrpc_node *node) {
  bool negative = *start == '-';
  size_t count = (size_t)(p - start) - negative;
  if (MRPC_UNLIKELY(count > 19 || value > (uint64_t)INT64_MAX + negative ||
                    (negative && value == 0)))
    return hard_number(s->doc, start, p, node);
  node->type = MRPC_JSON_INT;
  node->u.i = negative ? (int64_t)(0 - value) : (int64_t)value;
  return p;
}

/* Fraction and exponent. Up to nineteen digits make an exact integer; what
 * has more, or isn't decided by that, is read again with all care. */
MRPC_INLINE const char *real(state *s, const char *start, const char *p,
                             uint64_t value, mrpc_node *node) {
  bool negative = *start == '-';
  size_t count = (size_t)(p - start) - negative;
  int64_t e = 0, fraction = 0;
  if (*p == '.') {
    const char *first = ++p;
    p = many_digits(p, s->end, &value);
    fraction = p - first;
    if (MRPC_UNLIKELY(fraction == 0))
      return fail_expected(s->doc, p, "invalid number");
  }
  if (p < s->end && (*p | 0x20) == 'e') {
    const char *behind = exponent(p + 1, s->end, &e);
    if (!behind) return fail(s->doc, p, "invalid exponent");
    p = behind;
  }
  double d;
  if (MRPC_UNLIKELY(count + (size_t)fraction > 19 ||
                    !mrpc_double_make(value, e - fraction, &d)))
    return hard_number(s->doc, start, p, node);
  node->type = MRPC_JSON_DOUBLE;
  node->u.d = negative ? -d : d;
  return p;
}

/* Neither does a number begin with these digits, from start to p. */
MRPC_COLD static const char *bad_number(mrpc_doc *doc, const char *start,
                                        const char *p) {
  if (p == start) return fail(doc, p, "expected a value");
  return fail_expected(doc, p[-1] == '-' ? p : start, "invalid number");
}

MRPC_INLINE const char *number(state *s, const char *p, mrpc_node *node) {
  const char *start = p;
  uint64_t value = 0;
  node->size = (uint32_t)(p - s->doc->text);
  if (*p == '-') p++;
  const char *first = p;
  p = digits(p, s->end, &value);
  if (MRPC_UNLIKELY(p == first || (*first == '0' && p - first > 1)))
    return bad_number(s->doc, start, p);
  if (p < s->end && (*p == '.' || (*p | 0x20) == 'e'))
    return real(s, start, p, value, node);
  return integer(s, start, p, value, node);
}

/* --- containers --- */

/* `node` opens: it is the innermost container from here. */
MRPC_INLINE void enter(state *s, mrpc_node *node, uint8_t type) {
  node->type = type;
  node->u.at.next = s->open;
  if (s->open != NONE) s->doc->nodes[s->open].size = s->count;
  s->open = (uint32_t)(node - s->doc->nodes);
  s->count = 0;
  s->in_object = type == MRPC_JSON_OBJECT;
  s->depth--;
}

/* It ends before p; the one around it is the innermost again. */
MRPC_INLINE void leave(state *s, const char *p) {
  mrpc_node *nodes = s->doc->nodes, *node = &nodes[s->open];
  s->open = node->u.at.next;
  node->size = s->count;
  node->u.at.start = (uint32_t)(p - s->doc->text);
  node->u.at.next = (uint32_t)(s->node - nodes);
  s->depth++;
  if (s->open == NONE) return;
  s->count = nodes[s->open].size;
  s->in_object = nodes[s->open].type == MRPC_JSON_OBJECT;
}

/* A member's name and its colon; answers where its value begins. */
MRPC_INLINE const char *key(state *s, const char *p) {
  if (p == s->end || *p != '"')
    return fail_expected(s->doc, p, "expected a member name");
  mrpc_node *node = append(s);
  if (!node) return NULL;
  p = string(s, p + 1, node);
  if (!p) return NULL;
  p = skip_space(s, p);
  if (p == s->end || *p != ':')
    return fail_expected(s->doc, p, "expected a colon");
  return skip_space(s, p + 1);
}

/* A value has ended before p. Closes what ends there, too, and answers where
 * the next value begins: the end of the text when the root is closed. */
MRPC_INLINE const char *behind(state *s, const char *p) {
  p = skip_space(s, p);
  while (s->open != NONE) {
    if (p < s->end && *p == ',') {
      p = skip_space(s, p + 1);
      return s->in_object ? key(s, p) : p;
    }
    if (p == s->end || *p != (s->in_object ? '}' : ']'))
      return fail_expected(
          s->doc, p,
          s->in_object ? "expected a comma or }" : "expected a comma or ]");
    leave(s, ++p);
    p = skip_space(s, p);
  }
  return p == s->end ? p : fail(s->doc, p, "more than one value");
}

/* The whole text from p, its first byte that isn't white space. NULL, or the
 * end of the text. */
static const char *run(state *s, const char *p) {
  do {
    mrpc_node *node = append(s);
    if (!node) return NULL;
    if (p == s->end) return fail_expected(s->doc, p, "");
    s->count++;
    node->flags = 0;
    switch (*p) {
      case '"': p = string(s, p + 1, node); break;
      case '[':
      case '{':
        if (s->depth == 0) return fail(s->doc, p, too_deep);
        enter(s, node, *p == '[' ? MRPC_JSON_ARRAY : MRPC_JSON_OBJECT);
        p = skip_space(s, p + 1);
        if (p < s->end && *p == (s->in_object ? '}' : ']')) {
          leave(s, ++p);
          break;
        }
        if (s->in_object) p = key(s, p);
        continue;
      case 't': p = literal(s, p, "true", 4, MRPC_JSON_TRUE, node); break;
      case 'f': p = literal(s, p, "false", 5, MRPC_JSON_FALSE, node); break;
      case 'n': p = literal(s, p, "null", 4, MRPC_JSON_NULL, node); break;
      default: p = number(s, p, node); break;
    }
    if (MRPC_LIKELY(p)) p = behind(s, p);
  } while (MRPC_LIKELY(p && s->open != NONE));
  return p;
}

int mrpc_json_parse(mrpc_doc *doc, const char *text, size_t len,
                    uint32_t depth) {
  doc->text = text;
  doc->len = len;
  doc->count = 0;
  doc->error = NULL;
  doc->error_at = 0;
  state s = {.doc = doc,
             .end = text + len,
             .node = doc->nodes,
             .last = doc->nodes + doc->cap,
             .open = NONE,
             .depth = depth};
  if (len >= UINT32_MAX) {
    fail(doc, text, "text too long");
    return MRPC_ELIMIT;
  }
  if (run(&s, skip_space(&s, text))) {
    doc->count = (uint32_t)(s.node - doc->nodes);
    return MRPC_OK;
  }
  if (!doc->error) {
    fail(doc, text, "out of memory");
    return MRPC_ENOMEM;
  }
  return doc->error == too_deep ? MRPC_ELIMIT : MRPC_ESYNTAX;
}

/* --- unescaping --- */

static char *put_utf8(char *out, uint32_t c) {
  if (c < 0x80) {
    *out++ = (char)c;
    return out;
  }
  if (c < 0x800) {
    *out++ = (char)(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      *out++ = (char)(0xe0 | c >> 12);
    } else {
      *out++ = (char)(0xf0 | c >> 18);
      *out++ = (char)(0x80 | (c >> 12 & 0x3f));
    }
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
  }
  *out++ = (char)(0x80 | (c & 0x3f));
  return out;
}

static char simple_escape(char c) {
  switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
  }
}

static char *put_escape(char *out, const char *raw, size_t len) {
  if (len == 2) {
    *out = simple_escape(raw[1]);
    return out + 1;
  }
  uint32_t c = (uint32_t)hex4(raw + 2);
  if (len == 12)
    c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)hex4(raw + 8) - 0xdc00);
  return put_utf8(out, c);
}

size_t mrpc_json_unescape(const char *raw, size_t len, char *out) {
  const char *end = raw + len;
  char *to = out;
  while (raw < end) {
    const char *escape = memchr(raw, '\\', (size_t)(end - raw));
    size_t clean = (size_t)((escape ? escape : end) - raw);
    memcpy(to, raw, clean);
    to += clean;
    raw += clean;
    if (!escape) break;
    size_t n = mrpc_json_escape_length(raw);
    to = put_escape(to, raw, n);
    raw += n;
  }
  return (size_t)(to - out);
}
