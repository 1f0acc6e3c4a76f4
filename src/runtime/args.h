/* SPDX-License-Identifier: MIT
 *
 * The params of a call as the arguments of a Lua function (DESIGN: Methods in
 * Lua): by position, or by the function's own parameter names. */
#ifndef MRPC_RUNTIME_ARGS_H
#define MRPC_RUNTIME_ARGS_H

#include "json/document.h"
#include "runtime/methods.h"

enum { MRPC_MAX_ARGS = 255 }; /* no Lua function has more parameters */

typedef struct mrpc_args {
  const mrpc_doc *doc;
  uint32_t params; /* node of the params, MRPC_NO_NODE */
  uint32_t count;  /* of arguments to push */
  bool by_name;    /* then `nodes` tells each one's node */
  bool whole;      /* the only argument is `params` itself */
  uint32_t nodes[MRPC_MAX_ARGS];
} mrpc_args;

/* Finds a node for each parameter. MRPC_EINVAL when they don't fit: `why` is
 * then a message for the peer, cut to `size`. */
int mrpc_args_match(const mrpc_lua_method *method, const mrpc_doc *doc,
                    uint32_t params, mrpc_args *out, char *why, size_t size);

/* Pushes them and says how many. May throw. stack: [] -> [argument...] */
int mrpc_args_push(lua_State *L, const mrpc_args *args);

#endif
