/* SPDX-License-Identifier: MIT
 *
 * The host runs without methods of its own until the answer is there, the
 * connection has gone, or the alarm rings. */
#include "cli/remote.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct progress {
  const remote_call *call;
  mrpc_env *env;
  mrpc_host *host;
  bool settled;
  int code;
} progress;

static mrpc_host *alarmed; /* the signal handler's */
static volatile sig_atomic_t has_rung;

static void settle(progress *p, int code) {
  if (!p->settled) p->code = code;
  p->settled = true;
  mrpc_host_stop(p->host);
}

static int complain(const progress *p, const char *text) {
  fprintf(stderr, "moonrpc %s: %s: %s\n", p->call->self->name, p->call->url,
          text);
  return EXIT_UNREACHABLE;
}

static int complain_late(const progress *p) {
  char text[64];
  snprintf(text, sizeof text, "no answer within %g s", p->call->timeout);
  return complain(p, text);
}

/* Another framing is the likely reason for an early end, where there can be
 * another. */
static void suggest_framing(const progress *p) {
  const char *url = p->call->url;
  bool is_bare = !strncmp(url, "tcp:", 4) || !strncmp(url, "unix:", 5);
  if (!is_bare || strchr(url, '?')) return;
  fprintf(stderr, "does the server speak ?framing=header, or HTTP (%s)?\n",
          *url == 't' ? "http://" : "http+unix:");
}

/* Answers. */

typedef struct fault {
  mrpc_env *env;
  char *code, *message, *data;
} fault;

static char *copy(mrpc_env *env, const char *text, size_t len) {
  return mrpc_json_pretty(env, text, len, false);
}

static int take_member(const char *key, const char *value, size_t len,
                       void *ud) {
  fault *f = ud;
  if (!strcmp(key, "code")) f->code = copy(f->env, value, len);
  if (!strcmp(key, "data")) f->data = copy(f->env, value, len);
  if (!strcmp(key, "message"))
    f->message = value[0] == '"' ? mrpc_json_unquote(f->env, value, len)
                                 : copy(f->env, value, len);
  return 0;
}

/* -32000 insufficient funds {"balance":70} */
static int show_fault(const progress *p, const mrpc_answer *answer) {
  mrpc_env *env = p->env;
  const char *hint = p->call->unknown_hint;
  fault f = {.env = env};
  mrpc_json_each(env, answer->json, answer->len, take_member, &f);
  fprintf(stderr, "%s %s", f.code ? f.code : "?", f.message ? f.message : "");
  if (f.data) fprintf(stderr, " %s", f.data);
  fprintf(stderr, "\n");
  if (hint && f.code && !strcmp(f.code, "-32601"))
    fprintf(stderr, "%s\n", hint);
  mrpc_text_free(env, f.code);
  mrpc_text_free(env, f.message);
  mrpc_text_free(env, f.data);
  return EXIT_FAULT;
}

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  progress *p = ud;
  (void)peer;
  if (p->settled) return;
  if (answer->result == MRPC_ETIMEOUT)
    settle(p, complain_late(p));
  else if (answer->result != MRPC_OK)
    return; /* on_close knows more */
  else if (answer->is_error)
    settle(p, show_fault(p, answer));
  else
    settle(p, p->call->on_result(p->env, answer->json, answer->len));
}

/* The way there. */

static void complain_host(const progress *p) {
  fprintf(stderr, "moonrpc %s: %s\n", p->call->self->name,
          mrpc_host_error(p->host));
}

static void on_close(mrpc_peer *peer, void *ud) {
  progress *p = ud;
  (void)peer;
  if (p->settled) return;
  if (has_rung) {
    settle(p, complain_late(p));
  } else if (*mrpc_host_error(p->host)) {
    complain_host(p);
    suggest_framing(p);
    settle(p, EXIT_UNREACHABLE);
  } else if (p->call->notify) {
    settle(p, EXIT_DONE);
  } else {
    settle(p, complain(p, "the connection was closed without an answer"));
    suggest_framing(p);
  }
}

static void on_open(mrpc_peer *peer, void *ud) {
  progress *p = ud;
  const remote_call *call = p->call;
  if (!peer) {
    complain_host(p);
    settle(p, EXIT_UNREACHABLE);
    return;
  }
  int rc;
  if (call->notify)
    rc = mrpc_peer_notify(peer, call->method, call->params);
  else
    rc = mrpc_peer_call(peer, call->method, call->params, call->timeout,
                        on_answer, p, NULL);
  if (rc) settle(p, complain(p, mrpc_strerror(rc)));
  if (call->notify) mrpc_peer_drain(peer);
}

static void on_alarm(int number) {
  (void)number;
  has_rung = 1;
  mrpc_host_signal(alarmed, MRPC_HOST_STOP);
}

static void start_alarm(mrpc_host *host, double seconds) {
  struct itimerval timer = {0};
  timer.it_value.tv_sec = (time_t)seconds;
  timer.it_value.tv_usec =
      (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
  if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
    timer.it_value.tv_usec = 1;
  alarmed = host;
  signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &timer, NULL);
}

/* Of the log only what is wrong is shown, and what a program says that we have
 * started. */
static void on_log(const mrpc_log_entry *entry, void *sink) {
  bool is_said = !strcmp(entry->text, "child ended"); /* with the result */
  if (!strcmp(entry->text, "stderr") ||
      (entry->level <= MRPC_LOG_WARN && !is_said))
    cli_log(entry, sink);
}

static int start(progress *p) {
  const remote_call *call = p->call;
  int rc = mrpc_host_connect(p->host, call->url, on_open, on_close, p);
  if (rc == MRPC_ESYNTAX)
    return cli_usage(call->self, "%s", mrpc_host_error(p->host));
  if (rc) {
    complain_host(p);
    return EXIT_UNREACHABLE;
  }
  start_alarm(p->host, call->timeout);
  mrpc_host_run(p->host);
  if (!p->settled) settle(p, complain_late(p));
  return p->code;
}

int remote_run(const remote_call *call) {
  progress p = {.call = call};
  log_sink sink;
  mrpc_env_config env_config = {.log = on_log, .log_ud = &sink};
  mrpc_host_config config;
  int code = EXIT_FAULT;
  cli_log_init(&sink, false);
  mrpc_host_config_init(&config);
  int rc = mrpc_env_new(&env_config, &p.env);
  config.env = p.env;
  if (!rc) rc = mrpc_host_new(&config, &p.host);
  if (rc)
    fprintf(stderr, "moonrpc %s: %s\n", call->self->name, mrpc_strerror(rc));
  else
    code = start(&p);
  p.settled = true;
  signal(SIGALRM, SIG_IGN);
  bool has_child = !strncmp(call->url, "exec", 4);
  if (has_rung && !has_child) _exit(code); /* a resolver may not give up soon */
  mrpc_host_free(p.host);
  mrpc_env_free(p.env);
  return code;
}
