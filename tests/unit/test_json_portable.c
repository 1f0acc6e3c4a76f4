/* SPDX-License-Identifier: MIT
 *
 * The JSON layer as a machine without SSE2 and 128-bit products gets it, on the
 * same files. It is compiled into this program, so that the linker leaves the
 * usual one out. */
#undef __SSE2__
#undef __SIZEOF_INT128__

#include "json/escape.c"
#include "json/number.c"
#include "json/parse.c"
#include "json/shortest.c"
#include "json/write.c"
/* Behind them, the tests. */
#include "test_json_files.c"
