/* SPDX-License-Identifier: MIT
 *
 * What WebSocket's handshake needs to prove that both sides mean it: SHA-1 and
 * base64. Neither keeps a secret. */
#ifndef MRPC_HTTP_SHA1_H
#define MRPC_HTTP_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum {
  MRPC_SHA1_SIZE = 20,
  MRPC_WS_NONCE = 16,      /* bytes of a key */
  MRPC_WS_KEY_LEN = 24,    /* characters of one, in base64 */
  MRPC_WS_ACCEPT_SIZE = 29 /* of the answer to one, with its NUL */
};

void mrpc_sha1(const void *bytes, size_t len, uint8_t out[MRPC_SHA1_SIZE]);
/* Writes 4 characters for each 3 bytes begun, and a NUL. */
void mrpc_base64(const uint8_t *bytes, size_t len, char *out);
/* The answer to a key of MRPC_WS_KEY_LEN characters (RFC 6455 section 4.2.2).
 */
void mrpc_ws_accept(const char *key, char out[MRPC_WS_ACCEPT_SIZE]);

#endif
