/* SPDX-License-Identifier: MIT
 *
 * One side of a conversation: an environment with a counting allocator and a
 * clock that stands still until it is moved, the methods of dialogues, a peer
 * with some framing, and a text that gathers its output. */
#ifndef MRPC_TEST_TALK_H
#define MRPC_TEST_TALK_H

#include "methods.h"
#include "oom.h"
#include "rpc/peer.h"

/* Messages as string literals, in the form that the core itself writes. */
#define REQ(method, params, id)                                       \
  "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params \
  ",\"id\":" id "}"
#define NOTE(method, params) \
  "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"
#define RES(result, id) \
  "{\"jsonrpc\":\"2.0\",\"result\":" result ",\"id\":" id "}"
#define ERR(code, message, id)                                               \
  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":" code ",\"message\":\"" message \
  "\"},\"id\":" id "}"
#define INVALID(id) ERR("-32600", "Invalid Request", id)
#define GARBLED ERR("-32700", "Parse error", "null")
#define UNKNOWN(id) ERR("-32601", "Method not found", id)
#define INTERNAL(id) ERR("-32603", "Internal error", id)
#define CANCELLED(id) ERR("-32800", "Request cancelled", id)

typedef struct talk {
  oom mem;
  uint64_t now;
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  mrpc_peer *peer;
  methods methods;
  mrpc_limits limits;
  mrpc_peer_config config; /* what is set before talk_open stays */
  int (*framing)(mrpc_env *, const mrpc_limits *, mrpc_framing **);
  char *out; /* what was sent since the last talk_take; NUL-terminated */
  size_t out_len;
  char *taken;
  unsigned wakes;
  unsigned warnings; /* log entries of level warn */
  bool is_stuck;     /* the other side doesn't read */
} talk;

static void *talk_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  return oom_alloc(&((talk *)ud)->mem, ptr, osize, nsize);
}

static uint64_t talk_clock(void *ud) {
  return ((talk *)ud)->now;
}

static void talk_log(const mrpc_log_entry *entry, void *ud) {
  if (entry->level <= MRPC_LOG_WARN) ((talk *)ud)->warnings++;
}

static void talk_on_wake(mrpc_peer *peer, void *ud) {
  (void)peer;
  ((talk *)ud)->wakes++;
}

/* Takes the output that there is. */
__attribute__((unused)) static void talk_flush(talk *t) {
  const char *bytes;
  size_t len;
  while (!t->is_stuck && (len = mrpc_peer_output(t->peer, &bytes))) {
    t->out = realloc(t->out, t->out_len + len + 1);
    memcpy(t->out + t->out_len, bytes, len);
    t->out_len += len;
    t->out[t->out_len] = '\0';
    mrpc_peer_sent(t->peer, len);
  }
}

/* Environment and methods. MRPC_OK or what failed. */
__attribute__((unused)) static int talk_start(talk *t) {
  mrpc_env_config config = {.alloc = talk_alloc,
                            .alloc_ud = t,
                            .clock = talk_clock,
                            .clock_ud = t,
                            .log = talk_log,
                            .log_ud = t,
                            .log_level = MRPC_LOG_DEBUG};
  int rc = mrpc_env_new(&config, &t->env);
  if (rc == MRPC_OK) rc = mrpc_dispatch_new(t->env, &t->dispatch);
  return rc ? rc : methods_add(&t->methods, t->dispatch);
}

/* A peer on top. */
__attribute__((unused)) static int talk_open(talk *t) {
  mrpc_framing *framing = NULL;
  if (!t->framing) t->framing = mrpc_framing_line;
  int rc = t->framing(t->env, &t->limits, &framing);
  if (rc) return rc;
  t->config.env = t->env;
  t->config.dispatch = t->dispatch;
  t->config.limits = &t->limits;
  t->config.on_wake = talk_on_wake;
  t->config.ud = t;
  return mrpc_peer_new(&t->config, framing, &t->peer);
}

__attribute__((unused)) static void talk_begin(talk *t) {
  if (talk_start(t) || talk_open(t)) abort();
}

/* Runs what is due now. */
__attribute__((unused)) static void talk_run(talk *t) {
  while (mrpc_timer_next(t->env) <= t->now) mrpc_timer_run(t->env, t->now);
}

__attribute__((unused)) static void talk_pass(talk *t, double seconds) {
  t->now += (uint64_t)(seconds * 1e9);
  talk_run(t);
}

/* Gives text to the peer and runs what it puts off. */
__attribute__((unused)) static int talk_say(talk *t, const char *text) {
  int rc = mrpc_peer_recv(t->peer, text, strlen(text));
  talk_run(t);
  return rc;
}

/* What was sent since the last take; valid until the next. */
__attribute__((unused)) static const char *talk_take(talk *t) {
  talk_flush(t);
  free(t->taken);
  t->taken = t->out;
  t->out = NULL;
  t->out_len = 0;
  return t->taken ? t->taken : "";
}

/* One check: `say` is answered by `want`. */
#define talk_is(t, say, want, ...) \
  talk_check((t), (say), (want), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static void talk_check(talk *t, const char *say,
                                               const char *want,
                                               const char *file, int line,
                                               const char *name) {
  talk_say(t, say);
  const char *got = talk_take(t);
  tap_bytes(got, strlen(got), want, strlen(want), file, line, name);
}

/* Lets a wait go from outside of any call. */
__attribute__((unused)) static void talk_release(talk *t, const char *name) {
  methods_let_go(&t->methods, name, strlen(name));
  talk_run(t);
}

/* Ends everything; true when all memory came back. */
__attribute__((unused)) static bool talk_end(talk *t) {
  mrpc_peer_free(t->peer);
  methods_clear(&t->methods);
  mrpc_dispatch_free(t->dispatch);
  mrpc_env_free(t->env);
  free(t->out);
  free(t->taken);
  return t->mem.live == 0;
}

#endif
