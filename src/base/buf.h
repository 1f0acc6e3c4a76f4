/* SPDX-License-Identifier: MIT
 *
 * A growable byte buffer that is told its maximum at birth. A failure sticks:
 * later additions do nothing, so that a chain of them needs one check at its
 * end. What was added before the failure stays; mrpc_buf_truncate goes back
 * to a mark and forgives. */
#ifndef MRPC_BASE_BUF_H
#define MRPC_BASE_BUF_H

#include <stdbool.h>
#include <string.h>

#include "base/hint.h"
#include "base/mem.h"

typedef struct mrpc_buf {
  char *data;
  size_t len;
  size_t cap;
  size_t limit; /* no growth beyond it; lower it later and cap stays */
  int err;      /* MRPC_OK, MRPC_ELIMIT or MRPC_ENOMEM */
  const mrpc_mem *mem;
} mrpc_buf;

void mrpc_buf_init(mrpc_buf *buf, const mrpc_mem *mem, size_t limit);
/* Frees the memory; the buffer is empty and usable again. */
void mrpc_buf_clear(mrpc_buf *buf);
/* Slow path of mrpc_buf_reserve. */
char *mrpc_buf_grow(mrpc_buf *buf, size_t more);
/* Puts `by` in the place of each `byte` in [at, at + len). */
void mrpc_buf_replace(mrpc_buf *buf, size_t at, size_t len, char byte, char by);
/* Drops the first `len` bytes. */
void mrpc_buf_consume(mrpc_buf *buf, size_t len);
/* Frees the memory of an empty buffer that holds more than `keep` bytes. */
void mrpc_buf_relax(mrpc_buf *buf, size_t keep);

/* Is there room for `more` bytes, without growth? */
MRPC_INLINE bool mrpc_buf_has_room(const mrpc_buf *buf, size_t more) {
  return buf->err == MRPC_OK && more <= buf->cap - buf->len;
}

/* Room for `more` bytes behind the content, or NULL. Write there, then add
 * the count to len. */
static inline char *mrpc_buf_reserve(mrpc_buf *buf, size_t more) {
  if (MRPC_LIKELY(mrpc_buf_has_room(buf, more))) return buf->data + buf->len;
  return mrpc_buf_grow(buf, more);
}

/* Adds at least one byte. */
MRPC_INLINE void mrpc_buf_put(mrpc_buf *buf, const char *bytes, size_t len) {
  char *to = mrpc_buf_reserve(buf, len);
  if (MRPC_UNLIKELY(!to)) return;
  memcpy(to, bytes, len);
  buf->len += len;
}

static inline void mrpc_buf_add(mrpc_buf *buf, const char *bytes, size_t len) {
  if (len == 0) return; /* an empty buffer's data is NULL: no sums with it */
  mrpc_buf_put(buf, bytes, len);
}

MRPC_INLINE void mrpc_buf_addc(mrpc_buf *buf, char c) {
  mrpc_buf_put(buf, &c, 1);
}

/* Adds a string literal: its few bytes are stored in line. */
#define mrpc_buf_lit(buf, text) mrpc_buf_put((buf), (text), sizeof(text) - 1)

static inline void mrpc_buf_adds(mrpc_buf *buf, const char *text) {
  mrpc_buf_add(buf, text, strlen(text));
}

/* Adds an unsigned number in decimal. */
void mrpc_buf_addu(mrpc_buf *buf, uint64_t value);

static inline void mrpc_buf_truncate(mrpc_buf *buf, size_t mark) {
  buf->len = mark;
  buf->err = MRPC_OK;
}

#endif
