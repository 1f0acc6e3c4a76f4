/* SPDX-License-Identifier: MIT
 *
 * Double to the shortest decimal (Giulietti 2020, "The Schubfach way to render
 * doubles"). All numbers that are read as v = c * 2^q lie in an interval of
 * width 2^q around it. With k so that 10^k <= 2^q < 10^(k+1), the interval
 * holds a multiple of 10^k, at most one of 10^(k+1), and the shortest is among
 * them: if there is one of 10^(k+1) it is that, else of those of 10^k the
 * nearest to v. So v and the ends of the interval are divided by 10^k, in
 * quarters, to 64 bits; that the rest isn't 0 is kept in the lowest one, which
 * is enough for every comparison to come out right. */
#include "json/decimal.h"

enum { FRACTION_BITS = 52, TOP_EXPONENT = 0x7ff, BIAS = 1075 };

typedef struct decimal {
  uint64_t digits;
  int exponent;
} decimal;

/* The upper 64 of the bits of g * x, x shifted so that they are quarters; the
 * lowest is set when there is a rest. g exceeds the power by less than its
 * last bit, so that a rest of 1 is still none. */
MRPC_INLINE uint64_t scale(uint64_t high, uint64_t low, uint64_t x) {
  uint64_t rest, ignored;
  uint64_t carry = mrpc_multiply(low, x, &ignored);
  uint64_t result = mrpc_multiply(high, x, &rest);
  rest += carry;
  result += rest < carry;
  return result | (rest > 1);
}

/* v = c * 2^q; `narrow`: the double below is only half as far as the one
 * above. */
static decimal shortest(uint64_t c, int q, bool narrow) {
  /* floor(log10(2^q)), or of 3/4 of it, which is then the width. */
  int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;
  int shift = q + mrpc_log2_of_power(-k) + 1;
  const uint64_t *power = mrpc_powers[-k - MRPC_POWERS_MIN];
  bool cut = -k < -27 || -k > 55;
  uint64_t low = power[1] + cut, high = power[0];
  uint64_t odd = c & 1; /* then the ends don't belong to the interval */
  uint64_t v = scale(high, low, (4 * c) << shift);
  uint64_t from = scale(high, low, (4 * c - 2 + narrow) << shift) + odd;
  uint64_t to = scale(high, low, (4 * c + 2) << shift) - odd;
  uint64_t s = v / 4, tens = s / 10;
  bool below = from <= 40 * tens, above = 40 * tens + 40 <= to;
  if (tens && below != above) return (decimal){tens + above, k + 1};
  below = from <= 4 * s;
  above = 4 * s + 4 <= to;
  if (below != above) return (decimal){s + above, k};
  uint64_t middle = 4 * s + 2;
  return (decimal){s + (v > middle || (v == middle && (s & 1))), k};
}

/* --- text --- */

/* Eight digits of a number below 10^8 as bytes, the first one lowest: halves,
 * then quarters, then digits, side by side in one word. */
MRPC_INLINE uint64_t eight_digits(uint32_t n) {
  uint64_t x = n / 10000 | (uint64_t)(n % 10000) << 32;
  uint64_t hundreds = x * 10486 >> 20 & 0x0000007f0000007fu;
  x = hundreds | (x - hundreds * 100) << 16;
  uint64_t tens = x * 103 >> 10 & 0x000f000f000f000fu;
  return tens | (x - tens * 10) << 8;
}

MRPC_INLINE char *put_eight(char *out, uint32_t n) {
  mrpc_store8(out, eight_digits(n) | MRPC_EACH('0'));
  return out + 8;
}

/* Without leading zeros; eight bytes are stored in any case. */
MRPC_INLINE char *put_first(char *out, uint32_t n) {
  uint64_t digits = eight_digits(n);
  unsigned skip = digits ? (unsigned)__builtin_ctzll(digits) / 8 : 7;
  mrpc_store8(out, (digits | MRPC_EACH('0')) >> 8 * skip);
  return out + 8 - skip;
}

MRPC_INLINE char *put_unsigned(char *out, uint64_t n) {
  if (n < 100000000) return put_first(out, (uint32_t)n);
  uint64_t upper = n / 100000000;
  if (upper < 100000000) {
    out = put_first(out, (uint32_t)upper);
  } else {
    out = put_first(out, (uint32_t)(upper / 100000000));
    out = put_eight(out, (uint32_t)(upper % 100000000));
  }
  return put_eight(out, (uint32_t)(n % 100000000));
}

