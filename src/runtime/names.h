/* SPDX-License-Identifier: MIT
 *
 * Names of members as they were written last: `"name":`. They repeat a lot,
 * and copying one costs less than looking for what must be escaped in it. A
 * name is told by the address of its Lua string (lua_topointer), which stands
 * for one text as long as that lives: through one encoding, since no script
 * runs in it and all names belong to what is encoded. A key that is kept needs
 * no further look: no script can make another kind of key that has the address
 * of a string. Each encoding is an epoch of its own. */
#ifndef MRPC_RUNTIME_NAMES_H
#define MRPC_RUNTIME_NAMES_H

#include <lua.h>

#include "base/buf.h"
#include "runtime/runtime.h"

enum {
  MRPC_NAME_SLOTS = 256, /* a power of two */
  MRPC_NAME_BYTES = 48   /* of the longest that is kept */
};

typedef struct mrpc_name {
  const void *key; /* the Lua string, by lua_topointer */
  uint32_t epoch;  /* when that was so; 0: never */
  uint32_t len;    /* with what stands before it */
  char text[MRPC_NAME_BYTES];
} mrpc_name;

struct mrpc_names {
  uint32_t epoch;
  mrpc_name slots[MRPC_NAME_SLOTS];
};

/* stack: [] -> []; the names are kept by the registry. May throw. */
mrpc_names *mrpc_names_new(lua_State *L);
/* Begins an encoding. */
void mrpc_names_begin(mrpc_names *names);
/* The slow way: writes a name, and keeps it for that address. MRPC_ETYPE when
 * it isn't valid UTF-8, or the buffer's state. */
int mrpc_names_add(mrpc_names *names, mrpc_buf *buf, char before,
                   const void *key, const char *text, size_t len);

/* The slot of the string object at that address. */
static inline mrpc_name *mrpc_names_slot(mrpc_names *names, const void *key) {
  return &names->slots[((uintptr_t)key >> 4) % MRPC_NAME_SLOTS];
}

/* Writes the name at that address with its colon, behind `before`; false when
 * it isn't kept, or room is scarce. */
static inline bool mrpc_names_write(mrpc_names *names, mrpc_buf *buf,
                                    char before, const void *key) {
  const mrpc_name *slot = mrpc_names_slot(names, key);
  bool is_kept = slot->key == key && slot->epoch == names->epoch &&
                 mrpc_buf_has_room(buf, MRPC_NAME_BYTES + 1);
  if (!is_kept) return false;
  char *to = buf->data + buf->len;
  to[0] = before;
  memcpy(to + 1, slot->text, MRPC_NAME_BYTES);
  buf->len += slot->len;
  return true;
}

#endif
