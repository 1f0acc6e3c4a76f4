/* SPDX-License-Identifier: MIT
 *
 * JSON to Lua values and back (DESIGN: JSON policy). null is rpc.null, a light
 * userdata of NULL; an array bears rpc.array's metatable. */
#ifndef MRPC_RUNTIME_CONVERT_H
#define MRPC_RUNTIME_CONVERT_H

#include <lua.h>

#include "json/document.h"
#include "runtime/runtime.h"

/* Neither direction goes deeper, whatever limits.depth says: both recur. */
enum { MRPC_MAX_NESTING = 1000 };

/* Pushes node `i` of a document and all below it; three slots of the stack
 * must be free. May throw.
 * stack: [] -> [value] */
void mrpc_push_node(lua_State *L, const mrpc_doc *doc, uint32_t i);

/* Where and why a value couldn't be written. */
typedef struct mrpc_encode_error {
  char text[200]; /* "result.users[3].score: not a finite number" */
} mrpc_encode_error;

/* Writes the value at `index` behind what is in `buf`; where there is none,
 * null. `root` names it in
 * paths ("result"). MRPC_ETYPE with `error` filled, or the buffer's state.
 * Doesn't throw, runs no script code, leaves the stack as it was. */
int mrpc_encode(lua_State *L, int index, mrpc_buf *buf, const char *root,
                mrpc_encode_error *error);

/* Makes the metatables and the key cache, puts `null`, `array` and `object`
 * into the table on top. May throw. */
void mrpc_convert_open(lua_State *L);

#endif
