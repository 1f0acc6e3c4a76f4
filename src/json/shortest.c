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

/* The smallest number of seventeen digits. */
#define SEVENTEEN_DIGITS 10000000000000000u

typedef struct decimal {
  uint64_t digits;
  int exponent;
} decimal;

/* The upper 64 of the bits of g * x, x shifted so that they are quarters; the
 * lowest is set when there is a rest. g exceeds the power by less than its
 * last bit, so that a rest of 1 is still none. (For every exponent, the
 * nearest that a true rest comes to 0 or 1 was computed with fractions: where
 * it is lost here, no decision hangs on it.) */
MRPC_INLINE uint64_t scale(uint64_t high, uint64_t low, uint64_t x) {
  uint64_t rest, ignored;
  uint64_t carry = mrpc_multiply(low, x, &ignored);
  uint64_t result = mrpc_multiply(high, x, &rest);
  rest += carry;
  result += rest < carry;
  return result | (rest > 1);
}

/* v = c * 2^q; `narrow`: the double below is only half as far as the one
 * above. Which of the candidates it will be can't be foreseen, so that all are
 * computed and none is jumped to. */
MRPC_INLINE decimal shortest(uint64_t c, int q, bool narrow) {
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
  uint64_t s = v / 4, tens = s / 10 * 10;
  bool tens_below = from <= 4 * tens, tens_above = 4 * tens + 40 <= to;
  bool below = from <= 4 * s, above = 4 * s + 4 <= to;
  bool nearer = (v & 3) + (s & 1) > 2; /* or as near but even */
  s += (above & !below) | (nearer & (above == below));
  tens += (0 - (uint64_t)tens_above) & 10;
  uint64_t choose = 0 - (uint64_t)(tens_below != tens_above);
  return (decimal){s ^ ((s ^ tens) & choose), k};
}

/* From digits to text. */

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

/* How many leading zeros eight digits of n, which isn't 0, have. The digits
 * would tell, too, but only they can wait: where the text ends decides where
 * all that follows is written. */
MRPC_INLINE unsigned count_zeros(uint32_t n) {
  static const uint32_t power[] = {1,      10,      100,      1000,     10000,
                                   100000, 1000000, 10000000, 100000000};
  unsigned bits = 32 - (unsigned)__builtin_clz(n);
  unsigned log = bits * 1233 >> 12; /* of 10, or one more */
  return 7 - log + (n < power[log]);
}

/* Without leading zeros; eight bytes may be stored in any case. */
MRPC_INLINE char *put_first(char *out, uint32_t n) {
  if (n < 100) {
    uint32_t tens = n * 103 >> 10;
    *out = (char)('0' + tens);
    out += tens != 0;
    *out = (char)('0' + n - tens * 10);
    return out + 1;
  }
  unsigned skip = count_zeros(n);
  mrpc_store8(out, (eight_digits(n) | MRPC_EACH('0')) >> 8 * skip);
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

/* Seventeen digits, as text: the first one and two words of eight. */
typedef struct digits {
  uint64_t upper, lower;
  int count; /* without the zeros at the end */
  char first;
} digits;

/* Two numbers of eight digits, the ones behind the first. Answers which of
 * the sixteen digits aren't 0, as bits. */
MRPC_INLINE unsigned set_sixteen(digits *d, uint32_t upper, uint32_t lower) {
#ifdef MRPC_SSE2
  /* As eight_digits does it, both numbers side by side: quotients in front of
   * their remainders. */
  __m128i n = _mm_set_epi64x(lower, upper), q, r;
  q = _mm_srli_epi64(_mm_mul_epu32(n, _mm_set1_epi64x(3518437209)), 45);
  r = _mm_sub_epi32(n, _mm_mul_epu32(q, _mm_set1_epi64x(10000)));
  n = _mm_or_si128(q, _mm_slli_epi64(r, 32));
  q = _mm_srli_epi16(_mm_mulhi_epu16(n, _mm_set1_epi16(5243)), 3);
  r = _mm_sub_epi16(n, _mm_mullo_epi16(q, _mm_set1_epi16(100)));
  n = _mm_or_si128(q, _mm_slli_epi32(r, 16));
  q = _mm_mulhi_epu16(n, _mm_set1_epi16(6554));
  r = _mm_sub_epi16(n, _mm_mullo_epi16(q, _mm_set1_epi16(10)));
  n = _mm_or_si128(q, _mm_slli_epi16(r, 8));
  int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(n, _mm_setzero_si128()));
  n = _mm_or_si128(n, _mm_set1_epi8('0'));
  d->upper = (uint64_t)_mm_cvtsi128_si64(n);
  d->lower = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(n, n));
  return (unsigned)zeros ^ 0xffff;
