/* SPDX-License-Identifier: MIT
 *
 * The clock: deadlines move all the time (each request moves an idle limit),
 * so the timer is moved only to come sooner. When it comes too early it finds
 * nothing due and is set again: a spurious wake now and then against a heap
 * operation a message.
 *
 * libuv runs timers before it polls. When the loop was held up (by a method
 * that ran long, or the process was stopped), what arrived meanwhile came
 * before the deadlines that have passed since: it is heard first. */
#include "transport/clock.h"

#include <uv.h>

#define NS_PER_MS UINT64_C(1000000)
#define LATE_NS (5 * NS_PER_MS)

struct mrpc_clock {
  uv_timer_t timer;
  mrpc_loop *loop;
  uint64_t armed;  /* the deadline that it is set for; UINT64_MAX: none */
  bool is_put_off; /* until the loop has polled */
};

/* Work that a peer has put off is due since 0: that is never late. */
static bool is_late(uint64_t at, uint64_t now) {
  return at && now - at > LATE_NS;
}

static void on_time(uv_timer_t *timer) {
  mrpc_clock *clock = timer->data;
  clock->armed = UINT64_MAX;
  mrpc_env *env = clock->loop->env;
  uint64_t now = mrpc_env_now(env), next = mrpc_timer_next(env);
  if (next > now) return;
  clock->loop->work++;
  if (next == 0) {
    mrpc_timer_run(env, 0);
    next = mrpc_timer_next(env);
  }
  clock->is_put_off = !clock->is_put_off && next <= now && is_late(next, now);
  if (clock->is_put_off) {
    clock->armed = next;
    uv_timer_start(timer, on_time, 1, 0);
  } else {
    mrpc_timer_run(env, now);
  }
}

int mrpc_clock_new(mrpc_loop *loop, mrpc_clock **out) {
  mrpc_clock *clock = mrpc_mem_new(&loop->env->mem, sizeof *clock);
  if (!clock) return MRPC_ENOMEM;
  clock->loop = loop;
  clock->armed = UINT64_MAX;
  uv_timer_init(loop->uv, &clock->timer);
  clock->timer.data = clock;
  loop->handles++;
  *out = clock;
  return MRPC_OK;
}

static void on_closed(uv_handle_t *handle) {
  mrpc_clock *clock = handle->data;
  mrpc_loop *loop = clock->loop;
  loop->handles--;
  mrpc_mem_free(&loop->env->mem, clock, sizeof *clock);
}

void mrpc_clock_free(mrpc_clock *clock) {
  if (clock) uv_close((uv_handle_t *)&clock->timer, on_closed);
}

/* Rounded up, and beside the time that libuv believes it is, which may lie a
 * turn's work behind. */
static uint64_t delay_ms(const mrpc_clock *clock, uint64_t at) {
  uint64_t now = mrpc_env_now(clock->loop->env);
  uint64_t wait = at > now ? (at - now + NS_PER_MS - 1) / NS_PER_MS : 0;
  uint64_t hr = uv_hrtime() / NS_PER_MS, believed = uv_now(clock->loop->uv);
  return wait ? wait + (hr > believed ? hr - believed : 0) : 0;
}

void mrpc_clock_arm(mrpc_clock *clock) {
  uint64_t next = mrpc_timer_next(clock->loop->env);
  if (next >= clock->armed) {
    if (next == UINT64_MAX && clock->armed != UINT64_MAX) {
      uv_timer_stop(&clock->timer);
      clock->armed = UINT64_MAX;
    }
    return;
  }
  clock->armed = next;
  uv_timer_start(&clock->timer, on_time, delay_ms(clock, next), 0);
}
