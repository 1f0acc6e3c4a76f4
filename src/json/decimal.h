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

/* How many of eight bytes, from the first, are digits. Others have a high bit
 * or get one when what they are above '0' is added to 0x76; a carry spoils
 * only bytes behind them. */
MRPC_INLINE unsigned mrpc_count_digits8(uint64_t word) {
  uint64_t x = word ^ MRPC_EACH('0');
  uint64_t hit = (x | (x + MRPC_EACH(0x76))) & MRPC_EACH(0x80);
  return hit ? (unsigned)__builtin_ctzll(hit) / 8 : 8;
}

/* The number that eight digits make: pairs, then fours, then all are joined,
 * many at a time. */
MRPC_INLINE uint64_t mrpc_digits8(uint64_t word) {
  word &= MRPC_EACH(0x0f);
  word = (word * (1 + (10u << 8))) >> 8 & 0x00ff00ff00ff00ffu;
  word = (word * (1 + (100u << 16))) >> 16 & 0x0000ffff0000ffffu;
  return (word * (1 + (10000ull << 32))) >> 32;
}

enum {
  MRPC_FRACTION_BITS = 52,
  MRPC_EXPONENT_BIAS = 1023,
  MRPC_EXPONENT_TOP = 0x7ff /* of infinity */
};

MRPC_INLINE double mrpc_double_of_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* The leading 128 bits of w * 10^e, w having its top bit set. The low word of
 * the power counts only where the high one leaves the rounding open. */
MRPC_INLINE uint64_t mrpc_times_power(uint64_t w, int e, uint64_t *low) {
  const uint64_t *power = mrpc_powers[e - MRPC_POWERS_MIN];
  uint64_t high = mrpc_multiply(w, power[0], low), rest;
  if (MRPC_LIKELY((high & 0x1ff) != 0x1ff)) return high;
  uint64_t add = mrpc_multiply(w, power[1], &rest);
  *low += add;
  return high + (*low < add);
}

/* `m` has 54 bits, the lowest below the double's last; below the normal range
 * more of them fall off. No tie can happen there. */
MRPC_COLD static double mrpc_round_subnormal(uint64_t m, int exponent) {
  int shift = 1 - exponent;
  if (shift > 63) return 0;
  m >>= shift;
  return mrpc_double_of_bits((m + (m & 1)) >> 1);
}

/* The double nearest to w * 10^e; false when that is beyond the range. The top
 * 54 bits of the product decide (Lemire 2021, "Number parsing at a gigabyte
 * per second"; that they always do is proved in Mushtak and Lemire 2022,
 * "Fast number parsing without fallback"). */
MRPC_INLINE bool mrpc_double_make(uint64_t w, int64_t e, double *out) {
  *out = 0;
  if (MRPC_UNLIKELY(w == 0 || e < MRPC_POWERS_MIN)) return true;
  if (MRPC_UNLIKELY(e > 308)) return false;
  int q = (int)e, zeros = __builtin_clzll(w);
  uint64_t low, high = mrpc_times_power(w << zeros, q, &low);
  int carry = (int)(high >> 63), shift = carry + 9;
  uint64_t m = high >> shift;
  int exponent =
      mrpc_log2_of_power(q) + 63 + carry - zeros + MRPC_EXPONENT_BIAS;
  if (MRPC_UNLIKELY(exponent <= 0)) {
    *out = mrpc_round_subnormal(m, exponent);
    return true;
  }
  /* A tie needs a product without a rest, so 5^e or its inverse must divide
   * out of 64 bits; it goes to the even neighbour. */
  if (MRPC_UNLIKELY(low <= 1) && q >= -4 && q <= 23 && (m & 3) == 1 &&
      m << shift == high)
    m &= ~1ull;
  m = (m + (m & 1)) >> 1;
  /* A carry out of the fraction is a carry into the exponent. */
  uint64_t bits = m + ((uint64_t)(exponent - 1) << MRPC_FRACTION_BITS);
  *out = mrpc_double_of_bits(bits);
  return bits >> MRPC_FRACTION_BITS < MRPC_EXPONENT_TOP;
}

/* Is the decimal of the digits (and perhaps a point) in [text, text+len),
 * times 10^e, less than (negative), equal to (0) or greater than (positive)
 * m * 2^b? They must be near each other, and m * 2^b the middle between two
 * neighbouring doubles. */
int mrpc_decimal_compare(const char *text, size_t len, int64_t e, uint64_t m,
                         int b);

#endif