#else
  d->upper = eight_digits(upper) | MRPC_EACH('0');
  d->lower = eight_digits(lower) | MRPC_EACH('0');
  unsigned zeros = mrpc_bits8(mrpc_zeros8(d->upper ^ MRPC_EACH('0'))) |
                   mrpc_bits8(mrpc_zeros8(d->lower ^ MRPC_EACH('0'))) << 8;
  return zeros ^ 0xffff;
#endif
}

MRPC_INLINE digits digits_of(uint64_t n) {
  digits d = {.first = (char)('0' + n / SEVENTEEN_DIGITS)};
  uint64_t rest = n % SEVENTEEN_DIGITS;
  unsigned used = set_sixteen(&d, (uint32_t)(rest / 100000000),
                              (uint32_t)(rest % 100000000));
  d.count = 32 - __builtin_clz(used << 1 | 1);
  return d;
}

MRPC_INLINE void put_behind(char *out, const digits *d) {
  mrpc_store8(out, d->upper);
  mrpc_store8(out + 8, d->lower);
}

/* A point before byte n, from where all move on. */
MRPC_INLINE uint64_t insert_point(uint64_t word, int n) {
  uint64_t before = (1ull << 8 * n) - 1;
  return (word & before) | (uint64_t)'.' << 8 * n | (word & ~before) << 8;
}

/* `whole` digits, 1 to 16, stand before the point. All are put behind the
 * first one as if it were the last of these; then words that are right up to
 * the point are put over them. */
MRPC_INLINE void put_point(char *out, const digits *d, int whole) {
  out[0] = d->first;
  put_behind(out + 2, d);
  uint64_t word = (uint8_t)d->first | d->upper << 8;
  if (whole < 8) {
    mrpc_store8(out, insert_point(word, whole));
    return;
  }
  mrpc_store8(out, word);
  word = d->upper >> 56 | d->lower << 8;
  mrpc_store8(out + 8, whole < 16 ? insert_point(word, whole - 8) : word);
  if (whole == 16) out[16] = '.';
}

static char *put_scientific(char *out, const digits *d, int exponent) {
  put_point(out, d, 1);
  out += d->count > 1 ? d->count + 1 : 1;
  *out++ = 'e';
  if (exponent < 0) {
    *out++ = '-';
    exponent = -exponent;
  }
  return put_first(out, (uint32_t)exponent);
}

/* Of a double that isn't 0. */
MRPC_INLINE decimal shortest_of(uint64_t bits) {
  const int bias = MRPC_EXPONENT_BIAS + MRPC_FRACTION_BITS;
  const uint64_t hidden = 1ull << MRPC_FRACTION_BITS;
  uint64_t fraction = bits & (hidden - 1);
  int exponent = (int)(bits >> MRPC_FRACTION_BITS & MRPC_EXPONENT_TOP);
  if (MRPC_UNLIKELY(exponent == 0)) return shortest(fraction, 1 - bias, false);
  bool narrow = fraction == 0 && exponent > 1;
  return shortest(hidden | fraction, exponent - bias, narrow);
}

/* Plain where that is short, as JavaScript does. */
static char *put_decimal(char *out, decimal n, bool large) {
  int exponent = n.exponent + 16;
  /* Once at most, but for subnormal doubles. */
  for (; n.digits < SEVENTEEN_DIGITS; exponent--) n.digits *= 10;
  digits d = digits_of(n.digits);
  if (large || exponent < -6) return put_scientific(out, &d, exponent);
  if (exponent >= 0) {
    put_point(out, &d, exponent + 1);
    return out + d.count + 1;
  }
  memcpy(out, "0.000000", 8);
  out += 1 - exponent;
  *out = d.first;
  put_behind(out + 1, &d);
  return out + d.count;
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
    to = put_decimal(to, shortest_of(bits), large);
  } else {
    to = put_unsigned(to, (uint64_t)(int64_t)value);
    if (bits == 1ull << 63) to = (char *)memcpy(to, ".0", 2) + 2;
  }
  return (size_t)(to - out);
}
