/* SPDX-License-Identifier: MIT
 *
 * Texts that resemble the one before, on a machine without SSE2; see
 * test_json_portable.c. */
#undef __SSE2__

#include "json/parse.c"
#include "json/repeat.c"
/* Behind them, the tests. */
#include "test_repeat.c"
