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

/* What a watcher asks for; false: no report came of it. */
__attribute__((unused)) static bool look(void) {
  unsigned before = S.reports;
  if (mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES) ||
      stage_settle(&S))
    ok(false, "the look ends");
  return S.reports > before;
}

__attribute__((unused)) static uint32_t generation(void) {
  return mrpc_runtime_report(S.runtime)->generation;
}

/* A call of the method is answered by `want`, as stage_call tells it. */
#define calls(method, want) is_str(stage_call(&S, (method)), (want), (method))
/* The last load had these faults, as stage_faults tells them. */
#define faults(want, name) \
  is_str(stage_faults(mrpc_runtime_report(S.runtime)), (want), (name))

#endif
