/* SPDX-License-Identifier: MIT
 *
 * Numbers compared as decimals, as ids are: exactly, whatever their length. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/number.h"
#include "tap.h"

static bool equal(const char *a, const char *b) {
  size_t alen = strlen(a), blen = strlen(b);
  bool is = mrpc_number_equal(a, alen, b, blen);
  return is == mrpc_number_equal(b, blen, a, alen) ? is : !is;
}

static void test_equal(void) {
  static const char *const groups[][6] = {
      {"0", "-0", "0.0", "0e5", "-0.000e-99999999999999999999", NULL},
      {"1", "1.0", "10e-1", "0.1e1", "1000E-00003", NULL},
      {"-1", "-1.00", "-0.01e2", "-10e-1", NULL},
      {"9007199254740993", "9007199254740993.0", "9.007199254740993e15", NULL},
      {"9007199254740992", "9007199254740992e0", NULL},
      {"1e400", "10e399", "0.1e401", NULL},
      {"1e-400", "0.01e-398", NULL},
      {"1e999999999999999999999999999", "10e999999999999999999999999998",
       "0.001e1000000000000000000000000002", NULL},
      {"1e-1000000000000000000000000000", "100e-1000000000000000000000000002",
       "0.1e-999999999999999999999999999", NULL},
      {"1e99999999999999999999999999", NULL},
      {"12345678901234567890123456789", "1234567890123456789012345678.9e1",
       NULL},
      {"12345678901234567890123456788", NULL},
      {"1.5", "15e-1", "0.15E+1", NULL},
      {"15", "1.5e1", NULL},
      {"105", "1.05e2", NULL},
      {"1005", NULL},
      {"100", "1e2", "0.0001e6", NULL},
  };
  const size_t count = sizeof groups / sizeof groups[0];
  size_t wrong = 0;
  for (size_t g = 0; g < count; g++)
    for (size_t h = 0; h < count; h++)
      for (size_t i = 0; i < 6 && groups[g][i]; i++)
        for (size_t j = 0; j < 6 && groups[h][j]; j++)
          if (equal(groups[g][i], groups[h][j]) != (g == h))
            wrong += printf("# %s, %s\n", groups[g][i], groups[h][j]) > 0;
  ok(wrong == 0, "equal decimals are equal, others aren't");
}

/* A hundred comparisons of a megabyte each: linear, or this never ends. */
static void test_equal_long(void) {
  enum { SIZE = 1 << 20 };
  char *a = malloc(SIZE), *b = malloc(SIZE);
  if (!a || !b) abort();
  memset(a, '7', SIZE);
  memset(b, '7', SIZE);
  bool good = true;
  for (int i = 0; i < 50; i++) good &= mrpc_number_equal(a, SIZE, b, SIZE);
  b[SIZE - 1] = '8';
  good &= !mrpc_number_equal(a, SIZE, b, SIZE);
  a[1] = b[1] = 'e';
  for (int i = 0; i < 50; i++) good &= !mrpc_number_equal(a, SIZE, b, SIZE);
  ok(good, "numbers and exponents of a million digits are compared in time");
  free(a);
  free(b);
}

int main(void) {
  test_equal();
  test_equal_long();
  return tap_finish();
}
