/* SPDX-License-Identifier: MIT
 *
 * Numbers that nobody can foretell. The one thing besides the time that the
 * core asks of the operating system. */
#ifndef MRPC_BASE_RANDOM_H
#define MRPC_BASE_RANDOM_H

#include <stddef.h>

/* Fills `to`, 256 bytes at most. MRPC_OK, or MRPC_EIO: the system has none. */
int mrpc_random(void *to, size_t len);

#endif
