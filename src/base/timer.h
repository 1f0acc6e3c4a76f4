/* SPDX-License-Identifier: MIT
 *
 * Deadlines in a binary heap. A timer stands in its owner and knows its place
 * in the heap, so that stopping it costs as little as starting it. Starting
 * allocates only when the heap grows; restarting never does. */
#ifndef MRPC_BASE_TIMER_H
#define MRPC_BASE_TIMER_H

#include "base/mem.h"

typedef struct mrpc_timer mrpc_timer;
typedef void (*mrpc_timer_fn)(mrpc_timer *timer);

struct mrpc_timer {
  uint64_t at; /* due time; equal times run in order of their start */
  uint64_t order;
  size_t place;     /* index in the heap plus one; 0: not started */
  mrpc_timer_fn fn; /* set by the owner before the first start */
};

typedef struct mrpc_timers {
  const mrpc_mem *mem;
  mrpc_timer **heap;
  size_t count;
  size_t cap;
  uint64_t started; /* how many starts there were */
  uint64_t now;     /* of the run under way; 0: none */
} mrpc_timers;

void mrpc_timers_init(mrpc_timers *timers, const mrpc_mem *mem);
void mrpc_timers_clear(mrpc_timers *timers);
/* Starts or moves; MRPC_ENOMEM only when the timer wasn't started. */
int mrpc_timer_start(mrpc_timers *timers, mrpc_timer *timer, uint64_t at);
/* Fine for a timer that isn't started. */
void mrpc_timer_stop(mrpc_timers *timers, mrpc_timer *timer);
uint64_t mrpc_timers_next(const mrpc_timers *timers);
/* Runs what is due; timers that are started meanwhile wait for the next run. */
void mrpc_timers_run(mrpc_timers *timers, uint64_t now);

static inline bool mrpc_timer_is_started(const mrpc_timer *timer) {
  return timer->place != 0;
}

#endif