size_t mrpc_int_write(int64_t value, char out[MRPC_INT_CHARS]) {
  uint64_t n = (uint64_t)value;
  char *to = out;
  if (value < 0) {
    *to++ = '-';
    n = 0 - n;
  }
  return (size_t)(put_unsigned(to, n) - out);
}

/* Makes n, which isn't 0, a number of seventeen digits; answers how many it
 * had. */
MRPC_INLINE int normalise(uint64_t *n) {
  static const uint64_t power[] = {1ull,
                                   10ull,
                                   100ull,
                                   1000ull,
                                   10000ull,
                                   100000ull,
                                   1000000ull,
                                   10000000ull,
                                   100000000ull,
                                   1000000000ull,
                                   10000000000ull,
                                   100000000000ull,
                                   1000000000000ull,
                                   10000000000000ull,
                                   100000000000000ull,
                                   1000000000000000ull,
                                   10000000000000000ull,
                                   100000000000000000ull};
  int count = ((64 - __builtin_clzll(*n)) * 1233) >> 12;
  count += *n >= power[count];
  *n *= power[17 - count];
  return count;
}

/* Seventeen digits at out; answers how many there are without the zeros at
 * the end. */
MRPC_INLINE int put_digits(char *out, uint64_t n) {
  uint64_t rest = n % 10000000000000000u;
  *out = (char)('0' + n / 10000000000000000u);
  uint64_t upper = eight_digits((uint32_t)(rest / 100000000));
  uint64_t lower = eight_digits((uint32_t)(rest % 100000000));
  mrpc_store8(out + 1, upper | MRPC_EACH('0'));
  mrpc_store8(out + 9, lower | MRPC_EACH('0'));
  if (lower) return 17 - __builtin_clzll(lower) / 8;
  return upper ? 9 - __builtin_clzll(upper) / 8 : 1;
}

/* One digit before the point, which has moved to where `exponent` says. */
static char *put_scientific(char *out, uint64_t n, int exponent) {
  int count = put_digits(out + 1, n);
  out[0] = out[1];
  out[1] = '.';
  out += count > 1 ? count + 1 : 1;
  *out++ = 'e';
  if (exponent < 0) {
    *out++ = '-';
    exponent = -exponent;
  }
  return put_first(out, (uint32_t)exponent);
}

/* A double that isn't 0: v = c * 2^q. */
static decimal take_apart(uint64_t bits) {
  uint64_t c = bits & ((1ull << FRACTION_BITS) - 1);
  int exponent = (int)(bits >> FRACTION_BITS & TOP_EXPONENT);
  if (exponent == 0) return shortest(c, 1 - BIAS, false);
  bool narrow = c == 0 && exponent > 1;
  c |= 1ull << FRACTION_BITS;
  return shortest(c, exponent - BIAS, narrow);
}

/* Plain where that is short, as JavaScript does. */
static char *put_decimal(char *out, decimal d, bool large) {
  int exponent = normalise(&d.digits) - 1 + d.exponent;
  if (large || exponent < -6) return put_scientific(out, d.digits, exponent);
  if (exponent < 0) {
    memcpy(out, "0.000000", 8);
    out += 1 - exponent;
    return out + put_digits(out, d.digits);
  }
  int count = put_digits(out + 1, d.digits);
  for (int i = 0; i <= exponent; i++) out[i] = out[i + 1];
  out[exponent + 1] = '.';
  return out + count + 1;
}

size_t mrpc_double_write(double value, char out[MRPC_DOUBLE_CHARS]) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  char *to = out;
  if (bits >> 63) {
    *to++ = '-';
    value = -value;
  }
  bool large = value > 9007199254740992.0;
  if (large || (double)(int64_t)value != value) {
    to = put_decimal(to, take_apart(bits), large);
  } else {
    to = put_unsigned(to, (uint64_t)(int64_t)value);
    if (bits == 1ull << 63) to = (char *)memcpy(to, ".0", 2) + 2;
  }
  return (size_t)(to - out);
}
