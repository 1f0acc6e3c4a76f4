/* SPDX-License-Identifier: MIT
 *
 * Decimal to double in two steps. A number of up to nineteen digits is an
 * integer w times 10^e, which mrpc_double_make turns into the nearest double.
 * A longer one lies between its first nineteen digits and the same plus one;
 * where these give different doubles, all its digits are compared with the
 * middle between them, as whole numbers (exact.c).
 *
 * Comparison needs neither: equal decimals have the same digits between the
 * zeros at both ends, and the same position of the point. */
#include "json/number.h"

#include "json/decimal.h"
#include "powers.h"

enum { WORD_DIGITS = 19 }; /* as many always fit 64 bits */

/* Exponents saturate here, far beyond what the longest text makes up for. */
#define EXPONENT_MAX (INT64_MAX / 1000)

/* A number taken apart: where its digits stand, what exponent is written. */
typedef struct parts {
  const char *digits; /* "12.50" */
  size_t len;
  const char *exponent; /* "0012", without sign */
  size_t exponent_len;
  bool negative;
  bool negative_exponent;
} parts;

static parts take_apart(const char *text, size_t len) {
  parts n = {.digits = text};
  const char *end = text + len;
  n.negative = len > 0 && *text == '-';
  n.digits += n.negative;
  const char *p = n.digits;
  while (p < end && (*p | 0x20) != 'e') p++;
  n.len = (size_t)(p - n.digits);
  if (p < end) p++;
  n.negative_exponent = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  while (p < end && *p == '0') p++;
  n.exponent = p;
  n.exponent_len = (size_t)(end - p);
  return n;
}

static int64_t exponent_value(const parts *n) {
  int64_t e = 0;
  for (size_t i = 0; i < n->exponent_len && e < EXPONENT_MAX; i++)
    e = e * 10 + (n->exponent[i] - '0');
  return n->negative_exponent ? -e : e;
}

/* The first nineteen digits as w, its exponent added to *e. Is there more than
 * zeros behind them? */
static bool leading_digits(const parts *n, uint64_t *w, int64_t *e) {
  bool more = false, point = false;
  int count = 0;
  *w = 0;
  for (size_t i = 0; i < n->len; i++) {
    char c = n->digits[i];
    if (c == '.') {
      point = true;
    } else if (count < WORD_DIGITS) {
      *w = *w * 10 + (uint64_t)(c - '0');
      count += *w != 0;
      *e -= point;
    } else {
      more |= c != '0';
      *e += !point;
    }
  }
  return more;
}

/* The number is `low` or the double above it. */
static bool decide(const parts *n, double low, double *out) {
  uint64_t bits;
  memcpy(&bits, &low, sizeof bits);
  int exponent = (int)(bits >> MRPC_FRACTION_BITS);
  uint64_t m = bits & ((1ull << MRPC_FRACTION_BITS) - 1);
  if (exponent) m |= 1ull << MRPC_FRACTION_BITS;
  int b = (exponent ? exponent : 1) - MRPC_EXPONENT_BIAS - MRPC_FRACTION_BITS;
  int order = mrpc_decimal_compare(n->digits, n->len, exponent_value(n),
                                   2 * m + 1, b - 1);
  if (order > 0 || (order == 0 && (m & 1))) bits++;
  *out = mrpc_double_of_bits(bits);
  return bits >> MRPC_FRACTION_BITS < MRPC_EXPONENT_TOP;
}

bool mrpc_double_read(const char *text, size_t len, double *out) {
  parts n = take_apart(text, len);
  uint64_t w;
  int64_t e = exponent_value(&n);
  double above;
  bool more = leading_digits(&n, &w, &e);
  if (!mrpc_double_make(w, e, out)) return false;
  if (more && (!mrpc_double_make(w + 1, e, &above) || above > *out) &&
      !decide(&n, *out, out))
    return false;
  if (n.negative) *out = -*out;
  return true;
}

/* Comparison. */

/* Leading and trailing zeros go, so that equal numbers have equal digits.
 * Answers the exponent that the position of the point adds. */
static int64_t trim(parts *n) {
  const char *p = n->digits, *end = p + n->len;
  const char *point = memchr(p, '.', n->len);
  if (!point) point = end;
  while (p < end && (*p == '0' || *p == '.')) p++;
  while (end > p && (end[-1] == '0' || end[-1] == '.')) end--;
  n->digits = p;
  n->len = (size_t)(end - p);
  /* As if the point stood before the first digit. */
  return p < point ? point - p : point + 1 - p;
}

static bool same_digits(const parts *a, const parts *b) {
  const char *p = a->digits, *pend = p + a->len;
  const char *q = b->digits, *qend = q + b->len;
  while (p < pend && q < qend) {
    if (*p == '.') p++;
    if (*q == '.') q++;
    if (*p++ != *q++) return false;
  }
  return p == pend && q == qend;
}

/* The difference of the written exponents. Digit by digit, from the first, so
 * that any length will do: once it is large it stays so, and stands still. */
static int64_t exponent_difference(const parts *a, const parts *b) {
  size_t len =
      a->exponent_len > b->exponent_len ? a->exponent_len : b->exponent_len;
  int64_t d = 0;
  for (size_t i = len; i > 0 && d < EXPONENT_MAX && d > -EXPONENT_MAX; i--) {
    int x = i > a->exponent_len ? 0 : a->exponent[a->exponent_len - i] - '0';
    int y = i > b->exponent_len ? 0 : b->exponent[b->exponent_len - i] - '0';
    d = d * 10 + (a->negative_exponent ? -x : x) -
        (b->negative_exponent ? -y : y);
  }
  return d;
}

bool mrpc_number_equal(const char *a, size_t alen, const char *b, size_t blen) {
  parts x = take_apart(a, alen), y = take_apart(b, blen);
  int64_t xe = trim(&x), ye = trim(&y);
  if (x.len == 0 || y.len == 0) return x.len == y.len;
  return x.negative == y.negative && same_digits(&x, &y) &&
         exponent_difference(&x, &y) == ye - xe;
}
