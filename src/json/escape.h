/* SPDX-License-Identifier: MIT
 *
 * What a backslash in a string means. Inside src/json only; the unescaper
 * itself is public, in parse.h. */
#ifndef MRPC_JSON_ESCAPE_H
#define MRPC_JSON_ESCAPE_H

#include <stdbool.h>

/* May `c` stand behind a backslash? */
static inline bool mrpc_is_escape(char c) {
  static const bool escapes[256] = {
      ['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true, ['f'] = true,
      ['n'] = true, ['r'] = true,  ['t'] = true, ['u'] = true};
  return escapes[(unsigned char)c];
}

/* The length of the escape at p, 0 when it is invalid or incomplete, -1 when
 * it is half of a surrogate pair without the other. */
int mrpc_escape_check(const char *p, const char *end);

#endif
