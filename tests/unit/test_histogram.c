/* SPDX-License-Identifier: MIT
 *
 * The program's own files aren't in the library. */
#include "cli/histogram.c"

#include "tap.h"

static histogram h;

static void test_places(void) {
  bool is_rising = true, is_near = true, is_inside = true;
  unsigned last = 0;
  for (uint64_t value = 1; value < (uint64_t)1 << 62; value += value / 97 + 1) {
    unsigned place = place_of(value);
    uint64_t top = top_of(place);
    is_rising &= place >= last;
    is_inside &= place < HISTOGRAM_PLACES;
    is_near &= top >= value && top - value <= value / 64;
    last = place;
  }
  ok(is_rising, "a larger value stands in no lower place");
  ok(is_near, "a place's top is within 1.6 percent of its values");
  ok(is_inside && place_of(UINT64_MAX) < HISTOGRAM_PLACES,
     "every value has a place");
  ok(top_of(place_of(UINT64_MAX)) == UINT64_MAX, "the largest too");
}

static void test_shares(void) {
  ok(histogram_at(&h, 0.5) == 0, "an empty one");
  for (uint64_t i = 1; i <= 60; i++) histogram_add(&h, i);
  ok(histogram_at(&h, 0.5) == 30, "the half");
  ok(histogram_at(&h, 0) == 1 && histogram_at(&h, 1) == 60, "both ends");
  for (int i = 0; i < 940; i++) histogram_add(&h, 1000003);
  ok(h.count == 1000 && h.max == 1000003, "count and maximum");
  ok(histogram_at(&h, 0.06) == 60, "the small ones are few");
  ok(histogram_at(&h, 0.99) == 1000003, "no share is above the maximum");
}

int main(void) {
  test_shares();
  test_places();
  return tap_finish();
}
