/* SPDX-License-Identifier: MIT
 *
 * A runtime whose only file is the text that a test gives, and a peer to call
 * its methods: a talk (talk.h) that speaks to Lua. */
#ifndef MRPC_TEST_SCRIPT_H
#define MRPC_TEST_SCRIPT_H

#include "fake.h"
#include "runtime/runtime.h"
#include "talk.h"

/* Answers that are errors, as script_is awaits them. */
#define HIDDEN "\"error\":{\"code\":-32603,\"message\":\"Internal error\"}"
#define STRUCK \
  "\"error\":{\"code\":-32053,\"message\":\"Script limit exceeded\"}"
#define LATE "\"error\":{\"code\":-32051,\"message\":\"Timed out\"}"
#define GIVEN_UP "\"error\":{\"code\":-32800,\"message\":\"Request cancelled\"}"
#define ENDING "\"error\":{\"code\":-32054,\"message\":\"Shutting down\"}"

typedef struct script {
  talk talk;
  fake fake;
  mrpc_source source;
  mrpc_runtime_config config; /* what is set before script_open stays */
  mrpc_runtime *runtime;
  char log[1 << 14]; /* what was logged since script_log last told */
  size_t log_len;
  bool quiet;    /* nothing is kept of the log */
  uint64_t tick; /* each look at the clock moves it by so much */
} script;

static uint64_t script_clock(void *ud) {
  script *s = ud;
  return s->talk.now += s->tick;
}

static void script_add(script *s, const char *text) {
  size_t len = strlen(text);
  if (len > sizeof s->log - 1 - s->log_len)
    len = sizeof s->log - 1 - s->log_len;
  if (s->quiet) return;
  memcpy(s->log + s->log_len, text, len);
  s->log_len += len;
  s->log[s->log_len] = '\0';
}

/* "text key=value key=value\n" */
static void script_on_log(const mrpc_log_entry *entry, void *ud) {
  script *s = ud;
  script_add(s, entry->text);
  for (size_t i = 0; i < entry->count; i++) {
    script_add(s, " ");
    script_add(s, entry->pairs[2 * i]);
    script_add(s, "=");
    script_add(s, entry->pairs[2 * i + 1]);
  }
  script_add(s, "\n");
}

/* The log since the last question. */
__attribute__((unused)) static const char *script_log(script *s) {
  s->log_len = 0;
  return s->log;
}

/* Environment, peer and runtime; MRPC_OK or what failed. */
__attribute__((unused)) static int script_open(script *s, const char *text) {
  mrpc_env_config config = {.alloc = talk_alloc,
                            .alloc_ud = &s->talk,
                            .clock = script_clock,
                            .clock_ud = s,
                            .log = script_on_log,
                            .log_ud = s,
                            .log_level = MRPC_LOG_DEBUG};
  int rc = mrpc_env_new(&config, &s->talk.env);
  if (!rc) rc = mrpc_dispatch_new(s->talk.env, &s->talk.dispatch);
  if (!rc) rc = talk_open(&s->talk);
  if (rc) return rc;
  fake_put(&s->fake, "init.lua", text);
  s->source = fake_source(&s->fake);
  s->config.env = s->talk.env;
  s->config.dispatch = s->talk.dispatch;
  s->config.source = &s->source;
  rc = mrpc_runtime_new(&s->config, &s->runtime);
  if (!rc) rc = mrpc_runtime_reload(s->runtime, true);
  if (!rc) talk_run(&s->talk);
  return rc;
}

/* Ends everything; true when all memory came back. */
__attribute__((unused)) static bool script_end(script *s) {
  mrpc_runtime_free(s->runtime);
  return talk_end(&s->talk);
}

/* Calls a method with params (JSON text); gives what was answered. */
__attribute__((unused)) static const char *script_call(script *s,
                                                       const char *method,
                                                       const char *params) {
  static char line[1 << 16];
  snprintf(line, sizeof line,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}\n",
           method, params);
  if (s->talk.out) *s->talk.out = '\0';
  talk_say(&s->talk, line);
  return talk_take(&s->talk);
}

/* One check: a call is answered by `want`, the part behind "jsonrpc":
 * `"result":1`; "" when it isn't answered yet. */
#define script_is(s, method, params, want) \
  script_check((s), (method), (params), (want), __FILE__, __LINE__)
/* The same for what was answered since. */
#define script_then(s, seconds, want) \
  script_check_then((s), (seconds), (want), __FILE__, __LINE__)

static void script_compare(const char *got, const char *want, const char *name,
                           const char *file, int line) {
  static char whole[1 << 16];
  snprintf(whole, sizeof whole, "{\"jsonrpc\":\"2.0\",%s,\"id\":1}\n", want);
  if (!*want) *whole = '\0';
  tap_bytes(got, strlen(got), whole, strlen(whole), file, line, name);
}

__attribute__((unused)) static void script_check_then(script *s, double seconds,
                                                      const char *want,
                                                      const char *file,
                                                      int line) {
  if (s->talk.out) *s->talk.out = '\0';
  talk_pass(&s->talk, seconds);
  script_compare(talk_take(&s->talk), want, "... and then", file, line);
}

__attribute__((unused)) static void script_check(script *s, const char *method,
                                                 const char *params,
                                                 const char *want,
                                                 const char *file, int line) {
  static char name[128];
  snprintf(name, sizeof name, "%s %.60s", method, params);
  script_compare(script_call(s, method, params), want, name, file, line);
}

#endif
