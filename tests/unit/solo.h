/* SPDX-License-Identifier: MIT
 *
 * For tests that play on one stage only: that stage, and short words for what
 * is said on it. */
#ifndef MRPC_TEST_SOLO_H
#define MRPC_TEST_SOLO_H

#include "stage.h"

static stage S;

__attribute__((unused)) static void begin(void) {
  S = (stage){0};
  if (stage_open(&S, NULL)) abort();
}

__attribute__((unused)) static void put(const char *path, const char *text) {
  fake_put(&S.f, path, text);
}

/* A call of the method is answered by `want`, as stage_call tells it. */
#define calls(method, want) is_str(stage_call(&S, (method)), (want), (method))
/* The last load had these faults, as stage_faults tells them. */
#define faults(want, name) \
  is_str(stage_faults(mrpc_runtime_report(S.runtime)), (want), (name))

#endif
