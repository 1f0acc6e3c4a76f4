/* SPDX-License-Identifier: MIT
 *
 * OpenSSL 3 calls these functions deprecated in favour of EVP. They are used
 * all the same: linked statically they are three objects of libcrypto, while
 * EVP brings all of it, providers, engines and configuration files included,
 * for a digest that guards nothing. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "http/sha1.h"

#include <openssl/sha.h>
#include <string.h>

void mrpc_sha1(const void *bytes, size_t len, uint8_t out[MRPC_SHA1_SIZE]) {
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, bytes, len);
  SHA1_Final(out, &context);
}

void mrpc_base64(const uint8_t *bytes, size_t len, char *out) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < len; i += 3) {
    uint32_t three = (uint32_t)bytes[i] << 16;
    if (i + 1 < len) three |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < len) three |= bytes[i + 2];
    *out++ = digits[three >> 18];
    *out++ = digits[three >> 12 & 63];
    *out++ = '=';
    *out++ = '=';
    if (i + 1 < len) out[-2] = digits[three >> 6 & 63];
    if (i + 2 < len) out[-1] = digits[three & 63];
  }
  *out = '\0';
}

void mrpc_ws_accept(const char *key, char out[MRPC_WS_ACCEPT_SIZE]) {
  static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  char both[MRPC_WS_KEY_LEN + sizeof guid];
  uint8_t digest[MRPC_SHA1_SIZE];
  memcpy(both, key, MRPC_WS_KEY_LEN);
  memcpy(both + MRPC_WS_KEY_LEN, guid, sizeof guid);
  mrpc_sha1(both, sizeof both - 1, digest);
  mrpc_base64(digest, sizeof digest, out);
}
