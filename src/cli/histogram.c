/* SPDX-License-Identifier: MIT
 *
 *   value    0..63    64..127   128..255   256..511   ...
 *   places   0..63    64..127   128..191   192..255   ...
 *
 * The first two rows are exact; from there on a place is as wide as its power
 * of two allows: the top seven bits of a value tell where it belongs. */
#include "cli/histogram.h"

enum { BITS = 6 }; /* of HISTOGRAM_SUB */

static unsigned place_of(uint64_t value) {
  if (value < HISTOGRAM_SUB) return (unsigned)value;
  unsigned shift = 63 - (unsigned)__builtin_clzll(value) - BITS;
  return (shift + 1) * HISTOGRAM_SUB +
         (unsigned)(value >> shift & (HISTOGRAM_SUB - 1));
}

/* The largest value that belongs to a place. */
static uint64_t top_of(unsigned place) {
  if (place < HISTOGRAM_SUB) return place;
  unsigned shift = place / HISTOGRAM_SUB - 1;
  uint64_t low = (uint64_t)(HISTOGRAM_SUB + place % HISTOGRAM_SUB) << shift;
  return low + (((uint64_t)1 << shift) - 1);
}

void histogram_add(histogram *h, uint64_t value) {
  h->count++;
  h->places[place_of(value)]++;
  if (value > h->max) h->max = value;
}

uint64_t histogram_at(const histogram *h, double share) {
  uint64_t seen = 0;
  double wanted = share * (double)h->count;
  for (unsigned i = 0; i < HISTOGRAM_PLACES; i++) {
    seen += h->places[i];
    if (seen && (double)seen >= wanted)
      return top_of(i) < h->max ? top_of(i) : h->max;
  }
  return h->max;
}
