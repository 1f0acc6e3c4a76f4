/* SPDX-License-Identifier: MIT
 *
 * Answers are built as JSON text in a buffer. The form of rpc.discover is that
 * of an OpenRPC document, as far as we know its contents. */
#include "host/admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/write.h"
#include "rpc/call.h"
#include "runtime/methods.h"
#include "transport/stream.h"

enum { MAX_ANSWER = 16 << 20 };

/* An rpc.reload that waits for the report. */
typedef struct waiting {
  mrpc_link link; /* in host->reloads */
  mrpc_call *call;
} waiting;

static void put_string(mrpc_buf *buf, const char *text) {
  mrpc_json_write_text(buf, text, strlen(text));
}

static void put_key(mrpc_buf *buf, const char *before, const char *name) {
  mrpc_buf_adds(buf, before);
  put_string(buf, name);
  mrpc_buf_addc(buf, ':');
}

static void put_count(mrpc_buf *buf, const char *name, uint64_t value) {
  put_key(buf, ",", name);
  mrpc_buf_addu(buf, value);
}

static void put_flag(mrpc_buf *buf, const char *before, const char *name,
                     bool value) {
  put_key(buf, before, name);
  mrpc_buf_adds(buf, value ? "true" : "false");
}

static void put_seconds(mrpc_buf *buf, const char *name, double value) {
  put_key(buf, ",", name);
  mrpc_json_write_double(buf, (double)(int64_t)(value * 1e6) / 1e6);
}

/* Answers with what stands in the buffer, or says why it can't. */
static void answer(mrpc_call *call, mrpc_buf *buf) {
  if (buf->err)
    mrpc_call_error(call, MRPC_INTERNAL_ERROR, "Internal error", NULL);
  else
    mrpc_call_reply(call, buf->data, buf->len);
  mrpc_buf_clear(buf);
}

/* Who runs the host may ask; to others these methods don't exist: then the call
 * is answered here. */
static bool is_allowed(mrpc_host *host, mrpc_call *call) {
  if (host->config.dev || host->config.open_admin) return true;
  mrpc_peer *peer = mrpc_call_peer(call);
  mrpc_conn *conn = peer ? mrpc_conn_find(host->loop, peer) : NULL;
  if (conn && mrpc_conn_is_owner(conn)) return true;
  mrpc_call_error(call, MRPC_METHOD_NOT_FOUND, "Method not found", NULL);
  return false;
}

/* rpc.discover. */

typedef struct listing {
  const mrpc_method **items;
  size_t count;
} listing;

static size_t collect(const mrpc_map *map, listing *to) {
  const mrpc_method *method;
  uint32_t at = 0;
  while (map && (method = mrpc_map_next(map, &at)) != NULL)
    if (strncmp(method->name, "rpc.", 4) != 0) to->items[to->count++] = method;
  return to->count;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const mrpc_method *const *)a)->name,
                (*(const mrpc_method *const *)b)->name);
}

static void put_param(mrpc_buf *buf, const char *name, bool first) {
  put_key(buf, first ? "{" : ",{", "name");
  put_string(buf, name);
  mrpc_buf_lit(buf, ",\"schema\":true}");
}

/* What a Lua method's parameters are called, "..." for whatever else it takes;
 * nothing is known of C methods. */
static void put_method(mrpc_buf *buf, const mrpc_method *method, bool first) {
  put_key(buf, first ? "{" : ",{", "name");
  put_string(buf, method->name);
  mrpc_buf_lit(buf, ",\"params\":[");
  if (method->start == mrpc_lua_method_start) {
    const mrpc_lua_method *lua = method->ud;
    uint16_t count = lua->takes_params ? 0 : lua->param_count;
    for (uint16_t i = 0; i < count; i++) put_param(buf, lua->params[i], i == 0);
    if (lua->is_vararg || lua->takes_params) put_param(buf, "...", count == 0);
  }
  mrpc_buf_lit(buf, "],\"result\":{\"name\":\"result\",\"schema\":true}}");
}

