/* SPDX-License-Identifier: MIT
 *
 * An allocator that counts, checks the sizes that it is told on free, and can
 * fail. oom_each reruns a scenario with the first, the second, ... allocation
 * failing, until a run needs no more. */
#ifndef MRPC_TEST_OOM_H
#define MRPC_TEST_OOM_H

#include <stdlib.h>

#include "moonrpc.h"
#include "tap.h"

typedef struct oom {
  size_t count;   /* requests so far */
  size_t fail_at; /* fail request number fail_at; 0: never */
  bool sticky;    /* and all that follow */
  size_t live;    /* bytes now */
  bool hit;       /* has one failed? */
} oom;

__attribute__((unused)) static void *oom_alloc(void *ud, void *ptr,
                                               size_t osize, size_t nsize) {
  oom *o = ud;
  if (nsize == 0) {
    free(ptr);
    o->live -= ptr ? osize : 0;
    return NULL;
  }
  if (!ptr || nsize > osize) {
    o->count++;
    if (o->fail_at &&
        (o->count == o->fail_at || (o->sticky && o->count > o->fail_at))) {
      o->hit = true;
      return NULL;
    }
  }
  void *to = realloc(ptr, nsize);
  if (!to) abort();
  o->live += nsize - (ptr ? osize : 0);
  return to;
}

/* Runs `scenario` until no allocation fails; each run must give all memory
 * back. `sticky`: from the failing one on, all fail. */
__attribute__((unused)) static void oom_each(const char *name,
                                             void (*scenario)(oom *o),
                                             bool sticky) {
  size_t leaks = 0, runs = 0;
  for (size_t i = 1;; i++, runs++) {
    oom o = {.fail_at = i, .sticky = sticky};
    scenario(&o);
    if (o.live) leaks++;
    if (!o.hit) break;
  }
  ok(leaks == 0, "%s: %zu failing allocations, none leaks", name, runs);
}

#endif
