/* SPDX-License-Identifier: MIT
 *
 * Is it UTF-8 (RFC 3629)? Asked piece by piece, so that the first wrong byte
 * is known when it arrives, wherever the pieces are cut. */
#ifndef MRPC_HTTP_UTF8_H
#define MRPC_HTTP_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: between two characters. */
typedef struct mrpc_utf8 {
  uint8_t left; /* bytes of the character that are to come */
  uint8_t low;  /* what the next of them may be, at least and at most */
  uint8_t high;
} mrpc_utf8;

/* False at a byte that can't stand there; then the state is of no use. */
bool mrpc_utf8_feed(mrpc_utf8 *state, const char *bytes, size_t len);

/* May the text end here? */
static inline bool mrpc_utf8_is_whole(const mrpc_utf8 *state) {
  return state->left == 0;
}

#endif
