/* SPDX-License-Identifier: MIT
 *
 * A piece of text that stands somewhere else, without a NUL at its end. */
#ifndef MRPC_FRAMING_TEXT_H
#define MRPC_FRAMING_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct mrpc_text {
  const char *at; /* NULL: there is none */
  size_t len;
} mrpc_text;

static inline mrpc_text mrpc_text_of(const char *string) {
  return (mrpc_text){string, string ? strlen(string) : 0};
}

/* Equal, when ASCII case doesn't count, in whatever locale? */
bool mrpc_text_is(mrpc_text a, mrpc_text b);
/* Does it begin like that, when ASCII case doesn't count? */
bool mrpc_text_starts(mrpc_text a, const char *with);
/* Is it a token (RFC 9110 section 5.6.2)? */
bool mrpc_text_is_token(mrpc_text a);

#define MRPC_TEXT_IS(text, literal) \
  mrpc_text_is((text), (mrpc_text){(literal), sizeof(literal) - 1})

static inline mrpc_text mrpc_text_skip(mrpc_text a, size_t len) {
  return (mrpc_text){a.at + len, a.len - len};
}

/* Without spaces and tabs around it (RFC 9110 section 5.6.3). */
static inline mrpc_text mrpc_text_trim(mrpc_text a) {
  while (a.len && (*a.at == ' ' || *a.at == '\t')) a = mrpc_text_skip(a, 1);
  while (a.len && (a.at[a.len - 1] == ' ' || a.at[a.len - 1] == '\t')) a.len--;
  return a;
}

/* What stands before the first `c`, or all. */
static inline mrpc_text mrpc_text_until(mrpc_text a, char c) {
  const char *end = a.len ? memchr(a.at, c, a.len) : NULL;
  return (mrpc_text){a.at, end ? (size_t)(end - a.at) : a.len};
}

#endif
