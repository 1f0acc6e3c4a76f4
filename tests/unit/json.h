/* SPDX-License-Identifier: MIT
 *
 * What tests and the fuzzer ask of a parsed text: that its nodes hang
 * together, that every raw span is itself a text with the same value, and that
 * written again it is the same document. Each check answers NULL, or what is
 * wrong. */
#ifndef MRPC_TEST_JSON_H
#define MRPC_TEST_JSON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/number.h"
#include "json/parse.h"
#include "json/write.h"

#define JSON_HELPER __attribute__((unused)) static

/* Parses a copy that ends where its memory ends, so that a sanitizer sees
 * every byte read too much. The copy is in *copy, to be freed. */
JSON_HELPER int json_parse_copy(mrpc_doc *doc, const char *text, size_t len,
                                uint32_t depth, char **copy) {
  *copy = calloc(len ? len : 1, 1);
  if (!*copy) abort();
  if (len) memcpy(*copy, text, len);
  return mrpc_json_parse(doc, len ? *copy : *copy + 1, len, depth);
}

/* The whole file at path, or NULL. */
JSON_HELPER char *json_read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  size_t cap = 1 << 22;
  char *text = malloc(cap);
  if (!text) abort();
  *len = fread(text, 1, cap, file);
  fclose(file);
  return text;
}

/* Do the nodes hang together? */

JSON_HELPER const char *json_check_container(const mrpc_doc *doc, uint32_t i) {
  const mrpc_node *node = &doc->nodes[i];
  uint32_t children = 0, child = i + 1;
  if (node->u.at.next <= i || node->u.at.next > doc->count)
    return "next is out of bounds";
  while (child < node->u.at.next) {
    bool is_name = node->type == MRPC_JSON_OBJECT && children % 2 == 0;
    if (is_name && doc->nodes[child].type != MRPC_JSON_STRING)
      return "a name isn't a string";
    children++;
    child = mrpc_doc_next(doc, child);
  }
  if (child != node->u.at.next) return "a child is longer than its parent";
  if (node->type == MRPC_JSON_OBJECT && children % 2) return "a name is alone";
  if (node->type == MRPC_JSON_OBJECT) children /= 2;
  char close = doc->text[node->u.at.start - 1];
  if (close != (node->type == MRPC_JSON_OBJECT ? '}' : ']'))
    return "no bracket before the end";
  return children == node->size ? NULL : "the children are counted wrong";
}

JSON_HELPER const char *json_check_string(const mrpc_doc *doc, uint32_t i) {
  const mrpc_node *node = &doc->nodes[i];
  const char *raw = doc->text + node->u.at.start;
  char *plain = malloc(node->size ? node->size : 1);
  if (!plain) abort();
  size_t len = mrpc_json_unescape(raw, node->size, plain);
  const char *fault = NULL;
  if (raw[-1] != '"' || raw[node->size] != '"') fault = "no quotes around";
  if (len > node->size) fault = "unescaping makes it longer";
  if (!(node->flags & MRPC_JSON_ESCAPED) &&
      (len != node->size || memcmp(raw, plain, len) != 0))
    fault = "unescaping changes what has no escapes";
  if (!mrpc_doc_string_is(doc, i, plain, len)) fault = "it isn't what it is";
  if (mrpc_doc_string_is(doc, i, plain, len + 1)) fault = "it is longer";
  if (len && mrpc_doc_string_is(doc, i, plain, len - 1)) fault = "it is less";
  if (len) plain[len - 1] ^= 1;
  if (len && mrpc_doc_string_is(doc, i, plain, len)) fault = "it is another";
  free(plain);
  return fault;
}

JSON_HELPER bool json_same_number(const mrpc_node *a, const mrpc_node *b) {
  if (a->type == b->type) return a->u.i == b->u.i;
  /* A whole double is written as an integer. */
  const mrpc_node *d = a->type == MRPC_JSON_DOUBLE ? a : b, *i = d == a ? b : a;
  return i->type == MRPC_JSON_INT && (double)i->u.i == d->u.d &&
         i->u.i <= 1ll << 53 && i->u.i >= -(1ll << 53);
}

/* The raw span of a scalar, a text of its own. */
JSON_HELPER const char *json_check_raw(const mrpc_doc *doc, uint32_t i) {
  mrpc_doc one;
  size_t len;
  char *copy;
  const char *raw = mrpc_doc_raw(doc, i, &len), *fault = NULL;
  const mrpc_node *node = &doc->nodes[i];
  mrpc_doc_init(&one, doc->mem);
  if (json_parse_copy(&one, raw, len, 1, &copy))
    fault = "the raw text of a scalar isn't one";
  else if (one.count != 1 || one.nodes[0].type != node->type ||
           (node->type <= MRPC_JSON_DOUBLE && node->type >= MRPC_JSON_INT &&
            one.nodes[0].u.i != node->u.i))
    fault = "the raw text of a scalar is another";
  else if (node->type <= MRPC_JSON_DOUBLE && node->type >= MRPC_JSON_INT &&
           !mrpc_number_equal(raw, len, copy, len))
    fault = "a number isn't equal to itself";
  mrpc_doc_clear(&one);
  free(copy);
  return fault;
}