static void put_methods(mrpc_buf *buf, listing *list) {
  qsort(list->items, list->count, sizeof *list->items, by_name);
  mrpc_buf_lit(buf,
               "{\"openrpc\":\"1.2.6\",\"info\":{\"title\":\"moonrpc\","
               "\"version\":\"" MRPC_VERSION "\"},\"methods\":[");
  for (size_t i = 0; i < list->count; i++)
    put_method(buf, list->items[i], i == 0);
  mrpc_buf_lit(buf, "]}");
}

static void discover(mrpc_call *call, void *ud) {
  mrpc_host *host = ud;
  if (!is_allowed(host, call)) return;
  const mrpc_mem *mem = &host->env->mem;
  const mrpc_map *native = mrpc_dispatch_native(host->dispatch);
  const mrpc_map *scripted = mrpc_dispatch_scripted(host->dispatch);
  mrpc_buf buf;
  mrpc_buf_init(&buf, mem, MAX_ANSWER);
  size_t size = (native->count + scripted->count + 1) * sizeof(void *);
  listing list = {mrpc_mem_new(mem, size), 0};
  if (list.items) {
    collect(native, &list);
    collect(scripted, &list);
    put_methods(&buf, &list);
  } else {
    buf.err = MRPC_ENOMEM;
  }
  mrpc_mem_free(mem, list.items, size);
  answer(call, &buf);
}

/* rpc.status. */

void mrpc_admin_add_stats(mrpc_peer_stats *sums, const mrpc_peer *peer) {
  mrpc_peer_stats s;
  if (!peer) return;
  mrpc_peer_get_stats(peer, &s);
  sums->requests += s.requests;
  sums->notifications += s.notifications;
  sums->errors += s.errors;
  sums->calls_out += s.calls_out;
  sums->stray_answers += s.stray_answers;
  sums->in_flight += s.in_flight;
  sums->pending += s.pending;
  sums->held += s.held;
}

static void put_faults(mrpc_buf *buf, const mrpc_report *report) {
  put_key(buf, ",", "faults");
  mrpc_buf_addc(buf, '[');
  for (size_t i = 0; i < report->fault_count; i++) {
    const mrpc_fault *fault = &report->faults[i];
    put_key(buf, i ? ",{" : "{", "file");
    put_string(buf, fault->file);
    put_count(buf, "line", (uint64_t)(fault->line > 0 ? fault->line : 0));
    put_key(buf, ",", "message");
    put_string(buf, fault->message);
    mrpc_buf_addc(buf, '}');
  }
  mrpc_buf_addc(buf, ']');
}

static void put_report(mrpc_buf *buf, const mrpc_report *report) {
  put_flag(buf, "{", "ok", report->ok);
  put_count(buf, "generation", report->generation);
  put_count(buf, "files", report->files);
  put_count(buf, "methods", report->methods);
  put_seconds(buf, "seconds", report->seconds);
  put_faults(buf, report);
  mrpc_buf_addc(buf, '}');
}

/* The peers that have gone have nothing in flight, so the sums of what is now
 * come from those that live. */
static void put_counters(mrpc_buf *buf, const mrpc_host *host) {
  mrpc_peer_stats sums = host->ended;
  sums.in_flight = sums.pending = 0;
  sums.held = 0;
  const mrpc_link *streams = &host->loop->streams;
  for (mrpc_link *l = streams->next; l != streams; l = l->next)
    mrpc_admin_add_stats(&sums, mrpc_list_of(l, mrpc_conn, link)->peer);
  put_key(buf, ",", "counters");
  mrpc_buf_lit(buf, "{\"connections\":");
  mrpc_buf_addu(buf, host->connections);
  put_count(buf, "open", host->loop->stream_count);
  put_count(buf, "requests", sums.requests);
  put_count(buf, "notifications", sums.notifications);
  put_count(buf, "errors", sums.errors);
  put_count(buf, "in_flight", sums.in_flight);
  put_count(buf, "calls_out", sums.calls_out);
  put_count(buf, "pending", sums.pending);
  put_count(buf, "stray_answers", sums.stray_answers);
  put_count(buf, "held_bytes", sums.held);
  mrpc_buf_addc(buf, '}');
}

