/* SPDX-License-Identifier: MIT */
#include "base/timer.h"

enum { FIRST_CAP = 16 };

void mrpc_timers_init(mrpc_timers *timers, const mrpc_mem *mem) {
  *timers = (mrpc_timers){.mem = mem};
}

void mrpc_timers_clear(mrpc_timers *timers) {
  mrpc_mem_free(timers->mem, timers->heap, timers->cap * sizeof *timers->heap);
  mrpc_timers_init(timers, timers->mem);
}

static bool before(const mrpc_timer *a, const mrpc_timer *b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put(mrpc_timers *timers, size_t i, mrpc_timer *timer) {
  timers->heap[i] = timer;
  timer->place = i + 1;
}

static void sift_up(mrpc_timers *timers, size_t i, mrpc_timer *timer) {
  while (i > 0 && before(timer, timers->heap[(i - 1) / 2])) {
    put(timers, i, timers->heap[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  put(timers, i, timer);
}

static void sift_down(mrpc_timers *timers, size_t i, mrpc_timer *timer) {
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= timers->count) break;
    if (child + 1 < timers->count &&
        before(timers->heap[child + 1], timers->heap[child]))
      child++;
    if (before(timer, timers->heap[child])) break;
    put(timers, i, timers->heap[child]);
    i = child;
  }
  put(timers, i, timer);
}

static int make_room(mrpc_timers *timers) {
  if (timers->count < timers->cap) return MRPC_OK;
  size_t cap = timers->cap ? timers->cap * 2 : FIRST_CAP;
  size_t each = sizeof *timers->heap;
  mrpc_timer **heap = mrpc_mem_resize(timers->mem, timers->heap,
                                      timers->cap * each, cap * each);
  if (!heap) return MRPC_ENOMEM;
  timers->heap = heap;
  timers->cap = cap;
  return MRPC_OK;
}

static void remove_at(mrpc_timers *timers, size_t i) {
  mrpc_timer *last = timers->heap[--timers->count];
  if (i == timers->count) return;
  if (i > 0 && before(last, timers->heap[(i - 1) / 2]))
    sift_up(timers, i, last);
  else
    sift_down(timers, i, last);
}

void mrpc_timer_stop(mrpc_timers *timers, mrpc_timer *timer) {
  if (timer->place == 0) return;
  remove_at(timers, timer->place - 1);
  timer->place = 0;
}

int mrpc_timer_start(mrpc_timers *timers, mrpc_timer *timer, uint64_t at) {
  if (timer->place) mrpc_timer_stop(timers, timer);
  int rc = make_room(timers);
  if (rc) return rc;
  timer->at = at > timers->now ? at : timers->now;
  timer->order = ++timers->started;
  sift_up(timers, timers->count++, timer);
  return MRPC_OK;
}

uint64_t mrpc_timers_next(const mrpc_timers *timers) {
  return timers->count ? timers->heap[0]->at : UINT64_MAX;
}

/* A timer that restarts itself for `now` can't keep the loop here: its order
 * is newer than the last one that stood when the run began. What is started
 * meanwhile is due at `now` at the earliest, so that it stands behind all
 * that have been due for longer. */
void mrpc_timers_run(mrpc_timers *timers, uint64_t now) {
  uint64_t last = timers->started, outer = timers->now;
  timers->now = now;
  while (timers->count) {
    mrpc_timer *timer = timers->heap[0];
    if (timer->at > now || timer->order > last) break;
    mrpc_timer_stop(timers, timer);
    timer->fn(timer);
  }
  timers->now = outer;
}
