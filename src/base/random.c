/* SPDX-License-Identifier: MIT
 *
 * getentropy is what glibc, musl, the BSDs and macOS have in common. */
#include "base/random.h"

#ifdef __APPLE__
#include <sys/random.h>
#endif
#include <unistd.h>

#include "moonrpc.h"

int mrpc_random(void *to, size_t len) {
  return getentropy(to, len) ? MRPC_EIO : MRPC_OK;
}
