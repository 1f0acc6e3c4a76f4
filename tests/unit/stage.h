/* SPDX-License-Identifier: MIT
 *
 * A runtime with a source in memory, a clock that jumps from deadline to
 * deadline, and a peer that calls: what tests of loading play on. */
#ifndef MRPC_TEST_STAGE_H
#define MRPC_TEST_STAGE_H

#include <stdlib.h>

#include "fake.h"
#include "moonrpc.h"
#include "tap.h"

typedef struct stage {
  fake f;
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  mrpc_runtime *runtime;
  mrpc_peer *peer;
  unsigned reports;
  bool strict; /* of the runtime */
  const mrpc_dialer *dialer;
  char said[4096]; /* what the peer has been answered */
} stage;

__attribute__((unused)) static void stage_on_report(const mrpc_report *report,
                                                    void *ud) {
  (void)report;
  ((stage *)ud)->reports++;
}

/* The first failure, with all closed again. */
__attribute__((unused)) static int stage_open(stage *s,
                                              const mrpc_env_config *memory) {
  mrpc_env_config config = memory ? *memory : (mrpc_env_config){0};
  config.clock = fake_clock;
  config.clock_ud = &s->f;
  if (!s->f.now) s->f.now = 1000000000;
  int rc = mrpc_env_new(&config, &s->env);
  if (!rc) rc = mrpc_dispatch_new(s->env, &s->dispatch);
  mrpc_source source = fake_source(&s->f);
  mrpc_runtime_config rt = {.env = s->env,
                            .dispatch = s->dispatch,
                            .source = &source,
                            .strict = s->strict,
                            .dialer = s->dialer,
                            .on_report = stage_on_report,
                            .ud = s};
  if (!rc) rc = mrpc_runtime_new(&rt, &s->runtime);
  mrpc_framing *framing = NULL;
  if (!rc) rc = mrpc_framing_line(s->env, NULL, &framing);
  mrpc_peer_config peer = {
      .env = s->env, .dispatch = s->dispatch, .transport = "test"};
  if (!rc) rc = mrpc_peer_new(&peer, framing, &s->peer);
  return rc;
}

__attribute__((unused)) static void stage_close(stage *s) {
  mrpc_peer_free(s->peer);
  mrpc_runtime_free(s->runtime);
  mrpc_dispatch_free(s->dispatch);
  mrpc_env_free(s->env);
  s->peer = NULL;
  s->runtime = NULL;
  s->dispatch = NULL;
  s->env = NULL;
}

/* One turn of the loop: what is due next. False when nothing is. */
__attribute__((unused)) static bool stage_step(stage *s) {
  uint64_t next = mrpc_timer_next(s->env);
  if (next == UINT64_MAX) return false;
  if (next > s->f.now) s->f.now = next;
  mrpc_timer_run(s->env, s->f.now);
  return true;
}

/* Lets `seconds` pass. */
__attribute__((unused)) static void stage_pass(stage *s, double seconds) {
  uint64_t end = s->f.now + (uint64_t)(seconds * 1e9);
  while (mrpc_timer_next(s->env) <= end) stage_step(s);
  if (s->f.now < end) s->f.now = end;
}

/* Until the load has ended; -1 if it never does. */
__attribute__((unused)) static int stage_settle(stage *s) {
  for (int i = 0; i < 100000; i++) {
    if (!mrpc_runtime_is_loading(s->runtime)) return 0;
    if (!stage_step(s)) return -1;
  }
  return -1;
}

/* Loads; the report. */
__attribute__((unused)) static const mrpc_report *stage_load(stage *s,
                                                             bool everything) {
  if (mrpc_runtime_reload(s->runtime, everything) || stage_settle(s))
    ok(false, "the load ends");
  return mrpc_runtime_report(s->runtime);
}

/* Takes what was answered since the last time. */
__attribute__((unused)) static const char *stage_heard(stage *s) {
  const char *bytes;
  size_t len = mrpc_peer_output(s->peer, &bytes);
  if (len >= sizeof s->said) len = sizeof s->said - 1;
  if (len) memcpy(s->said, bytes, len);
  mrpc_peer_sent(s->peer, len);
  while (len && s->said[len - 1] == '\n') len--;
  s->said[len] = '\0';
  return s->said;
}

__attribute__((unused)) static void stage_say(stage *s, const char *text) {
  mrpc_peer_recv(s->peer, text, strlen(text));
  mrpc_peer_recv(s->peer, "\n", 1);
}

/* Calls a method without waiting: its result as JSON, "error CODE" or "". */
__attribute__((unused)) static const char *stage_call(stage *s,
                                                      const char *method) {
  static char result[1024];
  char text[512];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", method);
  stage_heard(s);
  stage_say(s, text);
  const char *said = stage_heard(s);
  const char *at = strstr(said, "\"result\":");
  const char *code = strstr(said, "\"code\":");
  result[0] = '\0';
  if (at) {
    const char *end = strstr(at, ",\"id\":");
    size_t len = end ? (size_t)(end - at) - 9 : strlen(at + 9);
    snprintf(result, sizeof result, "%.*s", (int)len, at + 9);
  } else if (code) {
    snprintf(result, sizeof result, "error %d", atoi(code + 7));
  }
  return result;
}

/* The faults as "file:line: message", one a line. */
__attribute__((unused)) static const char *stage_faults(
    const mrpc_report *report) {
  static char text[8192];
  size_t len = 0;
  text[0] = '\0';
  for (size_t i = 0; i < report->fault_count; i++) {
    const mrpc_fault *fault = &report->faults[i];
    int made =
        snprintf(text + len, sizeof text - len, "%s%s:%d: %s", i ? "\n" : "",
                 fault->file, fault->line, fault->message);
    if (made < 0 || (size_t)made >= sizeof text - len) break;
    len += (size_t)made;
  }
  return text;
}

#endif
