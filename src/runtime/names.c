/* SPDX-License-Identifier: MIT */
#include "runtime/names.h"

#include "json/write.h"

static const char names_key; /* in the registry: its address counts */

mrpc_names *mrpc_names_new(lua_State *L) {
  mrpc_names *names = lua_newuserdatauv(L, sizeof *names, 0);
  memset(names, 0, sizeof *names);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
  return names;
}

/* When the numbers begin anew, no slot may bear one of the last round. */
void mrpc_names_begin(mrpc_names *names) {
  if (++names->epoch) return;
  memset(names, 0, sizeof *names);
  names->epoch = 1;
}

static void keep(mrpc_name *slot, uint32_t epoch, const void *key,
                 const char *text, size_t len) {
  slot->key = key;
  slot->epoch = epoch;
  slot->len = (uint32_t)len + 1;
  memcpy(slot->text, text, len);
}

int mrpc_names_add(mrpc_names *names, mrpc_buf *buf, char before,
                   const void *key, const char *text, size_t len) {
  mrpc_buf_addc(buf, before);
  size_t mark = buf->len;
  int rc = mrpc_json_write_string(buf, text, len);
  if (rc) return rc;
  mrpc_buf_addc(buf, ':');
  size_t written = buf->len - mark;
  if (buf->err == MRPC_OK && written <= MRPC_NAME_BYTES)
    keep(mrpc_names_slot(names, key), names->epoch, key, buf->data + mark,
         written);
  return buf->err;
}