static void status(mrpc_call *call, void *ud) {
  mrpc_host *host = ud;
  if (!is_allowed(host, call)) return;
  uint64_t up = mrpc_env_now(host->env) - host->started;
  mrpc_buf buf;
  mrpc_buf_init(&buf, &host->env->mem, MAX_ANSWER);
  mrpc_buf_lit(&buf, "{\"version\":\"" MRPC_VERSION "\",\"mode\":");
  put_string(&buf, host->config.dev ? "dev" : "prod");
  put_seconds(&buf, "uptime", (double)up / 1e9);
  if (host->runtime) {
    const mrpc_report *report = mrpc_runtime_report(host->runtime);
    put_count(&buf, "generation", report->generation);
    put_flag(&buf, ",", "loading", mrpc_runtime_is_loading(host->runtime));
    put_key(&buf, ",", "reload");
    put_report(&buf, report);
    put_count(&buf, "lua_bytes", host->runtime->memory);
  }
  put_counters(&buf, host);
  mrpc_buf_addc(&buf, '}');
  answer(call, &buf);
}

/* rpc.reload. */

static void reload(mrpc_call *call, void *ud) {
  mrpc_host *host = ud;
  if (!is_allowed(host, call)) return;
  waiting *w = mrpc_mem_new(&host->env->mem, sizeof *w);
  if (!w || mrpc_host_reload(host, false)) {
    mrpc_mem_free(&host->env->mem, w, sizeof *w);
    mrpc_call_error(call, MRPC_INTERNAL_ERROR, "Internal error", NULL);
    return;
  }
  w->call = call;
  mrpc_list_insert(&host->reloads, &w->link);
}

static waiting *take_waiting(mrpc_host *host) {
  if (mrpc_list_is_empty(&host->reloads)) return NULL;
  waiting *w = mrpc_list_of(host->reloads.next, waiting, link);
  mrpc_list_remove(&w->link);
  return w;
}

static void log_fault(const mrpc_host *host, const mrpc_fault *fault,
                      const char *serving) {
  char place[512];
  const char *format = fault->line > 0 ? "%s:%d" : "%s";
  snprintf(place, sizeof place, format, fault->file, fault->line);
  mrpc_log(host->env, MRPC_LOG_ERROR, "load failed", "at", place, "error",
           fault->message, "serving", serving, NULL);
}

/* A load that fails leaves what was there before. */
static void log_faults(const mrpc_host *host, const mrpc_report *report) {
  char serving[32] = "nothing";
  if (report->generation)
    snprintf(serving, sizeof serving, "generation %u", report->generation);
  for (size_t i = 0; i < report->fault_count; i++)
    log_fault(host, &report->faults[i], serving);
}

static void log_report(const mrpc_host *host, const mrpc_report *report) {
  char generation[16], files[16], methods[16], ms[32];
  log_faults(host, report);
  if (!report->ok) return;
  snprintf(generation, sizeof generation, "%u", report->generation);
  snprintf(files, sizeof files, "%u", report->files);
  snprintf(methods, sizeof methods, "%u", report->methods);
  snprintf(ms, sizeof ms, "%lld", (long long)(report->seconds * 1000));
  mrpc_log(host->env, MRPC_LOG_INFO, "loaded", "generation", generation,
           "files", files, "methods", methods, "ms", ms, NULL);
}

void mrpc_admin_report(mrpc_host *host, const mrpc_report *report) {
  log_report(host, report);
  for (waiting *w; (w = take_waiting(host)) != NULL;) {
    mrpc_buf buf;
    mrpc_buf_init(&buf, &host->env->mem, MAX_ANSWER);
    put_report(&buf, report);
    answer(w->call, &buf);
    mrpc_mem_free(&host->env->mem, w, sizeof *w);
  }
}

void mrpc_admin_close(mrpc_host *host) {
  for (waiting *w; (w = take_waiting(host)) != NULL;) {
    mrpc_call_error(w->call, MRPC_SHUTTING_DOWN, "Shutting down", NULL);
    mrpc_mem_free(&host->env->mem, w, sizeof *w);
  }
}

int mrpc_admin_open(mrpc_host *host) {
  mrpc_dispatch *d = host->dispatch;
  int rc = mrpc_dispatch_add_host(d, "rpc.discover", discover, host);
  if (!rc) rc = mrpc_dispatch_add_host(d, "rpc.status", status, host);
  if (!rc) rc = mrpc_dispatch_add_host(d, "rpc.reload", reload, host);
  return rc;
}
