/* SPDX-License-Identifier: MIT
 *
 * Numbers by chance, the same in every run that begins with the same state. */
#ifndef MRPC_TEST_PICK_H
#define MRPC_TEST_PICK_H

#include <stdint.h>

static uint32_t pick_state;

static uint32_t pick(uint32_t below) {
  pick_state = pick_state * 1664525U + 1013904223U;
  return (pick_state >> 8) % below;
}

#endif
