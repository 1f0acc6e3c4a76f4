/* SPDX-License-Identifier: MIT
 *
 * The distance is Levenshtein's. What is further away than a slip of the hand
 * is no suggestion: it would only mislead. */
#include <string.h>

#include "moonrpc.h"

static size_t least(size_t a, size_t b, size_t c) {
  size_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

/* Edits that lead from one word to the other, by one row. */
static size_t distance(const char *a, const char *b) {
  enum { LONGEST = 32 };
  size_t row[LONGEST + 1], len = strlen(b);
  if (len > LONGEST) return SIZE_MAX;
  for (size_t j = 0; j <= len; j++) row[j] = j;
  for (size_t i = 0; a[i]; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < len; j++) {
      size_t cost = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = least(cost, row[j] + 1, row[j + 1] + 1);
    }
  }
  return row[len];
}

const char *mrpc_nearer(const char *word, const char *a, const char *b) {
  size_t far = strlen(word) / 3;
  size_t to_a = a ? distance(word, a) : SIZE_MAX;
  size_t to_b = b ? distance(word, b) : SIZE_MAX;
  if (far < 2) far = 2;
  if (to_a > far && to_b > far) return NULL;
  return to_b < to_a ? b : a;
}
