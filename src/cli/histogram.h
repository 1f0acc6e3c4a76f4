/* SPDX-License-Identifier: MIT
 *
 * Counts of times in a fixed table: 64 places for each power of two, so that
 * a value is kept to within 1.6 percent, however large it is. */
#ifndef MRPC_CLI_HISTOGRAM_H
#define MRPC_CLI_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_SUB = 64, HISTOGRAM_PLACES = HISTOGRAM_SUB * 59 };

/* All zero is an empty one. */
typedef struct histogram {
  uint64_t count;
  uint64_t max; /* exact */
  uint64_t places[HISTOGRAM_PLACES];
} histogram;

void histogram_add(histogram *h, uint64_t value);
/* The value that `share` (0 to 1) of all don't exceed; 0 when it's empty. */
uint64_t histogram_at(const histogram *h, double share);

#endif
