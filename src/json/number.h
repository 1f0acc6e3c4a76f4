/* SPDX-License-Identifier: MIT
 *
 * Numbers between decimal text and machine form, exact both ways, and
 * compared as decimals. No strtod, no snprintf: the locale can't matter. */
#ifndef MRPC_JSON_NUMBER_H
#define MRPC_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The room that the writers need; they may write beyond what they report. */
enum { MRPC_INT_CHARS = 32, MRPC_DOUBLE_CHARS = 32 };

/* The nearest double (ties to even) of the JSON number in [text, text+len).
 * False when its magnitude is beyond the range of double. */
bool mrpc_double_read(const char *text, size_t len, double *out);

/* Writes the shortest digits that read back as `value`, which must be finite,
 * and tells the length. Integral values within 2^53 have no fraction and no
 * exponent, so that they read back as integers, but for "-0.0"; larger ones
 * have an exponent, so that they don't. */
size_t mrpc_double_write(double value, char out[MRPC_DOUBLE_CHARS]);

size_t mrpc_int_write(int64_t value, char out[MRPC_INT_CHARS]);

/* Are two JSON numbers the same decimal? "1.0", "1" and "10e-1" are. */
bool mrpc_number_equal(const char *a, size_t alen, const char *b, size_t blen);

#endif