JSON_HELPER const char *json_check_nodes(const mrpc_doc *doc) {
  const char *fault = NULL;
  for (uint32_t i = 0; i < doc->count && !fault; i++) {
    uint8_t type = doc->nodes[i].type;
    if (type >= MRPC_JSON_ARRAY)
      fault = json_check_container(doc, i);
    else
      fault = json_check_raw(doc, i);
    if (!fault && type == MRPC_JSON_STRING) fault = json_check_string(doc, i);
  }
  if (!fault && mrpc_doc_next(doc, 0) != doc->count) fault = "a node too many";
  return fault;
}

/* Is it the same when it is written again? */

JSON_HELPER void json_write_scalar(const mrpc_doc *doc, uint32_t i,
                                   mrpc_buf *out) {
  const mrpc_node *node = &doc->nodes[i];
  if (node->type == MRPC_JSON_STRING) {
    char *plain = malloc(node->size ? node->size : 1);
    if (!plain) abort();
    size_t len =
        mrpc_json_unescape(doc->text + node->u.at.start, node->size, plain);
    mrpc_json_write_string(out, plain, len);
    free(plain);
  } else if (node->type == MRPC_JSON_INT) {
    mrpc_json_write_int(out, node->u.i);
  } else if (node->type == MRPC_JSON_DOUBLE) {
    mrpc_json_write_double(out, node->u.d);
  } else {
    size_t len;
    const char *raw = mrpc_doc_raw(doc, i, &len);
    mrpc_buf_add(out, raw, len);
  }
}

/* Writes node i and its children, as deep as the parser let them be; answers
 * the node behind. */
JSON_HELPER uint32_t json_write(const mrpc_doc *doc, uint32_t i,
                                mrpc_buf *out) {
  const mrpc_node *node = &doc->nodes[i];
  if (node->type < MRPC_JSON_ARRAY) {
    json_write_scalar(doc, i, out);
    return i + 1;
  }
  bool is_object = node->type == MRPC_JSON_OBJECT;
  mrpc_buf_addc(out, is_object ? '{' : '[');
  uint32_t child = i + 1;
  for (uint32_t n = 0; child < node->u.at.next; n++) {
    if (n > 0) mrpc_buf_addc(out, is_object && n % 2 ? ':' : ',');
    child = json_write(doc, child, out);
  }
  mrpc_buf_addc(out, is_object ? '}' : ']');
  return child;
}

JSON_HELPER bool json_same_string(const mrpc_doc *a, const mrpc_doc *b,
                                  uint32_t i) {
  uint32_t size = b->nodes[i].size;
  char *plain = malloc(size ? size : 1);
  if (!plain) abort();
  size_t len =
      mrpc_json_unescape(b->text + b->nodes[i].u.at.start, size, plain);
  bool same = mrpc_doc_string_is(a, i, plain, len);
  free(plain);
  return same;
}

JSON_HELPER bool json_same(const mrpc_doc *a, const mrpc_doc *b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    const mrpc_node *x = &a->nodes[i], *y = &b->nodes[i];
    bool is_number = x->type == MRPC_JSON_INT || x->type == MRPC_JSON_DOUBLE;
    if (is_number && !json_same_number(x, y)) return false;
    if (!is_number && x->type != y->type) return false;
    if (x->type == MRPC_JSON_STRING && !json_same_string(a, b, i)) return false;
    if (x->type >= MRPC_JSON_ARRAY &&
        (x->size != y->size || x->u.at.next != y->u.at.next))
      return false;
  }
  return true;
}

JSON_HELPER const char *json_check_written(const mrpc_doc *doc) {
  mrpc_buf out;
  mrpc_doc again;
  char *copy = NULL;
  const char *fault = NULL;
  mrpc_buf_init(&out, doc->mem, SIZE_MAX);
  mrpc_doc_init(&again, doc->mem);
  json_write(doc, 0, &out);
  if (out.err)
    fault = "it can't be written";
  else if (json_parse_copy(&again, out.data, out.len, UINT32_MAX, &copy))
    fault = "what is written can't be read";
  else if (!json_same(doc, &again))
    fault = "what is written reads as something else";
  mrpc_doc_clear(&again);
  mrpc_buf_clear(&out);
  free(copy);
  return fault;
}

#endif
