/* SPDX-License-Identifier: MIT
 *
 * What developers are told of a name that isn't found: that nothing is there
 * at all, or which method they may have meant. */
#include <string.h>

#include "rpc/core.h"
#include "rpc/dispatch.h"

enum { LONGEST = 64 }; /* name that may be a slip of the hand */

static const char *find_nearest(const mrpc_map *map, const char *name,
                                const char *nearest) {
  uint32_t at = 0;
  const mrpc_method *method;
  while ((method = mrpc_map_next(map, &at)))
    nearest = mrpc_nearer(name, nearest, method->name);
  return nearest;
}

static void add_nearest(const mrpc_dispatch *dispatch, const char *name,
                        size_t len, mrpc_buf *to) {
  char word[LONGEST + 1];
  if (len > LONGEST || memchr(name, '\0', len)) return;
  memcpy(word, name, len);
  word[len] = '\0';
  const char *nearest = find_nearest(dispatch->scripted, word, NULL);
  nearest = find_nearest(&dispatch->native, word, nearest);
  if (!nearest) return;
  mrpc_buf_lit(to, ", the nearest is \"");
  mrpc_buf_adds(to, nearest);
  mrpc_buf_addc(to, '"');
}

void mrpc_dispatch_explain(const mrpc_dispatch *dispatch, const char *name,
                           size_t len, mrpc_buf *to) {
  if (dispatch->hint) {
    mrpc_buf_adds(to, dispatch->hint);
    return;
  }
  mrpc_buf_lit(to, "no method \"");
  mrpc_buf_add(to, name, len);
  mrpc_buf_addc(to, '"');
  add_nearest(dispatch, name, len, to);
}

void mrpc_dispatch_set_hint(mrpc_dispatch *dispatch, const char *hint) {
  dispatch->hint = hint;
}
