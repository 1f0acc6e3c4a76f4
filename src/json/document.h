/* SPDX-License-Identifier: MIT
 *
 * A parsed JSON text as a flat array of nodes in document order, 16 bytes
 * each. Nodes hold no copies: strings are spans of the text and are unescaped
 * only when somebody wants them. An object's children alternate: key, value.
 * This module knows JSON (RFC 8259), not JSON-RPC. */
#ifndef MRPC_JSON_DOCUMENT_H
#define MRPC_JSON_DOCUMENT_H

#include "base/mem.h"

enum {
  MRPC_JSON_NULL,
  MRPC_JSON_FALSE,
  MRPC_JSON_TRUE,
  MRPC_JSON_INT,    /* fits int64_t, has no fraction or exponent, isn't -0 */
  MRPC_JSON_DOUBLE, /* any other number */
  MRPC_JSON_STRING,
  MRPC_JSON_ARRAY,
  MRPC_JSON_OBJECT
};

enum { MRPC_JSON_ESCAPED = 1 }; /* flag: the string holds escapes */

typedef struct mrpc_node {
  uint8_t type;
  uint8_t flags;  /* numbers: bytes of the text, 0 when it may be longer */
  uint16_t spare; /* zero after a parse; whose document it is may use it */
  uint32_t size;  /* STRING: raw bytes between the quotes;
                     ARRAY: elements; OBJECT: members;
                     other scalars: offset of the first byte */
  union {
    int64_t i; /* INT */
    double d;  /* DOUBLE */
    struct {
      uint32_t start; /* STRING: offset behind the opening quote;
                         ARRAY, OBJECT: offset behind the closing bracket */
      uint32_t next;  /* ARRAY, OBJECT: index of the node behind the last
                         child; else unused */
    } at;
  } u;
} mrpc_node;

typedef struct mrpc_doc {
  const mrpc_mem *mem;
  const char *text; /* the parsed text; borrowed */
  size_t len;
  mrpc_node *nodes; /* [0] is the root */
  uint32_t count;
  uint32_t cap;
  const char *error; /* after a failed parse: what, a constant phrase */
  size_t error_at;   /* and where, an offset in the text */
} mrpc_doc;

void mrpc_doc_init(mrpc_doc *doc, const mrpc_mem *mem);
void mrpc_doc_clear(mrpc_doc *doc);
/* Doubles the room for nodes: the first new one, or NULL. For the parser. */
mrpc_node *mrpc_doc_grow(mrpc_doc *doc);

/* The index of the node behind node `i` and all its children. */
static inline uint32_t mrpc_doc_next(const mrpc_doc *doc, uint32_t i) {
  const mrpc_node *node = &doc->nodes[i];
  return node->type >= MRPC_JSON_ARRAY ? node->u.at.next : i + 1;
}

/* Is node `i` a string or a number, as ids and tokens are? */
static inline bool mrpc_doc_is_name(const mrpc_doc *doc, uint32_t i) {
  uint8_t type = doc->nodes[i].type;
  return type == MRPC_JSON_INT || type == MRPC_JSON_DOUBLE ||
         type == MRPC_JSON_STRING;
}

/* The raw text of node `i`, quotes and brackets included. `i` is a scalar, the
 * root, or a member's value; a container inside an array doesn't know where it
 * begins. */
const char *mrpc_doc_raw(const mrpc_doc *doc, uint32_t i, size_t *len);

/* Is node `i` a string that reads `text` when unescaped? */
bool mrpc_doc_string_is(const mrpc_doc *doc, uint32_t i, const char *text,
                        size_t len);

#endif
