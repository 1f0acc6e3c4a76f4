/* SPDX-License-Identifier: MIT
 *
 * Numbers between decimal text and machine form, exact both ways, and
 * compared as decimals. No strtod, no snprintf: the locale can't matter. */
#ifndef MRPC_JSON_NUMBER_H
#define MRPC_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Long enough for any double that mrpc_double_write makes. */
enum { MRPC_DOUBLE_CHARS = 32 };

/* The nearest double (ties to even) of the JSON number in [text, text+len).
 * False when its magnitude is beyond the range of double. */
bool mrpc_double_read(const char *text, size_t len, double *out);

/* Writes the shortest text that reads back as `value`, which must be finite;
 * tells its length. */
size_t mrpc_double_write(double value, char out[MRPC_DOUBLE_CHARS]);

/* Are two JSON numbers the same decimal? "1.0", "1" and "10e-1" are. */
bool mrpc_number_equal(const char *a, size_t alen, const char *b, size_t blen);

#endif
