/* SPDX-License-Identifier: MIT */
#include "json/document.h"

#include <string.h>

#include "json/parse.h"

enum { FIRST_CAP = 32 };

void mrpc_doc_init(mrpc_doc *doc, const mrpc_mem *mem) {
  *doc = (mrpc_doc){.mem = mem};
}

void mrpc_doc_clear(mrpc_doc *doc) {
  mrpc_mem_free(doc->mem, doc->nodes, doc->cap * sizeof *doc->nodes);
  mrpc_doc_init(doc, doc->mem);
}

mrpc_node *mrpc_doc_grow(mrpc_doc *doc) {
  uint32_t cap = doc->cap ? doc->cap * 2 : FIRST_CAP;
  size_t size;
  if (doc->cap > UINT32_MAX / 2 ||
      __builtin_mul_overflow(cap, sizeof *doc->nodes, &size))
    return NULL;
  mrpc_node *nodes = mrpc_mem_resize(doc->mem, doc->nodes,
                                     doc->cap * sizeof *doc->nodes, size);
  if (!nodes) return NULL;
  mrpc_node *room = nodes + doc->cap;
  doc->nodes = nodes;
  doc->cap = cap;
  return room;
}

/* The text is known to be valid here, so that looking at the next byte tells
 * what follows; only a number at the root ends where the text does. */
static size_t number_length(const mrpc_doc *doc, uint32_t start) {
  size_t at = start;
  while (at < doc->len) {
    char c = doc->text[at];
    if ((c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' &&
        c != 'E')
      break;
    at++;
  }
  return at - start;
}

static uint32_t skip_space(const mrpc_doc *doc, uint32_t at) {
  while (doc->text[at] == ' ' || doc->text[at] == '\n' ||
         doc->text[at] == '\r' || doc->text[at] == '\t')
    at++;
  return at;
}

/* A container knows its end only: it begins where its text does when it is
 * the root, behind its key's colon else. */
static uint32_t container_start(const mrpc_doc *doc, uint32_t i) {
  if (i == 0) return skip_space(doc, 0);
  const mrpc_node *key = &doc->nodes[i - 1];
  uint32_t colon = skip_space(doc, key->u.at.start + key->size + 1);
  return skip_space(doc, colon + 1);
}

const char *mrpc_doc_raw(const mrpc_doc *doc, uint32_t i, size_t *len) {
  static const uint8_t literal[] = {4, 5, 4};
  const mrpc_node *node = &doc->nodes[i];
  uint32_t start = node->size;
  if (node->type <= MRPC_JSON_TRUE) {
    *len = literal[node->type];
  } else if (node->type <= MRPC_JSON_DOUBLE) {
    *len = node->flags ? node->flags : number_length(doc, start);
  } else if (node->type == MRPC_JSON_STRING) {
    start = node->u.at.start - 1;
    *len = (size_t)node->size + 2;
  } else {
    start = container_start(doc, i);
    *len = node->u.at.start - start;
  }
  return doc->text + start;
}

/* The raw string is walked one escape at a time, so that no memory is needed
 * but for the longest of them, a surrogate pair. */
static bool unescaped_is(const char *raw, size_t rawlen, const char *text,
                         size_t len) {
  char bytes[12];
  size_t at = 0, done = 0;
  while (at < rawlen) {
    size_t step = mrpc_json_escape_length(raw + at);
    size_t n = mrpc_json_unescape(raw + at, step, bytes);
    if (n > len - done || memcmp(bytes, text + done, n) != 0) return false;
    at += step;
    done += n;
  }
  return done == len;
}

bool mrpc_doc_string_is(const mrpc_doc *doc, uint32_t i, const char *text,
                        size_t len) {
  const mrpc_node *node = &doc->nodes[i];
  if (node->type != MRPC_JSON_STRING) return false;
  const char *raw = doc->text + node->u.at.start;
  if (node->flags & MRPC_JSON_ESCAPED)
    return unescaped_is(raw, node->size, text, len);
  return node->size == len && (len == 0 || memcmp(raw, text, len) == 0);
}
