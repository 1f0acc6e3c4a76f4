/* SPDX-License-Identifier: MIT
 *
 * One loop over the text: a value begins, it ends, and what stands behind it
 * says whether another begins or its container ends. Nodes are appended as
 * their values begin. The open containers are a list through their nodes: each
 * holds the index of the one around it (in u.at.next) and, while another is
 * open inside, its count of children so far (in size). So depth costs neither
 * C stack nor memory of its own. */
#include "json/parse.h"

#include "json/scalar.h"

enum { NONE = UINT32_MAX };

static const char too_deep[] = "nested too deeply";

/* The next node; false when there is no memory for it. */
MRPC_INLINE bool append(state *s, mrpc_node **out) {
  if (MRPC_UNLIKELY(s->node == s->last)) {
    s->node = mrpc_doc_grow(s->doc);
    if (!s->node) return false;
    s->last = s->doc->nodes + s->doc->cap;
  }
  *out = s->node++;
  return true;
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

/* Containers. */

/* `node` opens: it is the innermost container from here. */
MRPC_INLINE void enter(state *s, mrpc_node *node, uint8_t type) {
  put_node(node, type, 0, 0, 0);
  node->u.at.next = s->open;
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
  node->u.at.start = offset(s->doc, p);
  node->u.at.next = (uint32_t)(s->node - nodes);
  s->depth++;
  if (s->open == NONE) return;
  s->count = nodes[s->open].size;
  s->close = nodes[s->open].type == MRPC_JSON_OBJECT ? '}' : ']';
}

/* A member's name, maybe behind spaces, and its colon; answers where its value
 * begins. */
MRPC_INLINE const char *name(state *s, const char *p) {
  if (MRPC_UNLIKELY(is_end(s, p) || *p != '"')) {
    p = skip_space(s, p);
    if (is_end(s, p) || *p != '"')
      return fail_expected(s->doc, p, "expected a member name");
  }
  mrpc_node *node;
  if (!append(s, &node)) return NULL;
  p = short_string(s, p + 1, node);
  if (!p) return NULL;
  if (MRPC_UNLIKELY(is_end(s, p) || *p != ':')) {
    p = skip_space(s, p);
    if (is_end(s, p) || *p != ':')
      return fail_expected(s->doc, p, "expected a colon");
  }
  p++;
  if (is_end(s, p) || MRPC_LIKELY((uint8_t)*p > ' ')) return p;
  return skip_space(s, *p == ' ' ? p + 1 : p);
}

/* A value has ended before p. Closes what ends there, too, and answers where
 * the next value begins; the end of the text when the root is closed. */
MRPC_INLINE const char *after(state *s, const char *p) {
  while (s->open != NONE) {
    p = skip_space(s, p);
    if (!is_end(s, p) && *p == ',') {
      return s->close == '}' ? name(s, p + 1) : skip_space(s, p + 1);
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
    mrpc_node *node;
    if (!append(s, &node)) return NULL;
    if (is_end(s, p)) return fail(s->doc, p, no_more);
    s->count++;
    if (*p == '"') {
      p = string(s, p + 1, node);
    } else if (is_digit(s, p)) {
      p = number(s, p, false, node);
    } else if ((*p | 0x20) == '{') { /* or [ */
      if (s->depth == 0) return fail(s->doc, p, too_deep);
      enter(s, node, *p == '[' ? MRPC_JSON_ARRAY : MRPC_JSON_OBJECT);
      p = skip_space(s, p + 1);
      if (is_end(s, p) || *p != s->close) {
        if (s->close == '}') p = name(s, p);
        continue;
      }
      leave(s, ++p);
      if (p == s->end && s->open != NONE) return fail(s->doc, p, no_more);
    } else {
      p = other_scalar(s, p, node);
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
