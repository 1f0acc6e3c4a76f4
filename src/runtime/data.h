/* SPDX-License-Identifier: MIT
 *
 * Lua files that hold data: a config file returns a table, and nothing of the
 * host is at hand while it runs. */
#ifndef MRPC_RUNTIME_DATA_H
#define MRPC_RUNTIME_DATA_H

#include "base/buf.h"

/* Runs the file in a state of its own and writes what it returns as JSON:
 * tables with a first element are arrays, others objects. MRPC_ENOTFOUND,
 * MRPC_ESCRIPT or MRPC_ETYPE with a sentence in `error`; MRPC_ENOMEM. */
int mrpc_data_read(const mrpc_mem *mem, const char *path, mrpc_buf *json,
                   char *error, size_t size);

#endif
