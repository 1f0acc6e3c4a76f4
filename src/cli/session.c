/* SPDX-License-Identifier: MIT
 *
 * Signals reach the loop by mrpc_host_signal; a second wish to end, once the
 * host is being freed, is granted at once. */
#include "cli/session.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static mrpc_host *signalled; /* the signal handlers' */
static volatile sig_atomic_t interrupts, is_closing;

/* Signals. */

static void on_interrupt(int number) {
  (void)number;
  if (interrupts++ && is_closing) _exit(EXIT_INTERRUPTED);
  if (signalled) mrpc_host_signal(signalled, MRPC_HOST_TELL);
}

static void on_alarm(int number) {
  (void)number;
  if (signalled) mrpc_host_signal(signalled, MRPC_HOST_TELL);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void session_alarm(double seconds) {
  struct itimerval timer = {0};
  timer.it_value.tv_sec = (time_t)seconds;
  timer.it_value.tv_usec =
      (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
  if (seconds > 0 && !timer.it_value.tv_sec && !timer.it_value.tv_usec)
    timer.it_value.tv_usec = 1;
  setitimer(ITIMER_REAL, &timer, NULL);
}

bool session_is_interrupted(void) {
  return interrupts > 0;
}

/* The host. */

/* Of the log only what is wrong is shown, and what a program says that we have
 * started. */
static void on_log(const mrpc_log_entry *entry, void *sink) {
  if (!strcmp(entry->text, "stderr") || entry->level <= MRPC_LOG_WARN)
    cli_log(entry, sink);
}

int session_open(session *s, const command *self, const char *url,
                 const mrpc_limits *limits, mrpc_host_fn on_signal, void *ud) {
  mrpc_env_config env_config = {.log = on_log, .log_ud = &s->sink};
  mrpc_host_config config;
  *s = (session){.self = self, .url = url};
  cli_log_init(&s->sink, false);
  mrpc_host_config_init(&config);
  int rc = mrpc_env_new(&env_config, &s->env);
  config.env = s->env;
  if (limits) config.limits = *limits;
  config.on_signal = on_signal;
  config.ud = ud;
  if (!rc) rc = mrpc_host_new(&config, &s->host);
  if (rc) {
    fprintf(stderr, "moonrpc %s: %s\n", self->name, mrpc_strerror(rc));
    return EXIT_FAULT;
  }
  signalled = s->host;
  handle(SIGALRM, on_alarm);
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  return EXIT_DONE;
}

void session_close(session *s, bool in_haste, int code) {
  is_closing = 1;
  session_alarm(0);
  signalled = NULL;
  if (in_haste && strncmp(s->url, "exec", 4) != 0) _exit(cli_finish(code));
  mrpc_host_free(s->host);
  mrpc_env_free(s->env);
}

int session_connect(session *s, mrpc_peer_open_fn on_open,
                    mrpc_peer_fn on_close, void *ud) {
  int rc = mrpc_host_connect(s->host, s->url, on_open, on_close, ud);
  if (rc == MRPC_ESYNTAX)
    return cli_usage(s->self, "%s", mrpc_host_error(s->host));
  return rc ? session_complain_host(s) : EXIT_DONE;
}

bool session_is_http(const session *s) {
  return !strncmp(s->url, "http", 4);
}

/* Complaints. */

int session_complain(const session *s, const char *text) {
  fprintf(stderr, "moonrpc %s: %s: %s\n", s->self->name, s->url, text);
  return EXIT_UNREACHABLE;
}

int session_complain_late(const session *s, double seconds) {
  char text[64];
  snprintf(text, sizeof text, "no answer within %g s", seconds);
  return session_complain(s, text);
}

int session_complain_host(const session *s) {
  fprintf(stderr, "moonrpc %s: %s\n", s->self->name, mrpc_host_error(s->host));
  return EXIT_UNREACHABLE;
}

/* Another framing is the likely reason for an early end, where there can be
 * another. */
void session_suggest_framing(const session *s) {
  bool is_bare = !strncmp(s->url, "tcp:", 4) || !strncmp(s->url, "unix:", 5);
  if (!is_bare || strchr(s->url, '?')) return;
  fprintf(stderr, "does the server speak ?framing=header, or HTTP (%s)?\n",
          *s->url == 't' ? "http://" : "http+unix:");
}

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
int session_show_fault(const session *s, const mrpc_answer *answer,
                       const char *unknown_hint) {
  mrpc_env *env = s->env;
  fault f = {.env = env};
  mrpc_json_each(env, answer->json, answer->len, take_member, &f);
  fprintf(stderr, "%s %s", f.code ? f.code : "?", f.message ? f.message : "");
  if (f.data) fprintf(stderr, " %s", f.data);
  fprintf(stderr, "\n");
  if (unknown_hint && f.code && !strcmp(f.code, "-32601"))
    fprintf(stderr, "%s\n", unknown_hint);
  mrpc_text_free(env, f.code);
  mrpc_text_free(env, f.message);
  mrpc_text_free(env, f.data);
  return EXIT_FAULT;
}
