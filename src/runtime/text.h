/* SPDX-License-Identifier: MIT
 *
 * Short texts put together in an array on the C stack, cut where they end. */
#ifndef MRPC_RUNTIME_TEXT_H
#define MRPC_RUNTIME_TEXT_H

#include <stdint.h>
#include <string.h>

typedef struct mrpc_text {
  char *to;  /* the next byte; always a NUL */
  char *end; /* the array's last byte */
} mrpc_text;

static inline mrpc_text mrpc_text_in(char *array, size_t size) {
  *array = '\0';
  return (mrpc_text){array, array + size - 1};
}

/* Doesn't cut a UTF-8 sequence in two. */
static inline void mrpc_text_addn(mrpc_text *text, const char *bytes,
                                  size_t len) {
  size_t room = (size_t)(text->end - text->to);
  if (len > room)
    for (len = room; len && (bytes[len] & 0xC0) == 0x80;) len--;
  memcpy(text->to, bytes, len);
  text->to += len;
  *text->to = '\0';
}

static inline void mrpc_text_add(mrpc_text *text, const char *bytes) {
  mrpc_text_addn(text, bytes, strlen(bytes));
}

static inline void mrpc_text_addu(mrpc_text *text, uint64_t value) {
  char digits[20];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + value % 10);
  while (value /= 10);
  mrpc_text_addn(text, digits + at, sizeof digits - at);
}

#endif
