/* SPDX-License-Identifier: MIT
 *
 * Joins the two shells and owns the order in which things begin and end. */
#include "host/host.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "host/admin.h"
#include "host/endpoint.h"
#include "host/luv.h"
#include "host/reload.h"
#include "transport/path.h"
#include "transport/sampler.h"
#include "transport/stream.h"

/* Processor time between two looks at what runs, in seconds: fine enough for
 * the deadline, coarse enough to cost nothing. */
static const double longest_sample = 0.05, shortest_sample = 0.004;

int mrpc_host_fail(mrpc_host *host, int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(host->error, sizeof host->error, format, args);
  va_end(args);
  return code;
}

const char *mrpc_host_error(const mrpc_host *host) {
  return host ? host->error : "there is no host";
}

void *mrpc_host_ud(const mrpc_host *host) {
  return host->config.ud;
}

mrpc_env *mrpc_host_env(const mrpc_host *host) {
  return host->env;
}

mrpc_dispatch *mrpc_host_dispatch(mrpc_host *host) {
  return host->dispatch;
}

mrpc_runtime *mrpc_host_runtime(mrpc_host *host) {
  return host->runtime;
}

/* Birth. */

/* The default action ends the process at the first write to a peer that has
 * gone: that is for the program to decide, not for us. */
static bool is_sigpipe_handled(void) {
  struct sigaction action;
  sigaction(SIGPIPE, NULL, &action);
  return action.sa_handler != SIG_DFL;
}

static const char *keep(mrpc_host *host, const char *text, int *rc) {
  if (!text) return NULL;
  const char *copy = mrpc_arena_copy(&host->strings, text, strlen(text));
  if (!copy) *rc = MRPC_ENOMEM;
  return copy;
}

static const char *const *keep_list(mrpc_host *host, const char *const *list,
                                    int *rc) {
  size_t count = 0;
  if (!list) return NULL;
  while (list[count]) count++;
  const char **copy =
      mrpc_arena_new(&host->strings, (count + 1) * sizeof *copy);
  if (!copy) {
    *rc = MRPC_ENOMEM;
    return NULL;
  }
  for (size_t i = 0; i <= count; i++) copy[i] = keep(host, list[i], rc);
  return copy;
}

static const char *keep_path(mrpc_host *host, const char *path, int *rc) {
  char absolute[MRPC_PATH_MAX];
  if (!path) return NULL;
  int failed = mrpc_path_absolute(path, absolute, sizeof absolute);
  if (!failed) return keep(host, absolute, rc);
  *rc = failed;
  return NULL;
}

static int keep_config(mrpc_host *host, const mrpc_host_config *config) {
  int rc = MRPC_OK;
  host->config = *config;
  mrpc_limits_init(&host->config.limits);
  mrpc_http_config *http = &host->config.http;
  host->config.methods = keep_path(host, config->methods, &rc);
  http->path = keep(host, config->http.path, &rc);
  http->hosts = keep_list(host, config->http.hosts, &rc);
  http->origins = keep_list(host, config->http.origins, &rc);
  http->headers = keep_list(host, config->http.headers, &rc);
  http->websocket.protocols =
      keep_list(host, config->http.websocket.protocols, &rc);
  host->config.listen = NULL;
  host->config.own = NULL;
  return rc;
}

static void on_report(const mrpc_report *report, void *ud);
static void on_exit_asked(int code, void *ud);
static void on_bell(void *ud);

static const char *dial_error(void *host) {
  return ((mrpc_host *)host)->error;
}

static int make_runtime(mrpc_host *host) {
  const mrpc_host_config *c = &host->config;
  const mrpc_dialer dialer = {mrpc_host_dial, dial_error, host};
  if (!c->methods && !c->source) return MRPC_OK;
  mrpc_runtime_config config = {
      .env = host->env,
      .dispatch = host->dispatch,
      .limits = &c->limits,
      .dir = c->methods,
      .source = c->source,
      .dev = c->dev,
      .strict = c->strict,
      .hook = c->hook,
      .on_report = on_report,
      .on_exit = c->on_exit ? on_exit_asked : NULL,
      .dialer = &dialer,
      .ud = host,
  };
  return mrpc_runtime_new(&config, &host->runtime);
}

/* Connections that find no descriptor would be closed; those beyond the limit
 * wait. So the limit leaves some descriptors for everything else. */
static uint32_t count_streams(const mrpc_limits *limits) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
    return limits->connections;
  uint64_t reserve = 16 + files.rlim_cur / 16;
  uint64_t room = files.rlim_cur > reserve ? files.rlim_cur - reserve : 1;
  return room < limits->connections ? (uint32_t)room : limits->connections;
}

