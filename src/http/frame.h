/* SPDX-License-Identifier: MIT
 *
 * How a frame lies in bytes (RFC 6455 section 5.2), for the plain ones: those
 * that we write, and a whole text, as nearly all are that we read. */
#ifndef MRPC_HTTP_FRAME_H
#define MRPC_HTTP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  MRPC_WS_CONTROL_MAX = 125, /* bytes of a control frame's payload */
  MRPC_WS_KEY_SIZE = 4,      /* bytes of a mask's key */
  MRPC_WS_HEAD_MAX = 14      /* bytes before a payload, the key included */
};

/* Writes the head of a frame that is a whole message, but for the key; answers
 * its length. */
size_t mrpc_ws_write_head(char *to, uint8_t opcode, size_t len, bool is_masked);

/* Masks or unmasks; the key stands at any address. */
void mrpc_ws_xor(char *to, const char *bytes, size_t len, const char *key);

/* Is it a whole text frame that stands at the beginning of these bytes, masked
 * or not as it must be, and without a fault? Answers the length of its head,
 * with the key at its end, and that of its payload; 0 when it isn't. */
size_t mrpc_ws_measure_text(const char *bytes, size_t len, bool is_masked,
                            size_t *size);

#endif
