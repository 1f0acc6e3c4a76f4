/* SPDX-License-Identifier: MIT */
#include "runtime/args.h"

#include <lauxlib.h>
#include <string.h>

#include "rpc/call.h"
#include "runtime/convert.h"

/* --- messages ------------------------------------------------------------- */

/* Joins a message of three parts, the middle one with its length. Doesn't cut
 * a UTF-8 sequence in two. */
static int refuse(char *why, size_t size, const char *before,
                  const char *middle, size_t len, const char *after) {
  size_t fixed = strlen(before) + strlen(after) + 1;
  if (len > size - fixed) len = size - fixed;
  while (len && (middle[len] & 0xC0) == 0x80) len--;
  size_t at = strlen(before);
  memcpy(why, before, at);
  memcpy(why + at, middle, len);
  memcpy(why + at + len, after, strlen(after) + 1);
  return MRPC_EINVAL;
}

static int refuse_count(char *why, size_t size, uint32_t takes,
                        uint32_t given) {
  char text[48];
  char *at = text + sizeof text;
  size_t len;
  do *--at = (char)('0' + given % 10);
  while (given /= 10);
  at -= 6;
  memcpy(at, ", not ", 6);
  if (takes == 0) {
    at -= 2;
    memcpy(at, "no", 2);
  }
  for (; takes; takes /= 10) *--at = (char)('0' + takes % 10);
  len = (size_t)(text + sizeof text - at);
  return refuse(why, size, "Invalid params: the method takes ", at, len, "");
}

/* --- matching ------------------------------------------------------------- */

static int match_positions(const mrpc_lua_method *method, mrpc_args *args,
                           char *why, size_t size) {
  uint32_t given = args->doc->nodes[args->params].size;
  if (!method->is_vararg && given > method->param_count)
    return refuse_count(why, size, method->param_count, given);
  args->count = given;
  return MRPC_OK;
}

/* The index of the parameter that the member at node `i` names, or -1. */
static int find_parameter(const mrpc_lua_method *method, const mrpc_doc *doc,
                          uint32_t i) {
  for (int n = 0; n < method->param_count; n++) {
    const char *name = method->params[n];
    if (mrpc_doc_string_is(doc, i, name, strlen(name))) return n;
  }
  return -1;
}

static int match_names(const mrpc_lua_method *method, mrpc_args *args,
                       char *why, size_t size) {
  const mrpc_doc *doc = args->doc;
  uint32_t i = args->params + 1, end = doc->nodes[args->params].u.at.next;
  if (method->is_vararg)
    return refuse(why, size, "Invalid params: the method takes", "", 0,
                  " no named parameters");
  args->by_name = true;
  args->count = method->param_count;
  for (uint32_t n = 0; n < args->count; n++) args->nodes[n] = MRPC_NO_NODE;
  while (i < end) {
    int n = find_parameter(method, doc, i);
    if (n < 0) {
      const mrpc_node *key = &doc->nodes[i];
      return refuse(why, size, "Invalid params: no parameter is called '",
                    doc->text + key->u.at.start, key->size, "'");
    }
    args->nodes[n] = i + 1;
    i = mrpc_doc_next(doc, i + 1);
  }
  return MRPC_OK;
}

int mrpc_args_match(const mrpc_lua_method *method, const mrpc_doc *doc,
                    uint32_t params, mrpc_args *args, char *why, size_t size) {
  args->doc = doc;
  args->params = params;
  args->count = 0;
  args->by_name = false;
  args->whole = method->takes_params;
  if (params == MRPC_NO_NODE || args->whole) return MRPC_OK;
  if (doc->nodes[params].type == MRPC_JSON_ARRAY)
    return match_positions(method, args, why, size);
  return match_names(method, args, why, size);
}

/* --- pushing -------------------------------------------------------------- */

/* An argument that is null is nil. */
static void push_argument(lua_State *L, const mrpc_args *args, uint32_t node) {
  if (node == MRPC_NO_NODE || args->doc->nodes[node].type == MRPC_JSON_NULL)
    lua_pushnil(L);
  else
    mrpc_push_node(L, args->doc, node);
}

void mrpc_args_push(lua_State *L, const mrpc_args *args) {
  if (args->whole) {
    push_argument(L, args, args->params);
    return;
  }
  if (args->count > LUAI_MAXSTACK / 2) luaL_error(L, "too many arguments");
  luaL_checkstack(L, (int)args->count + 1, "too many arguments");
  uint32_t node = args->params + 1;
  for (uint32_t n = 0; n < args->count; n++) {
    push_argument(L, args, args->by_name ? args->nodes[n] : node);
    if (!args->by_name) node = mrpc_doc_next(args->doc, node);
  }
}
