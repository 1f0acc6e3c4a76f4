/* SPDX-License-Identifier: MIT
 *
 * Matching finds a node for each parameter and can refuse; it runs before the
 * task exists. Pushing makes the values, inside the task, where it may throw.
 */
#include "runtime/args.h"

#include <lauxlib.h>
#include <string.h>

#include "rpc/call.h"
#include "runtime/convert.h"
#include "runtime/text.h"

/* Matching. */

/* Begins the message of a refusal. */
static mrpc_text refuse(char *why, size_t size) {
  mrpc_text text = mrpc_text_in(why, size);
  mrpc_text_add(&text, "Invalid params: ");
  return text;
}

MRPC_COLD static int refuse_count(const mrpc_lua_method *method, uint32_t given,
                                  char *why, size_t size) {
  mrpc_text text = refuse(why, size);
  mrpc_text_add(&text, "the method takes ");
  if (method->param_count)
    mrpc_text_addu(&text, method->param_count);
  else
    mrpc_text_add(&text, "none");
  mrpc_text_add(&text, ", not ");
  mrpc_text_addu(&text, given);
  return MRPC_EINVAL;
}

static int match_positions(const mrpc_lua_method *method, mrpc_args *args,
                           char *why, size_t size) {
  uint32_t given = args->doc->nodes[args->params].size;
  args->count = given;
  if (method->is_vararg || given <= method->param_count) return MRPC_OK;
  return refuse_count(method, given, why, size);
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

static int refuse_name(const mrpc_doc *doc, uint32_t i, char *why,
                       size_t size) {
  enum { SHOWN = 80 };
  const mrpc_node *key = &doc->nodes[i];
  mrpc_text text = refuse(why, size), name;
  mrpc_text_add(&text, "no parameter is called '");
  name = text;
  if (name.end - name.to > SHOWN) name.end = name.to + SHOWN;
  mrpc_text_addn(&name, doc->text + key->u.at.start, key->size);
  text.to = name.to;
  mrpc_text_add(&text, "'");
  return MRPC_EINVAL;
}

static int match_names(const mrpc_lua_method *method, mrpc_args *args,
                       char *why, size_t size) {
  const mrpc_doc *doc = args->doc;
  uint32_t i = args->params + 1, end = doc->nodes[args->params].u.at.next;
  if (method->is_vararg) {
    mrpc_text text = refuse(why, size);
    mrpc_text_add(&text, "the method takes them by position only");
    return MRPC_EINVAL;
  }
  args->by_name = true;
  args->count = method->param_count;
  for (uint32_t n = 0; n < args->count; n++) args->nodes[n] = MRPC_NO_NODE;
  while (i < end) {
    int n = find_parameter(method, doc, i);
    if (n < 0) return refuse_name(doc, i, why, size);
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

/* Pushing. */

/* An argument that is null is nil. Numbers, the most of all, take the short
 * way. */
static inline void push_argument(lua_State *L, const mrpc_doc *doc,
                                 uint32_t i) {
  const mrpc_node *node = &doc->nodes[i];
  switch (node->type) {
    case MRPC_JSON_NULL: lua_pushnil(L); break;
    case MRPC_JSON_INT: lua_pushinteger(L, node->u.i); break;
    case MRPC_JSON_DOUBLE: lua_pushnumber(L, node->u.d); break;
    default: mrpc_push_node(L, doc, i);
  }
}

/* The same of a parameter that may have been left out. */
static void push_parameter(lua_State *L, const mrpc_args *args, uint32_t i) {
  if (i == MRPC_NO_NODE)
    lua_pushnil(L);
  else
    push_argument(L, args->doc, i);
}

static void make_room(lua_State *L, uint32_t count) {
  if (count > LUAI_MAXSTACK / 2) luaL_error(L, "too many arguments");
  luaL_checkstack(L, (int)count + 4, "too many arguments");
}

int mrpc_args_push(lua_State *L, const mrpc_args *args) {
  const mrpc_doc *doc = args->doc;
  if (args->whole) {
    push_parameter(L, args, args->params);
    return 1;
  }
  if (args->count > LUA_MINSTACK / 2) make_room(L, args->count);
  if (args->by_name) {
    for (uint32_t n = 0; n < args->count; n++)
      push_parameter(L, args, args->nodes[n]);
    return (int)args->count;
  }
  uint32_t node = args->params + 1;
  for (uint32_t left = args->count; left; left--) {
    push_argument(L, doc, node);
    node = mrpc_doc_next(doc, node);
  }
  return (int)args->count;
}
