/* SPDX-License-Identifier: MIT */
#include "json/repeat.h"

#include "json/parse.h"
#include "json/scan.h"

enum { BLOCK = 16, DIGITS = 18 /* that always fit an int64_t */ };

/* Reads a whole number that is as long as the one at `node` was. */
MRPC_INLINE bool mend_number(mrpc_node *node, const char *text) {
  const char *p = text + node->size, *end = p + node->flags;
  bool negative = *p == '-';
  uint64_t value = 0;
  p += negative;
  if (p == end || end - p > DIGITS) return false;
  if (*p == '0' && (negative || end - p > 1)) return false;
  for (; p < end; p++) {
    unsigned digit = (unsigned)(uint8_t)*p - '0';
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  node->u.i = (int64_t)(negative ? 0 - value : value);
  return true;
}

/* Is the string at `node` still one without escapes, and no name? */
static bool is_plain(const mrpc_node *node, const char *text) {
  const char *p = text + node->u.at.start, *end = p + node->size;
  if (node->flags & MRPC_JSON_ESCAPED) return false;
  return (end[1] == ',' || end[1] == '}' || end[1] == ']') &&
         mrpc_find_special(text, p, end) == end;
}

typedef struct mending {
  const char *text;
  mrpc_node *node; /* the next to be looked at */
  mrpc_node *end;
  uint32_t done; /* offset up to which the nodes are right */
} mending;

/* The byte at `at` differs: mends the node that it lies in, if it lies in one
 * that can be mended. */
MRPC_INLINE bool mend(mending *m, uint32_t at) {
  for (; m->node < m->end; m->node++) {
    mrpc_node *node = m->node;
    if (node->type == MRPC_JSON_STRING) {
      uint32_t start = node->u.at.start;
      m->done = start + node->size;
      if (at < m->done) return at >= start && is_plain(node, m->text);
    } else if (node->type == MRPC_JSON_INT) {
      m->done = node->size + node->flags;
      if (at < m->done) return at >= node->size && mend_number(node, m->text);
    }
  }
  return false;
}

/* The bits of a block from the nth on. */
static unsigned mask_from(uint32_t n) {
  return n < BLOCK ? ~0u << n : 0;
}

/* Takes over the block at `at`, of which the bytes `differing` aren't the
 * same. */
static bool mend_block(mending *m, char *before, uint32_t at,
                       unsigned differing) {
  memcpy(before + at, m->text + at, BLOCK);
  for (;;) {
    if (m->done > at) differing &= mask_from(m->done - at);
    if (!differing) return true;
    if (!mend(m, at + (unsigned)__builtin_ctz(differing))) return false;
  }
}

/* When this fails, the text must be parsed. */
MRPC_INLINE bool mend_all(mrpc_repeat *before, const mrpc_doc *doc,
                          const char *text) {
  mending m = {
      .text = text, .node = doc->nodes, .end = doc->nodes + doc->count};
  uint32_t last = before->len - BLOCK;
  for (uint32_t at = 0;; at += BLOCK) {
    if (at > last) at = last;
    unsigned differing = mrpc_differ16(before->text + at, text + at);
    if (differing && !mend_block(&m, before->text, at, differing)) return false;
    if (at == last) return true;
  }
}

/* By sixteen bytes, since calling memcpy would be the greater part. */
static void remember(mrpc_repeat *before, const char *text, size_t len) {
  size_t last = len - BLOCK;
  for (size_t at = 0; at < last; at += BLOCK)
    memcpy(before->text + at, text + at, BLOCK);
  memcpy(before->text + last, text + last, BLOCK);
  before->len = (uint32_t)len;
}

int mrpc_repeat_parse(mrpc_repeat *before, mrpc_doc *doc, const char *text,
                      size_t len, uint32_t depth, bool *mended) {
  *mended = before->len && before->len == len && before->depth == depth &&
            mend_all(before, doc, text);
  if (*mended) {
    doc->text = text;
    return MRPC_OK;
  }
  before->len = 0;
  int rc = mrpc_json_parse(doc, text, len, depth);
  if (rc || doc->nodes->type < MRPC_JSON_ARRAY) return rc;
  if (len < BLOCK || len > MRPC_REPEAT_MAX) return rc;
  before->depth = depth;
  remember(before, text, len);
  return MRPC_OK;
}
