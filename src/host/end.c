/* SPDX-License-Identifier: MIT
 *
 * How a host ends: when nothing is left to do, by a drain, or at once. */
#include "host/host.h"

#include <stdio.h>

#include "host/admin.h"
#include "host/endpoint.h"
#include "transport/stream.h"

enum { DRAIN_SECONDS = 10 }; /* of one that nobody has asked for */

static void drain(mrpc_host *host, double seconds);
static void close_streams(mrpc_host *host);

static void tell_begin(const mrpc_host *host, uint64_t calls) {
  char in[24], open[24];
  snprintf(in, sizeof in, "%llu", (unsigned long long)calls);
  snprintf(open, sizeof open, "%u", host->loop->stream_count - host->dialled);
  mrpc_log(host->env, MRPC_LOG_INFO, "draining", "calls", in, "connections",
           open, NULL);
}

static uint64_t count_ms(const mrpc_host *host) {
  return (mrpc_env_now(host->env) - host->drain_began) / 1000000;
}

static void tell_end(const mrpc_host *host) {
  char ms[24];
  snprintf(ms, sizeof ms, "%llu", (unsigned long long)count_ms(host));
  mrpc_log(host->env, MRPC_LOG_INFO, "drained", "ms", ms, NULL);
}

static void tell_cut(const mrpc_host *host, const char *text, uint64_t calls) {
  char ms[24], cut[24];
  snprintf(ms, sizeof ms, "%llu", (unsigned long long)count_ms(host));
  snprintf(cut, sizeof cut, "%llu", (unsigned long long)calls);
  mrpc_log(host->env, MRPC_LOG_WARN, text, "ms", ms, "calls_cut", cut, NULL);
}

static void end(mrpc_host *host) {
  host->state = MRPC_HOST_ENDED;
  mrpc_timer_stop(&host->env->timers, &host->deadline);
  if (host->running) mrpc_loop_stop(host->loop);
}

/* All has been said where only streams were served: what files do at the end
 * has the time of a drain all the same. Nobody has asked for that one, so it
 * isn't told. */
static void check_silence(mrpc_host *host) {
  double seconds = host->config.drain;
  if (!mrpc_list_is_empty(&host->endpoints) && host->open_endpoints == 0)
    drain(host, seconds > 0 ? seconds : DRAIN_SECONDS);
}

void mrpc_host_check_end(mrpc_host *host) {
  if (host->loop->stream_count != host->dialled) return;
  if (host->state == MRPC_HOST_SERVING) check_silence(host);
  if (host->state != MRPC_HOST_DRAINING) return;
  if (host->runtime && !mrpc_runtime_is_quiet(host->runtime)) return;
  if (host->tells_drain) tell_end(host);
  end(host);
  close_streams(host);
}

void mrpc_host_note_close(mrpc_host *host, mrpc_conn *conn) {
  mrpc_admin_add_stats(&host->ended, conn->peer);
  if (host->state == MRPC_HOST_SERVING)
    mrpc_host_each(host, mrpc_endpoint_resume);
  mrpc_host_check_end(host);
}

/* The functions of rpc.on have ended. */
static void on_quiet(void *ud) {
  mrpc_host_check_end(ud);
}

static mrpc_conn *first_stream(mrpc_host *host) {
  mrpc_link *streams = &host->loop->streams;
  if (mrpc_list_is_empty(streams)) return NULL;
  return mrpc_list_of(streams->next, mrpc_conn, link);
}

static void close_streams(mrpc_host *host) {
  for (mrpc_conn *conn; (conn = first_stream(host)) != NULL;)
    mrpc_conn_close(conn);
}

static void drain_streams(mrpc_host *host) {
  mrpc_link *streams = &host->loop->streams;
  for (mrpc_link *l = streams->next, *next; l != streams; l = next) {
    next = l->next;
    mrpc_conn *conn = mrpc_list_of(l, mrpc_conn, link);
    if (conn->peer && conn->stays) continue;
    if (conn->peer)
      mrpc_conn_drain(conn);
    else
      mrpc_conn_close(conn);
  }
}

static uint64_t count_calls(const mrpc_host *host) {
  mrpc_peer_stats sums = {0};
  const mrpc_link *streams = &host->loop->streams;
  for (mrpc_link *l = streams->next; l != streams; l = l->next)
    mrpc_admin_add_stats(&sums, mrpc_list_of(l, mrpc_conn, link)->peer);
  return sums.in_flight;
}

/* What hasn't ended by now is cut off. */
void mrpc_host_deadline(mrpc_timer *timer) {
  mrpc_host *host = mrpc_list_of(timer, mrpc_host, deadline);
  host->cut = count_calls(host);
  tell_cut(host, "the drain has passed its deadline", host->cut);
  host->tells_drain = false;
  mrpc_host_stop(host);
}

static void drain(mrpc_host *host, double seconds) {
  host->state = MRPC_HOST_DRAINING;
  host->drain_began = mrpc_env_now(host->env);
  mrpc_host_each(host, mrpc_endpoint_close);
  uint64_t at = mrpc_env_after(host->env, seconds);
  if (at != UINT64_MAX)
    mrpc_timer_start(&host->env->timers, &host->deadline, at);
  if (host->runtime) mrpc_runtime_shutdown(host->runtime, on_quiet, host);
  drain_streams(host);
  mrpc_host_check_end(host);
}

void mrpc_host_drain(mrpc_host *host, double seconds) {
  if (host->state >= MRPC_HOST_DRAINING) return;
  tell_begin(host, count_calls(host));
  host->tells_drain = true;
  drain(host, seconds);
}

void mrpc_host_stop(mrpc_host *host) {
  bool breaks_off = host->state == MRPC_HOST_DRAINING && host->tells_drain;
  if (breaks_off) tell_cut(host, "the drain was broken off", count_calls(host));
  mrpc_host_each(host, mrpc_endpoint_close);
  if (host->state != MRPC_HOST_ENDED) end(host);
  close_streams(host);
}
