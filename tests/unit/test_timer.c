/* SPDX-License-Identifier: MIT
 *
 * The heap of deadlines. */
#include "base/timer.h"

#include "oom.h"

static oom counter;
static const mrpc_mem mem = {oom_alloc, &counter};

typedef struct alarm_clock {
  mrpc_timer timer;
  char name;
} alarm_clock;

static char rung[200];
static mrpc_timers timers;
static alarm_clock clocks[100];
static uint64_t again_at; /* ring restarts itself for then, if not 0 */
static alarm_clock *to_stop;

static void ring(mrpc_timer *timer) {
  size_t at = strlen(rung);
  if (at < sizeof rung - 1) rung[at] = ((alarm_clock *)(void *)timer)->name;
  if (again_at && mrpc_timer_start(&timers, timer, again_at)) abort();
  if (to_stop) mrpc_timer_stop(&timers, &to_stop->timer);
}

static void ring_again(mrpc_timer *timer) {
  ring(timer);
  if (mrpc_timer_start(&timers, timer, 0)) abort();
}

static void start(int i, uint64_t at) {
  clocks[i].name = (char)('a' + i % 26);
  clocks[i].timer.fn = ring;
  if (mrpc_timer_start(&timers, &clocks[i].timer, at)) abort();
}

static void run_is(uint64_t now, const char *want, const char *name) {
  memset(rung, 0, sizeof rung);
  mrpc_timers_run(&timers, now);
  is_str(rung, want, name);
}

static void timer(void) {
  mrpc_timers_init(&timers, &mem);
  ok(mrpc_timers_next(&timers) == UINT64_MAX, "no timer, no deadline");
  start(0, 30);
  start(1, 10);
  start(2, 20);
  start(3, 10);
  ok(mrpc_timers_next(&timers) == 10, "the earliest");
  run_is(9, "", "too early");
  run_is(10, "bd", "equal times in the order of their starts");
  start(2, 40);
  run_is(35, "a", "a timer may be moved");
  ok(mrpc_timer_is_started(&clocks[2].timer) &&
         !mrpc_timer_is_started(&clocks[0].timer),
     "one is left");
  mrpc_timer_stop(&timers, &clocks[2].timer);
  mrpc_timer_stop(&timers, &clocks[2].timer);
  ok(mrpc_timers_next(&timers) == UINT64_MAX, "and stopped");
  again_at = 5;
  start(0, 5);
  run_is(7, "a", "one that starts itself again waits for the next run");
  again_at = 0;
  run_is(7, "a", "and comes then");
  start(0, 1);
  start(1, 2);
  to_stop = &clocks[1];
  run_is(9, "a", "one that another stops doesn't run");
  to_stop = NULL;
  start(2, 4);
  start(0, 0);
  clocks[0].timer.fn = ring_again;
  run_is(9, "ac", "one that is always due doesn't hold up the others");
  start(2, 6);
  run_is(9, "ca", "nor the next time");
  mrpc_timer_stop(&timers, &clocks[0].timer);
  mrpc_timers_clear(&timers);
  ok(counter.live == 0, "all memory came back");
}

/* Starts, moves and stops many, and looks whether they come in order. */
static void many_timers(void) {
  uint32_t random = 1;
  uint64_t due[100], last = 0;
  mrpc_timers_init(&timers, &mem);
  for (int i = 0; i < 1000; i++) {
    random = random * 1664525U + 1013904223U;
    int k = (int)(random >> 8) % 100;
    due[k] = random >> 20;
    start(k, due[k]);
    if (i % 7 == 0) mrpc_timer_stop(&timers, &clocks[k].timer);
  }
  bool fits = true;
  while (timers.count) {
    uint64_t next = mrpc_timers_next(&timers), least = UINT64_MAX;
    for (int k = 0; k < 100; k++)
      if (mrpc_timer_is_started(&clocks[k].timer) && due[k] < least)
        least = due[k];
    fits = fits && next == least && next >= last;
    last = next;
    mrpc_timers_run(&timers, next);
  }
  ok(fits, "many timers come in order");
  mrpc_timers_clear(&timers);
}

static void timer_memory(void) {
  mrpc_timers_init(&timers, &mem);
  for (int i = 0; i < 16; i++) start(i, (uint64_t)i);
  clocks[16].timer.fn = ring;
  counter.fail_at = counter.count + 1;
  ok(mrpc_timer_start(&timers, &clocks[16].timer, 1) == MRPC_ENOMEM &&
         !mrpc_timer_is_started(&clocks[16].timer),
     "a start may fail");
  counter.fail_at = counter.count + 1;
  ok(mrpc_timer_start(&timers, &clocks[3].timer, 100) == MRPC_OK &&
         mrpc_timers_next(&timers) == 0,
     "a move doesn't");
  counter.fail_at = 0;
  run_is(50, "abcefghijklmnop", "the others come");
  mrpc_timers_clear(&timers);
  ok(counter.live == 0, "all memory came back");
  for (int i = 0; i < 100; i++) clocks[i] = (alarm_clock){0};
}

int main(void) {
  timer();
  many_timers();
  timer_memory();
  return tap_finish();
}
