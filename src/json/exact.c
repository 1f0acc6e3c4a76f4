/* SPDX-License-Identifier: MIT
 *
 * The last resort of reading a double: a decimal compared with the middle
 * between two doubles, both as whole numbers. Such a middle has at most 767
 * significant digits, so that of a longer decimal only the first ones and
 * whether anything follows matter; that bounds the memory, which is on the
 * stack. */
#include "json/decimal.h"

enum {
  DIGITS = 800, /* taken of the decimal */
  LIMBS = 128   /* 4096 bits: 10^800 has 2658, 2^1075 times 800 digits less */
};

typedef struct big {
  int len; /* limbs in use; the highest isn't 0 */
  uint32_t limb[LIMBS];
} big;

static void multiply_add(big *n, uint32_t factor, uint32_t add) {
  uint64_t carry = add;
  for (int i = 0; i < n->len; i++) {
    carry += (uint64_t)n->limb[i] * factor;
    n->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) n->limb[n->len++] = (uint32_t)carry;
}

static void multiply_fives(big *n, int64_t count) {
  for (; count >= 13; count -= 13) multiply_add(n, 1220703125, 0);
  for (; count > 0; count--) multiply_add(n, 5, 0);
}

static void shift_left(big *n, int64_t bits) {
  int limbs = (int)(bits / 32);
  multiply_add(n, (uint32_t)1 << bits % 32, 0);
  memmove(n->limb + limbs, n->limb, (size_t)n->len * sizeof n->limb[0]);
  memset(n->limb, 0, (size_t)limbs * sizeof n->limb[0]);
  n->len += limbs;
}

static int compare(const big *a, const big *b) {
  if (a->len != b->len) return a->len < b->len ? -1 : 1;
  for (int i = a->len - 1; i >= 0; i--)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

/* Fills n with the first digits, nine at a time, and corrects *e for those that
 * don't count. Is there more than zeros behind them? */
static bool take_digits(big *n, const char *text, size_t len, int64_t *e) {
  bool more = false, point = false;
  uint32_t chunk = 0, scale = 1;
  int count = 0;
  n->len = 0;
  for (size_t i = 0; i < len; i++) {
    if (text[i] == '.') {
      point = true;
    } else if (count < DIGITS) {
      chunk = chunk * 10 + (uint32_t)(text[i] - '0');
      scale *= 10;
      count += n->len != 0 || chunk != 0;
      *e -= point;
      if (scale == 1000000000 || count == DIGITS) {
        multiply_add(n, scale, chunk);
        chunk = 0;
        scale = 1;
      }
    } else {
      more |= text[i] != '0';
      *e += !point;
    }
  }
  multiply_add(n, scale, chunk);
  return more;
}

int mrpc_decimal_compare(const char *text, size_t len, int64_t e, uint64_t m,
                         int b) {
  big left, right = {.len = 0};
  bool more = take_digits(&left, text, len, &e);
  right.limb[0] = (uint32_t)m;
  right.limb[1] = (uint32_t)(m >> 32);
  right.len = right.limb[1] ? 2 : 1;
  /* left * 5^e * 2^e against right * 2^b: negative powers change sides. */
  multiply_fives(e < 0 ? &right : &left, e < 0 ? -e : e);
  if (e > b)
    shift_left(&left, e - b);
  else
    shift_left(&right, b - e);
  int order = compare(&left, &right);
  return order == 0 ? more : order;
}
