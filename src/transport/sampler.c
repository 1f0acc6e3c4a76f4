/* SPDX-License-Identifier: MIT
 *
 * A timer on the thread's processor clock, whose signal goes to this very
 * thread: its handler may look at what runs there, and there's no signal while
 * the thread sleeps. */
#include "transport/sampler.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#if defined(__linux__) && defined(SIGEV_THREAD_ID)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct mrpc_sampler {
  mrpc_loop *loop;
  mrpc_sample_fn fn;
  void *ud;
  int signal;
  timer_t timer;
};

static void on_signal(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)context;
  if (info->si_code != SI_TIMER) return;
  int saved = errno;
  const mrpc_sampler *sampler = info->si_value.sival_ptr;
  sampler->fn(sampler->ud);
  errno = saved;
}

static int install(int number) {
  struct sigaction action = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART};
  sigemptyset(&action.sa_mask);
  return sigaction(number, &action, NULL) ? -errno : 0;
}

static int start_timer(mrpc_sampler *sampler, double seconds) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                           .sigev_signo = sampler->signal,
                           .sigev_value.sival_ptr = sampler};
  event.sigev_notify_thread_id = gettid();
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &sampler->timer))
    return -errno;
  struct timespec period = {(time_t)seconds,
                            (long)((seconds - (double)(time_t)seconds) * 1e9)};
  struct itimerspec spec = {period, period};
  if (!timer_settime(sampler->timer, 0, &spec, NULL)) return 0;
  int status = -errno;
  timer_delete(sampler->timer);
  return status;
}

int mrpc_sampler_new(mrpc_loop *loop, int number, double seconds,
                     mrpc_sample_fn fn, void *ud, mrpc_sampler **out) {
  mrpc_sampler *sampler = mrpc_mem_new(&loop->env->mem, sizeof *sampler);
  if (!sampler) return MRPC_ENOMEM;
  *sampler = (mrpc_sampler){.loop = loop, .fn = fn, .ud = ud, .signal = number};
  int status = install(number);
  if (!status) status = start_timer(sampler, seconds);
  if (status) {
    mrpc_mem_free(&loop->env->mem, sampler, sizeof *sampler);
    return mrpc_loop_fail(loop, "interrupt signal", status);
  }
  *out = sampler;
  return MRPC_OK;
}

/* A signal may still wait for this thread: it is taken while blocked, since it
 * points to what is freed here. */
void mrpc_sampler_free(mrpc_sampler *sampler) {
  if (!sampler) return;
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, sampler->signal);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  timer_delete(sampler->timer);
  struct timespec none = {0, 0};
  while (sigtimedwait(&set, NULL, &none) > 0) continue;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  mrpc_mem_free(&sampler->loop->env->mem, sampler, sizeof *sampler);
}

#else

int mrpc_sampler_new(mrpc_loop *loop, int number, double seconds,
                     mrpc_sample_fn fn, void *ud, mrpc_sampler **out) {
  (void)number, (void)seconds, (void)fn, (void)ud, (void)out;
  return mrpc_loop_fail(loop, "interrupt signal", UV_ENOSYS);
}

void mrpc_sampler_free(mrpc_sampler *sampler) {
  (void)sampler;
}

#endif
