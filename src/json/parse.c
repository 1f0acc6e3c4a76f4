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
#include "json/escape.h"
#include "json/scan.h"

enum { NONE = UINT32_MAX };

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

MRPC_INLINE bool is_digit(const state *s, const char *p) {
  return !is_end(s, p) && (uint8_t)(*p - '0') <= 9;
}

static const char too_deep[] = "nested too deeply";
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

MRPC_INLINE mrpc_node *append(state *s) {
  if (MRPC_UNLIKELY(s->node == s->last)) {
    s->node = mrpc_doc_grow(s->doc);
    if (!s->node) return NULL;
    s->last = s->doc->nodes + s->doc->cap;
  }
  return s->node++;
}

static const char *skip_bytes(const char *p, const char *end) {
  while (p < end && mrpc_is_space(*p)) p++;
  return p;
}

/* Indentation is lines and spaces, and is the same again and again. */
MRPC_INLINE const char *skip_space(const state *s, const char *p) {
  if (is_end(s, p) || MRPC_LIKELY((uint8_t)*p > ' ')) return p;
  while (MRPC_LIKELY(s->end - p >= 32)) {
    unsigned other = mrpc_indent32(p);
    if (MRPC_LIKELY(other)) {
      p = mrpc_guess32(p, (unsigned)__builtin_ctz(other));
      return MRPC_LIKELY((uint8_t)*p > ' ') ? p : skip_bytes(p, s->end);
    }
    p += 32;
  }
  return skip_bytes(p, s->end);
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

/* From behind the opening quote to behind the closing one. */
MRPC_INLINE const char *string(state *s, const char *p, mrpc_node *node,
                               bool is_name) {
  const char *start = p;
  uint8_t flags = 0;
  for (;;) {
    p = mrpc_find_special(s->doc->text, p, s->end, is_name);
    if (MRPC_UNLIKELY(p == s->end)) return fail(s->doc, p, no_more);
    if (*p == '"') break;
    flags |= *p == '\\';
    p = special(s->doc, p, s->end);
    if (MRPC_UNLIKELY(!p)) return NULL;
  }
  *node = (mrpc_node){.type = MRPC_JSON_STRING,
                      .flags = flags,
                      .size = (uint32_t)(p - start),
                      .u.at.start = (uint32_t)(start - s->doc->text)};
  return p + 1;
}

/* Other scalars. */

MRPC_INLINE const char *literal(state *s, const char *p, const char *word,
                                size_t len, uint8_t type, mrpc_node *node) {
  if ((size_t)(s->end - p) < len || memcmp(p, word, len) != 0)
    return fail(s->doc, p, "expected a value");
  *node = (mrpc_node){.type = type, .size = (uint32_t)(p - s->doc->text)};
  return p + len;
}

MRPC_INLINE const char *few_digits(const state *s, const char *p,
                                   uint64_t *value) {
  while (is_digit(s, p)) *value = *value * 10 + (uint64_t)(*p++ - '0');
  return p;
}

/* The same, for longer runs: eight at a time, and the last ones in one go. */
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

MRPC_INLINE const char *integer(state *s, const char *start, const char *p,
                                uint64_t value, mrpc_node *node) {
  bool negative = *start == '-';
  /* Eighteen digits always fit; -0 is a double. */
  if (MRPC_UNLIKELY(p - start > 18 || (negative && value == 0))) {
    size_t count = (size_t)(p - start) - negative;
    if (count > 19 || value > (uint64_t)INT64_MAX + negative || value == 0)
      return hard_number(s->doc, start, p, node);
  }
  *node = (mrpc_node){.type = MRPC_JSON_INT,
                      .size = (uint32_t)(start - s->doc->text),
                      .u.i = (int64_t)(negative ? 0 - value : value)};
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
  *node = (mrpc_node){.type = MRPC_JSON_DOUBLE,
                      .size = (uint32_t)(start - s->doc->text),
                      .u.d = negative ? -d : d};
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
  if (*p == '-') p++;
  const char *first = p;
  p = few_digits(s, p, &value);
  if (MRPC_UNLIKELY(p == first || (*first == '0' && p - first > 1)))
    return bad_number(s->doc, start, p);
  if (!is_end(s, p) && (*p == '.' || (*p | 0x20) == 'e'))
    return real(s, start, p, value, node);
  return integer(s, start, p, value, node);
}

/* Containers. */

/* `node` opens: it is the innermost container from here. */
MRPC_INLINE void enter(state *s, mrpc_node *node, uint8_t type) {
  *node = (mrpc_node){.type = type, .u.at.next = s->open};
  if (s->open != NONE) s->doc->nodes[s->open].size = s->count;
  s->open = (uint32_t)(node - s->doc->nodes);
  s->count = 0;
  s->close = type == MRPC_JSON_OBJECT ? '}' : ']';
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
  s->close = nodes[s->open].type == MRPC_JSON_OBJECT ? '}' : ']';
}

/* A member's name and its colon; answers where its value begins. */
MRPC_INLINE const char *name(state *s, const char *p) {
  if (is_end(s, p) || *p != '"')
    return fail_expected(s->doc, p, "expected a member name");
  mrpc_node *node = append(s);
  if (!node) return NULL;
  p = string(s, p + 1, node, true);
  if (!p) return NULL;
  if (MRPC_UNLIKELY(is_end(s, p) || *p != ':')) {
    p = skip_space(s, p);
    if (is_end(s, p) || *p != ':')
      return fail_expected(s->doc, p, "expected a colon");
  }
  p++;
  if (!is_end(s, p) && *p == ' ') p++;
  return skip_space(s, p);
}

/* A value has ended before p. Closes what ends there, too, and answers where
 * the next value begins; the end of the text when the root is closed. */
MRPC_INLINE const char *after(state *s, const char *p) {
  while (s->open != NONE) {
    p = skip_space(s, p);
    if (!is_end(s, p) && *p == ',') {
      p = skip_space(s, p + 1);
      return s->close == '}' ? name(s, p) : p;
    }
    if (is_end(s, p) || *p != s->close)
      return fail_expected(
          s->doc, p,
          s->close == '}' ? "expected a comma or }" : "expected a comma or ]");
    leave(s, ++p);
    if (p == s->end && s->open != NONE) return fail(s->doc, p, no_more);
  }
  return p;
}

/* The value that begins at p. NULL, or its end. */
MRPC_INLINE const char *run(state *s, const char *p) {
  do {
    mrpc_node *node = append(s);
    if (!node) return NULL;
    if (is_end(s, p)) return fail(s->doc, p, no_more);
    s->count++;
    switch (*p) {
      case '"': p = string(s, p + 1, node, false); break;
      case '[':
      case '{':
        if (s->depth == 0) return fail(s->doc, p, too_deep);
        enter(s, node, *p == '[' ? MRPC_JSON_ARRAY : MRPC_JSON_OBJECT);
        p = skip_space(s, p + 1);
        if (is_end(s, p) || *p != s->close) {
          if (s->close == '}') p = name(s, p);
          continue;
        }
        leave(s, ++p);
        if (p == s->end && s->open != NONE) return fail(s->doc, p, no_more);
        break;
      case 't': p = literal(s, p, "true", 4, MRPC_JSON_TRUE, node); break;
      case 'f': p = literal(s, p, "false", 5, MRPC_JSON_FALSE, node); break;
      case 'n': p = literal(s, p, "null", 4, MRPC_JSON_NULL, node); break;
      default: p = number(s, p, node); break;
    }
    if (MRPC_LIKELY(p)) p = after(s, p);
  } while (MRPC_LIKELY(p && s->open != NONE));
  return p;
}

MRPC_INLINE bool parse(mrpc_doc *doc, const char *end, uint32_t depth,
                       bool sealed) {
  state s = {.doc = doc,
             .end = end,
             .node = doc->nodes,
             .last = doc->cap ? doc->nodes + doc->cap : NULL,
             .open = NONE,
             .depth = depth,
             .sealed = sealed};
  const char *p = run(&s, skip_space(&s, doc->text));
  if (!p) return false;
  if (p != end) p = skip_space(&s, p);
  if (p != end) return fail(doc, p, "more than one value") != NULL;
  doc->count = (uint32_t)(s.node - doc->nodes);
  return true;
}

__attribute__((noinline)) static bool parse_sealed(mrpc_doc *doc,
                                                   const char *end,
                                                   uint32_t depth) {
  return parse(doc, end, depth, true);
}

MRPC_COLD static bool parse_open(mrpc_doc *doc, const char *end,
                                 uint32_t depth) {
  return parse(doc, end, depth, false);
}

int mrpc_json_parse(mrpc_doc *doc, const char *text, size_t len,
                    uint32_t depth) {
  if (len == 0) text = ""; /* NULL is as good, but not for sums */
  doc->text = text;
  doc->len = len;
  doc->count = 0;
  doc->error = NULL;
  doc->error_at = 0;
  if (len >= UINT32_MAX) {
    fail(doc, text, "text too long");
    return MRPC_ELIMIT;
  }
  const char *end = text + len;
  while (end > text && mrpc_is_space(end[-1])) end--;
  bool sealed = end > text && (end[-1] == ']' || end[-1] == '}');
  if (sealed ? parse_sealed(doc, end, depth)
             : parse_open(doc, text + len, depth))
    return MRPC_OK;
  if (!doc->error) {
    fail(doc, text, "out of memory");
    return MRPC_ENOMEM;
  }
  return doc->error == too_deep ? MRPC_ELIMIT : MRPC_ESYNTAX;
}
