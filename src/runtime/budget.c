/* SPDX-License-Identifier: MIT
 *
 * What the files of a load may use: run time, which those that have ended and
 * those under way share, and wall time, which is counted in looks at the run
 * time, so that a machine that stands still takes none. */
#include "runtime/chunk.h"
#include "runtime/loader.h"
#include "runtime/task.h"

static const uint64_t LOOK_NS = 100000000; /* between looks at the limits */
static const unsigned MAX_LOOKS = 100;     /* while the files run */

static uint64_t run_used(const mrpc_loader *loader) {
  uint64_t twice = loader->counted_twice;
  return loader->run_ns > twice ? loader->run_ns - twice : 0;
}

uint64_t mrpc_load_run_left(const mrpc_file *file) {
  const mrpc_loader *loader = file->loader;
  double seconds = loader->runtime->limits.load;
  if (!(seconds >= 0)) return 0;
  uint64_t all = (uint64_t)(seconds * 1e9) + 1;
  uint64_t used = file->epoch ? 0 : run_used(loader);
  return all > used ? all - used : 1;
}

int mrpc_load_watch(mrpc_loader *loader) {
  mrpc_timers *timers = &loader->runtime->env->timers;
  return mrpc_timer_start(timers, &loader->deadline,
                          mrpc_env_now(loader->runtime->env) + LOOK_NS);
}

/* Files that wait for something at once have each begun with the whole of
 * the run time before them. */
static mrpc_file *find_glutton(const mrpc_loader *loader) {
  double seconds = loader->runtime->limits.load;
  uint64_t used = run_used(loader), most = 0;
  mrpc_file *found = NULL;
  for (size_t i = 0; i < loader->plan_count; i++) {
    const mrpc_task *task = loader->plan[i]->task;
    if (!task) continue;
    used += task->run_ns;
    if (task->run_ns > most) {
      most = task->run_ns;
      found = loader->plan[i];
    }
  }
  return seconds >= 0 && (double)used > seconds * 1e9 ? found : NULL;
}

void mrpc_load_deadline(mrpc_timer *timer) {
  mrpc_loader *loader = mrpc_list_of(timer, mrpc_loader, deadline);
  if (loader->phase != MRPC_LOAD_RUN) return;
  if (loader->ended == loader->plan_count) return;
  mrpc_file *glutton = find_glutton(loader);
  if (glutton) {
    mrpc_chunk_note_run(glutton);
    mrpc_load_fail(loader);
  } else if (++loader->looks < MAX_LOOKS) {
    mrpc_load_watch(loader);
  } else {
    for (size_t i = 0; i < loader->plan_count; i++)
      if (loader->plan[i]->state == MRPC_FILE_LOADING)
        mrpc_chunk_note_wait(loader->plan[i]);
    mrpc_load_fail(loader);
  }
}
