/* SPDX-License-Identifier: MIT */
#include "base/env.h"

#include <stdarg.h>
#include <time.h>

enum { MAX_PAIRS = 12 };

static uint64_t monotonic(void *ud) {
  (void)ud;
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* Address space layout and start time are enough to keep a peer from knowing
 * which method names collide. */
static uint32_t make_seed(const mrpc_env *env) {
  uint64_t x = (uint64_t)(uintptr_t)env ^ monotonic(NULL);
  x *= UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(x >> 32);
}

int mrpc_env_new(const mrpc_env_config *config, mrpc_env **out) {
  mrpc_mem mem = {config->alloc ? config->alloc : mrpc_mem_default,
                  config->alloc_ud};
  mrpc_env *env = mrpc_mem_new(&mem, sizeof *env);
  if (!env) return MRPC_ENOMEM;
  env->mem = mem;
  mrpc_timers_init(&env->timers, &env->mem);
  env->clock = config->clock ? config->clock : monotonic;
  env->clock_ud = config->clock_ud;
  env->log = config->log;
  env->log_ud = config->log_ud;
  env->log_level = config->log_level ? config->log_level : MRPC_LOG_INFO;
  env->seed = make_seed(env);
  *out = env;
  return MRPC_OK;
}

void mrpc_env_free(mrpc_env *env) {
  if (!env) return;
  mrpc_timers_clear(&env->timers);
  mrpc_mem mem = env->mem;
  mrpc_mem_free(&mem, env, sizeof *env);
}

uint64_t mrpc_timer_next(const mrpc_env *env) {
  return mrpc_timers_next(&env->timers);
}

void mrpc_timer_run(mrpc_env *env, uint64_t now) {
  mrpc_timers_run(&env->timers, now);
}

uint64_t mrpc_env_after(const mrpc_env *env, double seconds) {
  if (!(seconds >= 0) || seconds >= 9e9) return UINT64_MAX;
  return mrpc_env_now(env) + (uint64_t)(seconds * 1e9);
}

void mrpc_log(const mrpc_env *env, int level, const char *text, ...) {
  if (!mrpc_log_wants(env, level)) return;
  const char *pairs[2 * MAX_PAIRS];
  size_t count = 0;
  va_list args;
  va_start(args, text);
  while (count < MAX_PAIRS) {
    const char *key = va_arg(args, const char *);
    const char *value = key ? va_arg(args, const char *) : NULL;
    if (!value) break;
    pairs[2 * count] = key;
    pairs[2 * count + 1] = value;
    count++;
  }
  va_end(args);
  mrpc_log_entry entry = {level, text, count, pairs};
  env->log(&entry, env->log_ud);
}
