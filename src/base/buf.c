/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

enum { FIRST_CAP = 256 };

void mrpc_buf_init(mrpc_buf *buf, const mrpc_mem *mem, size_t limit) {
  *buf = (mrpc_buf){.limit = limit, .mem = mem};
}

void mrpc_buf_clear(mrpc_buf *buf) {
  mrpc_mem_free(buf->mem, buf->data, buf->cap);
  mrpc_buf_init(buf, buf->mem, buf->limit);
}

/* Doubling keeps additions linear; the last step stops at the limit. */
static size_t next_cap(const mrpc_buf *buf, size_t need) {
  size_t cap = buf->cap ? buf->cap : FIRST_CAP;
  while (cap < need) cap = cap > SIZE_MAX / 2 ? need : cap * 2;
  if (cap > buf->limit && need <= buf->limit) cap = buf->limit;
  return cap;
}

char *mrpc_buf_grow(mrpc_buf *buf, size_t more) {
  if (buf->err != MRPC_OK) return NULL;
  if (more > buf->limit || buf->len > buf->limit - more) {
    buf->err = MRPC_ELIMIT;
    return NULL;
  }
  if (more <= buf->cap - buf->len && buf->data) return buf->data + buf->len;
  size_t cap = next_cap(buf, buf->len + more);
  char *data = mrpc_mem_resize(buf->mem, buf->data, buf->cap, cap);
  if (!data) {
    buf->err = MRPC_ENOMEM;
    return NULL;
  }
  buf->data = data;
  buf->cap = cap;
  return data + buf->len;
}

void mrpc_buf_replace(mrpc_buf *buf, size_t at, size_t len, char byte,
                      char by) {
  if (len == 0) return;
  char *from = buf->data + at, *end = from + len;
  while ((from = memchr(from, byte, (size_t)(end - from)))) *from = by;
}

void mrpc_buf_consume(mrpc_buf *buf, size_t len) {
  buf->len -= len;
  if (buf->len) memmove(buf->data, buf->data + len, buf->len);
}

void mrpc_buf_relax(mrpc_buf *buf, size_t keep) {
  if (buf->len == 0 && buf->cap > keep) mrpc_buf_clear(buf);
}

void mrpc_buf_addu(mrpc_buf *buf, uint64_t value) {
  char digits[20];
  size_t at = sizeof digits;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  mrpc_buf_add(buf, digits + at, sizeof digits - at);
}
