/* SPDX-License-Identifier: MIT
 *
 * The environment that an embedder grants: memory, time, deadlines, log. All
 * layers hold a pointer to one and reach memory, clock and log only through
 * it. */
#ifndef MRPC_BASE_ENV_H
#define MRPC_BASE_ENV_H

#include "base/mem.h"
#include "base/timer.h"

struct mrpc_env {
  mrpc_mem mem;
  mrpc_timers timers;
  mrpc_clock_fn clock;
  void *clock_ud;
  mrpc_log_fn log;
  void *log_ud;
  int log_level;
  uint32_t seed; /* for hash maps; differs from process to process */
};

static inline uint64_t mrpc_env_now(const mrpc_env *env) {
  return env->clock(env->clock_ud);
}

/* Seconds to nanoseconds, from now. Never due when `seconds` is negative. */
uint64_t mrpc_env_after(const mrpc_env *env, double seconds);

/* Logs a constant text with pairs of strings, ended by NULL:
 * mrpc_log(env, MRPC_LOG_WARN, "call failed", "method", name, NULL). A pair
 * whose value is NULL ends the list too. */
void mrpc_log(const mrpc_env *env, int level, const char *text, ...)
    __attribute__((sentinel));

static inline bool mrpc_log_wants(const mrpc_env *env, int level) {
  return env->log && level <= env->log_level;
}

#endif
