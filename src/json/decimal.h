/* SPDX-License-Identifier: MIT
 *
 * What the halves of the number code share: the table of powers that
 * scripts/powers makes, products of words, eight digits at a time, and the
 * exact way out. Inside src/json only. */
#ifndef MRPC_JSON_DECIMAL_H
#define MRPC_JSON_DECIMAL_H

#include "json/number.h"
#include "json/scan.h"

enum { MRPC_POWERS_MIN = -342, MRPC_POWERS_MAX = 324 };

/* The 128 leading bits of 10^q at q - MRPC_POWERS_MIN, the high word first.
 * From -27 to -1 they are rounded up, else cut off; from 0 to 55 exact. */
extern const uint64_t mrpc_powers[MRPC_POWERS_MAX - MRPC_POWERS_MIN + 1][2];

/* floor(log2(10^q)), for |q| up to 642. */
MRPC_INLINE int mrpc_log2_of_power(int q) {
  return (217706 * q) >> 16;
}

/* The high word of a product; `low` gets the low one. */
MRPC_INLINE uint64_t mrpc_multiply(uint64_t a, uint64_t b, uint64_t *low) {
#ifdef __SIZEOF_INT128__
  unsigned __int128 product = (unsigned __int128)a * b;
  *low = (uint64_t)product;
  return (uint64_t)(product >> 64);
#else
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t middle = ah * bl + (al * bl >> 32);
  uint64_t other = al * bh + (uint32_t)middle;
  *low = a * b;
  return ah * bh + (middle >> 32) + (other >> 32);
#endif
}

/* Are all eight bytes (of mrpc_load8) digits? Adding 6 carries what is above
 * '9' into another high nibble; nothing below '0' has 3 there twice. */
MRPC_INLINE bool mrpc_is_digits8(uint64_t word) {
  return ((word & MRPC_EACH(0xf0)) |
          ((word + MRPC_EACH(6)) & MRPC_EACH(0xf0)) >> 4) == MRPC_EACH(0x33);
}

/* The number that eight digits make: pairs, then fours, then all are joined,
 * many at a time. */
MRPC_INLINE uint64_t mrpc_digits8(uint64_t word) {
  word &= MRPC_EACH(0x0f);
  word = (word * (1 + (10u << 8))) >> 8 & 0x00ff00ff00ff00ffu;
  word = (word * (1 + (100u << 16))) >> 16 & 0x0000ffff0000ffffu;
  return (word * (1 + (10000ull << 32))) >> 32;
}

/* The double digits * 10^e, which is positive. False when it is beyond the
 * range of double. */
bool mrpc_double_make(uint64_t digits, int64_t e, double *out);

/* Is the decimal of the digits (and perhaps a point) in [text, text+len),
 * times 10^e, less than (negative), equal to (0) or greater than (positive)
 * m * 2^b? They must be near each other, and m * 2^b the middle between two
 * neighbouring doubles. */
int mrpc_decimal_compare(const char *text, size_t len, int64_t e, uint64_t m,
                         int b);

#endif
