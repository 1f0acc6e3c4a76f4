/* SPDX-License-Identifier: MIT
 *
 * A text that follows another must come out as if it had been alone. */
#ifndef MRPC_TEST_REPEAT_H
#define MRPC_TEST_REPEAT_H

#include "json.h"
#include "json/repeat.h"

typedef struct repeat {
  mrpc_repeat before;
  mrpc_doc doc, alone;
  bool mended; /* the last one */
} repeat;

JSON_HELPER void repeat_init(repeat *r, const mrpc_mem *mem) {
  r->before = (mrpc_repeat){0};
  mrpc_doc_init(&r->doc, mem);
  mrpc_doc_init(&r->alone, mem);
}

JSON_HELPER void repeat_clear(repeat *r) {
  mrpc_doc_clear(&r->doc);
  mrpc_doc_clear(&r->alone);
}

/* Parses the text behind those before it, and alone. NULL, or what differs. */
JSON_HELPER const char *repeat_check(repeat *r, const char *text, size_t len,
                                     uint32_t depth) {
  char *copy;
  int alone = json_parse_copy(&r->alone, text, len, depth, &copy);
  int rc = mrpc_repeat_parse(&r->before, &r->doc, len ? copy : copy + 1, len,
                             depth, &r->mended);
  const char *fault = NULL;
  if (rc != alone)
    fault = "another outcome";
  else if (rc && (r->doc.error != r->alone.error ||
                  r->doc.error_at != r->alone.error_at))
    fault = "another error";
  else if (!rc && (r->doc.count != r->alone.count || r->doc.len != len ||
                   r->doc.text != r->alone.text ||
                   memcmp(r->doc.nodes, r->alone.nodes,
                          r->doc.count * sizeof *r->doc.nodes) != 0))
    fault = "another document";
  free(copy);
  return fault;
}

#endif
