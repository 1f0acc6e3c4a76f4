/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a JSON text. What is refused must say where; what is accepted
 * must have sound nodes and be the same document when it is written again, and
 * whatever follows it must come out as if it were alone. Any bytes as a string,
 * too: what can be written reads as it was. */
#include <stdint.h>

#include "repeat.h"

static void check(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "fuzz_json: %s\n", what);
  abort();
}

static void check_text(mrpc_doc *doc, const char *text, size_t len) {
  int code = mrpc_json_parse(doc, text, len, 200);
  if (code != MRPC_OK) {
    check(code == MRPC_ESYNTAX || code == MRPC_ELIMIT, "a strange code");
    check(doc->error && doc->error[0] && doc->error_at <= len && !doc->count,
          "the error isn't told");
    return;
  }
  const char *fault = json_check_nodes(doc);
  check(!fault, fault);
  fault = json_check_written(doc);
  check(!fault, fault);
}

static void check_string(mrpc_doc *doc, const char *text, size_t len) {
  mrpc_buf plain, lossy;
  mrpc_buf_init(&plain, doc->mem, SIZE_MAX);
  mrpc_buf_init(&lossy, doc->mem, SIZE_MAX);
  int code = mrpc_json_write_string(&plain, text, len);
  check(mrpc_json_write_text(&lossy, text, len) == MRPC_OK,
        "text isn't written");
  check(mrpc_json_parse(doc, lossy.data, lossy.len, 0) == MRPC_OK,
        "written text isn't valid");
  if (code == MRPC_OK) {
    check(plain.len == lossy.len && !memcmp(plain.data, lossy.data, plain.len),
          "valid text is changed");
    check(mrpc_doc_string_is(doc, 0, text, len), "a string isn't what it was");
    mrpc_buf_clear(&lossy);
    mrpc_buf_init(&lossy, doc->mem, plain.len);
    check(mrpc_json_write_string(&lossy, text, len) == MRPC_OK,
          "it doesn't fit where it fits");
  } else {
    check(code == MRPC_ETYPE && plain.len == 0, "something is written");
  }
  mrpc_buf_clear(&plain);
  mrpc_buf_clear(&lossy);
}

/* The first half of the bytes against the second, as numbers. */
static void check_number(mrpc_doc *doc, const char *text, size_t len) {
  size_t half = len / 2;
  double d;
  if (mrpc_json_parse(doc, text, half, 0) != MRPC_OK) return;
  if (doc->nodes[0].type != MRPC_JSON_DOUBLE) return;
  char *copy;
  size_t rawlen;
  const char *raw = mrpc_doc_raw(doc, 0, &rawlen);
  check(mrpc_double_read(raw, rawlen, &d), "a double out of range is accepted");
  check(memcmp(&d, &doc->nodes[0].u.d, sizeof d) == 0, "two ways, two doubles");
  bool other = json_parse_copy(doc, text + half, len - half, 0, &copy) == 0 &&
               doc->nodes[0].type <= MRPC_JSON_DOUBLE &&
               doc->nodes[0].type >= MRPC_JSON_INT;
  if (other) {
    const char *second = mrpc_doc_raw(doc, 0, &half);
    bool equal = mrpc_number_equal(raw, rawlen, second, half);
    double e = doc->nodes[0].type == MRPC_JSON_INT ? (double)doc->nodes[0].u.i
                                                   : doc->nodes[0].u.d;
    check(equal == mrpc_number_equal(second, half, raw, rawlen),
          "equality has a direction");
    check(!equal || d == e, "equal decimals, different doubles");
  }
  free(copy);
}

/* The last two bytes change one of those before them. */
static void check_repeat(const mrpc_mem *mem, const uint8_t *data,
                         size_t size) {
  if (size < 3 || size > MRPC_REPEAT_MAX) return;
  size_t len = size - 2;
  char text[MRPC_REPEAT_MAX];
  repeat r;
  repeat_init(&r, mem);
  memcpy(text, data, len);
  const char *fault = repeat_check(&r, text, len, 200);
  text[data[len] % len] = (char)data[len + 1];
  if (!fault) fault = repeat_check(&r, text, len, 200);
  check(!fault, fault);
  repeat_clear(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mrpc_mem mem = {mrpc_mem_default, NULL};
  mrpc_doc doc;
  mrpc_doc_init(&doc, &mem);
  check_text(&doc, (const char *)data, size);
  check_string(&doc, (const char *)data, size);
  check_number(&doc, (const char *)data, size);
  check_repeat(&mem, data, size);
  mrpc_doc_clear(&doc);
  return 0;
}
