/* SPDX-License-Identifier: MIT
 *
 * An event starts a deadline that each further event moves back, up to a
 * second after the first. When it comes, the set of watched directories is
 * brought up to date before anybody looks: what happens in a new directory
 * after it is listed is told of by its own watch. */
#include "transport/watch.h"

#include <string.h>
#include <uv.h>

#include "transport/path.h"
#include "transport/spot.h"

static const uint64_t QUIET_NS = 50000000;
static const uint64_t LONGEST_NS = 1000000000;
static const uint64_t POLL_NS = 1000000000;

struct mrpc_watch {
  mrpc_loop *loop;
  mrpc_spots spots;
  char *path; /* absolute */
  size_t len;
  mrpc_watch_fn on_change;
  void *ud;
  mrpc_timer quiet; /* nothing has happened for a while */
  uint64_t first;   /* time of the first event since on_change; 0: none */
  mrpc_timer poll;
  const char *polls; /* why; NULL: it doesn't */
};

/* Polling. */

static void start_poll(mrpc_watch *watch) {
  mrpc_env *env = watch->loop->env;
  mrpc_timer_start(&env->timers, &watch->poll, mrpc_env_now(env) + POLL_NS);
}

/* Told once for each reason, and when it is over. */
static void set_polls(mrpc_watch *watch, const char *why) {
  const mrpc_env *env = watch->loop->env;
  bool was_polling = watch->polls != NULL;
  if (why && (!was_polling || strcmp(why, watch->polls) != 0))
    mrpc_log(env, MRPC_LOG_WARN,
             "changes are looked for once a second, which costs time", "dir",
             watch->path, "reason", why, NULL);
  if (!why && was_polling)
    mrpc_log(env, MRPC_LOG_INFO, "changes are watched for again", "dir",
             watch->path, NULL);
  watch->polls = why;
  if (why && !mrpc_timer_is_started(&watch->poll)) start_poll(watch);
}

static const char *explain(int status) {
  switch (status) {
    case 0: return NULL;
    case UV_ENOSPC:
      return "no more watches: see /proc/sys/fs/inotify/max_user_watches";
    case UV_EMFILE:
    case UV_ENFILE:
      return "too many open files: see /proc/sys/fs/inotify/max_user_instances";
    case UV_EACCES:
    case UV_EPERM: return "a directory must not be watched";
    case UV_ENOMEM: return "not enough memory";
    default: return "a directory can't be watched";
  }
}

static void walk(mrpc_watch *watch) {
  mrpc_spots_walk(&watch->spots, watch->path);
  const char *why = explain(watch->spots.status);
  set_polls(watch, why ? why : watch->spots.silence);
}

static void on_poll(mrpc_timer *timer) {
  mrpc_watch *watch = mrpc_list_of(timer, mrpc_watch, poll);
  walk(watch);
  if (watch->polls && !mrpc_timer_is_started(&watch->poll)) start_poll(watch);
  watch->on_change(watch->ud);
}

/* Events. */

static void on_quiet(mrpc_timer *timer) {
  mrpc_watch *watch = mrpc_list_of(timer, mrpc_watch, quiet);
  watch->first = 0;
  walk(watch);
  watch->on_change(watch->ud);
}

static void on_event(void *ud) {
  mrpc_watch *watch = ud;
  mrpc_env *env = watch->loop->env;
  uint64_t now = mrpc_env_now(env);
  if (!watch->first) watch->first = now;
  uint64_t at = now + QUIET_NS, last = watch->first + LONGEST_NS;
  if (mrpc_timer_start(&env->timers, &watch->quiet, at < last ? at : last))
    on_quiet(&watch->quiet);
}

/* Life. */

int mrpc_watch_new(mrpc_loop *loop, const char *path, mrpc_watch_fn on_change,
                   void *ud, mrpc_watch **out) {
  char absolute[MRPC_PATH_MAX];
  int rc = mrpc_path_absolute(path, absolute, sizeof absolute);
  if (rc) return rc;
  size_t len = strlen(absolute);
  while (len > 1 && absolute[len - 1] == '/') absolute[--len] = '\0';
  mrpc_watch *watch = mrpc_mem_new(&loop->env->mem, sizeof *watch);
  if (!watch) return MRPC_ENOMEM;
  watch->path = mrpc_mem_copy(&loop->env->mem, absolute, len);
  if (!watch->path) {
    mrpc_mem_free(&loop->env->mem, watch, sizeof *watch);
    return MRPC_ENOMEM;
  }
  watch->loop = loop;
  watch->len = len;
  watch->on_change = on_change;
  watch->ud = ud;
  watch->quiet.fn = on_quiet;
  watch->poll.fn = on_poll;
  mrpc_spots_init(&watch->spots, loop, on_event, watch);
  walk(watch);
  *out = watch;
  return MRPC_OK;
}

void mrpc_watch_free(mrpc_watch *watch) {
  if (!watch) return;
  mrpc_env *env = watch->loop->env;
  mrpc_timer_stop(&env->timers, &watch->quiet);
  mrpc_timer_stop(&env->timers, &watch->poll);
  mrpc_spots_clear(&watch->spots);
  mrpc_mem_free(&env->mem, watch->path, watch->len + 1);
  mrpc_mem_free(&env->mem, watch, sizeof *watch);
}

const char *mrpc_watch_polls(const mrpc_watch *watch) {
  return watch->polls;
}