static int make_parts(mrpc_host *host, const mrpc_host_config *config) {
  int rc = keep_config(host, config);
  if (!rc) rc = mrpc_loop_new(host->env, config->loop, &host->loop);
  if (rc) return rc;
  host->loop->max_streams = count_streams(&host->config.limits);
  bool is_ours = host->loop->max_streams == host->config.limits.connections;
  host->loop->max_name =
      is_ours ? "limits.connections" : "what ulimit -n leaves";
  rc = mrpc_bell_new(host->loop, on_bell, host, &host->bell);
  if (!rc) rc = mrpc_dispatch_new(host->env, &host->dispatch);
  if (!rc) mrpc_dispatch_set_codes(host->dispatch, &host->config.errors);
  if (!rc) rc = mrpc_admin_open(host);
  if (!rc) rc = make_runtime(host);
  return rc ? rc : mrpc_luv_open(host);
}

int mrpc_host_new(const mrpc_host_config *config, mrpc_host **out) {
  *out = NULL;
  if (!config->env) return MRPC_EINVAL;
  if (!is_sigpipe_handled()) return MRPC_ESIGPIPE;
  mrpc_host *host = mrpc_mem_new(&config->env->mem, sizeof *host);
  if (!host) return MRPC_ENOMEM;
  host->env = config->env;
  host->started = mrpc_env_now(host->env);
  host->deadline.fn = mrpc_host_deadline;
  mrpc_arena_init(&host->strings, &host->env->mem);
  mrpc_list_init(&host->endpoints);
  mrpc_list_init(&host->reloads);
  int rc = make_parts(host, config);
  if (rc) {
    mrpc_host_free(host);
    return rc;
  }
  *out = host;
  return MRPC_OK;
}

/* Calls end with the runtime, while their peers are still there to be told;
 * peers end with the loop, and the dispatch outlives both. */
void mrpc_host_free(mrpc_host *host) {
  if (!host) return;
  if (host->loop) mrpc_host_stop(host);
  mrpc_reload_stop(host);
  mrpc_luv_close(host);
  mrpc_runtime_free(host->runtime);
  mrpc_luv_free(host);
  mrpc_admin_close(host);
  mrpc_sampler_free(host->sampler);
  mrpc_timer_stop(&host->env->timers, &host->deadline);
  mrpc_bell_free(host->bell);
  mrpc_loop_free(host->loop);
  while (!mrpc_list_is_empty(&host->endpoints))
    mrpc_endpoint_free(mrpc_list_of(host->endpoints.next, mrpc_endpoint, link));
  mrpc_dispatch_free(host->dispatch);
  mrpc_arena_clear(&host->strings);
  mrpc_mem_free(&host->env->mem, host, sizeof *host);
}

/* Addresses. */

int mrpc_host_listen(mrpc_host *host, const char *url) {
  if (!host) return MRPC_EINVAL;
  if (host->state >= MRPC_HOST_DRAINING)
    return mrpc_host_fail(host, MRPC_ESTATE, "the host is ending");
  int rc = mrpc_endpoint_new(host, url);
  if (rc || host->state != MRPC_HOST_SERVING) return rc;
  return mrpc_endpoint_open(
      mrpc_list_of(host->endpoints.prev, mrpc_endpoint, link));
}

const char *mrpc_host_url(mrpc_host *host, size_t index) {
  mrpc_link *l = host->endpoints.next;
  while (index-- && l != &host->endpoints) l = l->next;
  if (l == &host->endpoints) return "";
  return mrpc_list_of(l, mrpc_endpoint, link)->text;
}

void mrpc_host_each(mrpc_host *host, void (*fn)(mrpc_endpoint *)) {
  for (mrpc_link *l = host->endpoints.next; l != &host->endpoints; l = l->next)
    fn(mrpc_list_of(l, mrpc_endpoint, link));
}

static void open_endpoint(mrpc_endpoint *endpoint) {
  mrpc_endpoint_open(endpoint);
}

/* The time of service. */

/* Runs in a signal handler. A slice that was there the last time already has
 * run for a whole sample: its task shall look at its deadlines. */
static void on_sample(void *ud) {
  mrpc_host *host = ud;
  uint32_t slice = mrpc_runtime_slice(host->runtime);
  if (slice && slice == host->sampled) mrpc_runtime_interrupt(host->runtime);
  host->sampled = slice;
}

