/* SPDX-License-Identifier: MIT
 *
 * The Lua files of lua/, which scripts/embed turns into C at build time. */
#ifndef MRPC_RUNTIME_EMBEDDED_H
#define MRPC_RUNTIME_EMBEDDED_H

#include <stddef.h>

typedef struct mrpc_embedded {
  const char *name; /* "rpc"; NULL at the end */
  const char *text;
  size_t len;
} mrpc_embedded;

extern const mrpc_embedded mrpc_embedded_files[];

#endif
