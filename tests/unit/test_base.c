/* SPDX-License-Identifier: MIT */
#include "tap.h"
int main(void) {
  ok(true, "placeholder");
  return tap_finish();
}
