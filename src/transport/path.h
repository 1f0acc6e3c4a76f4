/* SPDX-License-Identifier: MIT
 *
 * Paths of files. A script may change the working directory, so what is to be
 * found later is kept as an absolute path. */
#ifndef MRPC_TRANSPORT_PATH_H
#define MRPC_TRANSPORT_PATH_H

#include <stddef.h>

enum { MRPC_PATH_MAX = 2048 };

/* Puts the working directory before a relative path; links stay as they are.
 * MRPC_EIO when there is no such directory, MRPC_ELIMIT when `out` is too
 * small. */
int mrpc_path_absolute(const char *path, char *out, size_t size);

#endif
