/* SPDX-License-Identifier: MIT
 *
 * Names of members as they were written last: `,"name":`. They repeat a lot,
 * and copying one costs less than looking for what must be escaped in it. A
 * name is told by the address of its Lua string, which stands for one text as
 * long as that lives: through one encoding, since no script runs in it and all
 * names belong to what is encoded. Each encoding is an epoch of its own. */
#ifndef MRPC_RUNTIME_NAMES_H
#define MRPC_RUNTIME_NAMES_H

#include <lua.h>

#include "base/buf.h"
#include "runtime/runtime.h"

enum {
  MRPC_NAME_SLOTS = 256, /* a power of two */
  MRPC_NAME_BYTES = 40   /* of the longest that is kept */
};

typedef struct mrpc_name {
  const char *key; /* bytes of the Lua string */
  uint32_t epoch;  /* when that was so; 0: never */
  uint32_t len;
  char text[MRPC_NAME_BYTES + 8]; /* is read from its second byte, too */
} mrpc_name;

struct mrpc_names {
  uint32_t epoch;
  mrpc_name slots[MRPC_NAME_SLOTS];
};

/* stack: [] -> []; the names are kept by the registry. May throw. */
mrpc_names *mrpc_names_new(lua_State *L);
/* Begins an encoding. */
void mrpc_names_begin(mrpc_names *names);
/* The slow way: writes the name and keeps it. */
int mrpc_names_add(mrpc_name *slot, uint32_t epoch, mrpc_buf *buf,
                   bool is_first, const char *key, size_t len);

/* Writes the name and its colon, and unless it is the first of its object the
 * comma. MRPC_ETYPE when it isn't valid UTF-8, or the buffer's state. */
static inline int mrpc_names_write(mrpc_names *names, mrpc_buf *buf,
                                   bool is_first, const char *key, size_t len) {
  mrpc_name *slot = &names->slots[((uintptr_t)key >> 4) % MRPC_NAME_SLOTS];
  bool is_kept = slot->key == key && slot->epoch == names->epoch &&
                 MRPC_NAME_BYTES <= buf->cap - buf->len && buf->err == MRPC_OK;
  if (!is_kept)
    return mrpc_names_add(slot, names->epoch, buf, is_first, key, len);
  memcpy(buf->data + buf->len, slot->text + is_first, MRPC_NAME_BYTES);
  buf->len += slot->len - is_first;
  return MRPC_OK;
}

#endif
