/* SPDX-License-Identifier: MIT
 *
 * What the methods of methods.h do with their params. */
#ifndef MRPC_TEST_ARGS_H
#define MRPC_TEST_ARGS_H

#include <string.h>

#include "json/write.h"
#include "moonrpc.h"
#include "rpc/call.h"

enum { METHODS_MAX_ARGS = 3 };

/* Arguments by position or by name. False when they don't fit. */
static bool methods_args(const mrpc_call *call, const char *const *names,
                         uint32_t count, uint32_t out[METHODS_MAX_ARGS]) {
  uint32_t params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  for (uint32_t i = 0; i < count; i++) out[i] = MRPC_NO_NODE;
  if (params == MRPC_NO_NODE) return true;
  const mrpc_node *root = &doc->nodes[params];
  bool is_array = root->type == MRPC_JSON_ARRAY;
  uint32_t at = params + 1;
  for (uint32_t i = 0; i < root->size; i++) {
    uint32_t k = 0, value = is_array ? at : at + 1;
    if (is_array)
      k = i;
    else
      while (k < count &&
             !mrpc_doc_string_is(doc, at, names[k], strlen(names[k])))
        k++;
    if (k >= count) return false;
    out[k] = value;
    at = mrpc_doc_next(doc, value);
  }
  return true;
}

static bool methods_number(const mrpc_doc *doc, uint32_t node, double *out) {
  if (node == MRPC_NO_NODE) return false;
  const mrpc_node *n = &doc->nodes[node];
  if (n->type == MRPC_JSON_INT) *out = (double)n->u.i;
  if (n->type == MRPC_JSON_DOUBLE) *out = n->u.d;
  return n->type == MRPC_JSON_INT || n->type == MRPC_JSON_DOUBLE;
}

static int methods_invalid(mrpc_call *call) {
  return mrpc_call_error(call, MRPC_INVALID_PARAMS, "Invalid params", NULL);
}

static int methods_answer_number(mrpc_call *call, double value) {
  mrpc_json_write_double(mrpc_call_open_result(call), value);
  return mrpc_call_close_result(call);
}

#endif
