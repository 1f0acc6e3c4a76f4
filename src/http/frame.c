/* SPDX-License-Identifier: MIT */
#include "http/frame.h"

#include <string.h>

enum {
  FIN_TEXT = 0x81, /* first byte of a text of one frame */
  MASKED = 0x80,   /* bit of the second byte */
  TWO = 126,       /* two bytes of length follow */
  EIGHT = 127      /* eight do */
};

size_t mrpc_ws_write_head(char *to, uint8_t opcode, size_t len,
                          bool is_masked) {
  size_t more = len > UINT16_MAX ? 8 : len >= TWO ? 2 : 0;
  size_t second = more == 8 ? EIGHT : more == 2 ? TWO : len;
  to[0] = (char)(0x80 | opcode);
  to[1] = (char)(second | (is_masked ? MASKED : 0));
  for (size_t i = 0; i < more; i++)
    to[2 + i] = (char)((uint64_t)len >> 8 * (more - 1 - i));
  return 2 + more;
}

void mrpc_ws_xor(char *to, const char *bytes, size_t len, const char *key) {
  uint64_t keys, eight;
  size_t at = 0;
  memcpy(&keys, key, MRPC_WS_KEY_SIZE);
  memcpy((char *)&keys + MRPC_WS_KEY_SIZE, key, MRPC_WS_KEY_SIZE);
  for (; len - at >= 8; at += 8) {
    memcpy(&eight, bytes + at, 8);
    eight ^= keys;
    memcpy(to + at, &eight, 8);
  }
  for (; at < len; at++) to[at] = (char)(bytes[at] ^ key[at & 3]);
}

size_t mrpc_ws_measure_text(const char *bytes, size_t len, bool is_masked,
                            size_t *size) {
  const unsigned char *head = (const unsigned char *)bytes;
  size_t at = 2;
  bool is_text = len > 1 && head[0] == FIN_TEXT;
  if (!is_text || (head[1] >= MASKED) != is_masked) return 0;
  *size = head[1] & ~(unsigned)MASKED;
  if (*size == TWO && len >= 4) {
    *size = (size_t)head[2] << 8 | head[3];
    at = 4;
    if (*size < TWO) return 0; /* more bytes than it needs */
  }
  if (*size >= TWO && at == 2) return 0;
  if (is_masked) at += MRPC_WS_KEY_SIZE;
  return at + *size <= len ? at : 0;
}
