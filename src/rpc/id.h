/* SPDX-License-Identifier: MIT
 *
 * Ids compared by type and value: strings as decoded, numbers as exact
 * decimals. `1.0` is `1`, `"1"` isn't; null is equal to nothing. A number of
 * more than 256 bytes is equal to its own text only. Echoes are none of this
 * module's business: those stay raw. */
#ifndef MRPC_RPC_ID_H
#define MRPC_RPC_ID_H

#include <stdbool.h>
#include <stddef.h>

/* `a` and `b` are raw JSON texts of strings, numbers or null. */
bool mrpc_id_equal(const char *a, size_t alen, const char *b, size_t blen);

#endif