/* On the loop's thread, whose time is to be measured. */
static void start_sampler(mrpc_host *host) {
  if (host->sampler_tried || !host->runtime) return;
  host->sampler_tried = true;
  const mrpc_host_config *c = &host->config;
  if (!c->interrupt_signal || c->limits.handler < 0) return;
  double seconds = c->limits.handler / 8;
  if (seconds > longest_sample) seconds = longest_sample;
  if (seconds < shortest_sample) seconds = shortest_sample;
  if (mrpc_sampler_new(host->loop, c->interrupt_signal, seconds, on_sample,
                       host, &host->sampler))
    mrpc_log(host->env, MRPC_LOG_WARN, "handlers run without a deadline",
             "error", host->loop->error, NULL);
}

static void serve(mrpc_host *host) {
  host->state = MRPC_HOST_SERVING;
  mrpc_host_each(host, open_endpoint);
  if (host->config.on_ready) host->config.on_ready(host, host->config.ud);
  mrpc_host_check_end(host);
}

/* What callers may be told when there is nothing to call. */
static void set_hint(mrpc_host *host, const mrpc_report *report) {
  const mrpc_fault *fault = report->fault_count ? report->faults : NULL;
  char *hint = host->hint;
  const size_t size = sizeof host->hint;
  if (report->generation == 0 && fault && fault->line)
    snprintf(hint, size, "nothing is loaded: %s:%d: %s", fault->file,
             fault->line, fault->message);
  else if (report->generation == 0 && fault)
    snprintf(hint, size, "nothing is loaded: %s: %s", fault->file,
             fault->message);
  else
    snprintf(hint, size, "no methods are loaded");
  mrpc_dispatch_set_hint(host->dispatch, report->methods ? NULL : hint);
}

static void on_report(const mrpc_report *report, void *ud) {
  mrpc_host *host = ud;
  set_hint(host, report);
  mrpc_admin_report(host, report);
  if (host->config.on_report) host->config.on_report(report, host->config.ud);
  if (host->state == MRPC_HOST_LOADING) serve(host);
}

static void on_exit_asked(int code, void *ud) {
  mrpc_host *host = ud;
  host->config.on_exit(code, host->config.ud);
}

int mrpc_host_start(mrpc_host *host) {
  if (!host) return MRPC_EINVAL;
  if (host->state != MRPC_HOST_NEW) return MRPC_OK;
  start_sampler(host);
  host->state = MRPC_HOST_LOADING;
  if (!host->runtime) {
    serve(host);
    return MRPC_OK;
  }
  int rc = mrpc_reload_start(host);
  if (rc) return mrpc_host_fail(host, rc, "%s", mrpc_strerror(rc));
  rc = mrpc_host_reload(host, true);
  mrpc_loop_arm(host->loop);
  return rc;
}

int mrpc_host_reload(mrpc_host *host, bool everything) {
  if (!host->runtime)
    return mrpc_host_fail(host, MRPC_ESTATE, "there are no Lua methods");
  int rc = mrpc_runtime_reload(host->runtime, everything);
  return rc ? mrpc_host_fail(host, rc, "%s", mrpc_strerror(rc)) : MRPC_OK;
}

int mrpc_host_run(mrpc_host *host) {
  int rc = mrpc_host_start(host);
  if (rc) return rc;
  host->running = true;
  if (host->state != MRPC_HOST_ENDED) mrpc_loop_run(host->loop);
  host->running = false;
  return host->cut ? mrpc_host_fail(host, MRPC_ETIMEOUT, "calls were cut off")
                   : MRPC_OK;
}

int mrpc_host_step(mrpc_host *host, uint64_t budget_us) {
  int rc = mrpc_host_start(host);
  if (rc) return rc;
  mrpc_loop_step(host->loop, budget_us);
  return host->state == MRPC_HOST_ENDED ? MRPC_ECLOSED : MRPC_OK;
}

void mrpc_host_signal(mrpc_host *host, int what) {
  atomic_fetch_or(&host->asked, what);
  mrpc_bell_ring(host->bell);
}

static void on_bell(void *ud) {
  mrpc_host *host = ud;
  int asked = atomic_exchange(&host->asked, 0);
  mrpc_host_fn tell = host->config.on_signal;
  if (tell && asked & MRPC_HOST_TELL) tell(host, host->config.ud);
  if (asked & MRPC_HOST_RELOAD) mrpc_host_reload(host, true);
  if (asked & MRPC_HOST_DRAIN) mrpc_host_drain(host, host->config.drain);
  if (asked & MRPC_HOST_STOP) mrpc_host_stop(host);
}
