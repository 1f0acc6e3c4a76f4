/* SPDX-License-Identifier: MIT
 *
 * The first byte of a character tells how many follow, and which the second
 * may be: that keeps out overlong forms, surrogates and what lies beyond
 * U+10FFFF. ASCII passes in strides of eight bytes. */
#include "http/utf8.h"

#include <string.h>

static const char *skip_ascii(const char *at, const char *end) {
  uint64_t stride;
  while (end - at >= 8) {
    memcpy(&stride, at, 8);
    if (stride & UINT64_C(0x8080808080808080)) break;
    at += 8;
  }
  while (at < end && !(*at & 0x80)) at++;
  return at;
}

static bool begin(mrpc_utf8 *state, uint8_t byte) {
  if (byte < 0xc2 || byte > 0xf4) return false;
  state->left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
  state->low = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
  state->high = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
  return true;
}

static bool go_on(mrpc_utf8 *state, uint8_t byte) {
  if (byte < state->low || byte > state->high) return false;
  state->left--;
  state->low = 0x80;
  state->high = 0xbf;
  return true;
}

bool mrpc_utf8_feed(mrpc_utf8 *state, const char *bytes, size_t len) {
  const char *at = bytes, *end = bytes + len;
  while (at < end) {
    if (state->left == 0) at = skip_ascii(at, end);
    if (at == end) break;
    uint8_t byte = (uint8_t)*at++;
    if (!(state->left ? go_on(state, byte) : begin(state, byte))) return false;
  }
  return true;
}
