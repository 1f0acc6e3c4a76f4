/* SPDX-License-Identifier: MIT
 *
 * moonrpc serve: flags and config file become a host; signals steer it. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/local.h"

static const char default_url[] = "http://127.0.0.1:4000";

enum { LISTEN, DEV, NO_WATCH, LOG, LOG_FORMAT, CONFIG, DRAIN };
static const option_rule rules[] = {
    {"--listen", true, LISTEN},         {"--dev", false, DEV},
    {"--no-watch", false, NO_WATCH},    {"--log", true, LOG},
    {"--log-format", true, LOG_FORMAT}, {"--config", true, CONFIG},
    {"--drain", true, DRAIN},           {0}};

/* What the command line says; it goes over what the config file says. */
typedef struct flags {
  const char **listen; /* NULL-terminated, room for all arguments */
  size_t listen_count;
  const char *config;
  char beside[PATH_MAX + 8]; /* "methods", where the config file is */
  bool dev, no_watch;
  int log_level;
  int log_json; /* -1: not said */
  double drain; /* 0: not said */
} flags;

/* The program while it serves. */
typedef struct server {
  const command *self;
  mrpc_env *env;
  mrpc_host *host;
  log_sink sink;
  bool is_strict; /* nothing is watched: a first load that fails is the end */
  bool is_ready;
  int exit_code; /* asked for by a script; -1: none was */
} server;

static mrpc_host *served; /* the signal handlers' */
static volatile sig_atomic_t ends_asked;

/* The command line. */

static int on_option(const command *self, int id, const char *value, void *ud) {
  flags *f = ud;
  switch (id) {
    case LISTEN: f->listen[f->listen_count++] = value; break;
    case DEV: f->dev = true; break;
    case NO_WATCH: f->no_watch = true; break;
    case CONFIG: f->config = value; break;
    case LOG:
      f->log_level = cli_log_level(value);
      if (!f->log_level)
        return cli_usage(self, "--log takes error, warn, info or debug, not %s",
                         value);
      break;
    case LOG_FORMAT:
      f->log_json = !strcmp(value, "json");
      if (!f->log_json && strcmp(value, "text") != 0)
        return cli_usage(self, "--log-format takes text or json, not %s",
                         value);
      break;
    default:
      if (!cli_seconds(value, &f->drain))
        return cli_usage(self, "--drain takes seconds, not %s", value);
  }
  return EXIT_DONE;
}

static int read_config(const command *self, const flags *f,
                       mrpc_host_config *config) {
  char error[512];
  if (!f->config) return EXIT_DONE;
  if (!mrpc_host_config_read(config, f->config, error, sizeof error))
    return EXIT_DONE;
  fprintf(stderr, "moonrpc %s: %s\n", self->name, error);
  return EXIT_USAGE;
}

/* DIR, or what the config file names, or "methods" beside it. */
static int find_methods(const command *self, flags *f, const char *dir,
                        mrpc_host_config *config) {
  const char *by = config->methods ? "methods" : "methods, by default";
  if (dir) {
    config->methods = dir;
    return local_is_directory(self, dir) ? EXIT_DONE : EXIT_FAULT;
  }
  if (!f->config) return cli_usage(self, "a directory is needed");
  const char *slash = strrchr(f->config, '/');
  int before = slash ? (int)(slash + 1 - f->config) : 0;
  snprintf(f->beside, sizeof f->beside, "%.*smethods", before, f->config);
  if (!config->methods) config->methods = f->beside;
  const char *why = local_refuse_directory(config->methods);
  if (!why) return EXIT_DONE;
  fprintf(stderr, "moonrpc %s: %s: %s: %s: %s\n", self->name, f->config, by,
          config->methods, why);
  return EXIT_FAULT;
}

static void lay_over(const flags *f, mrpc_host_config *config) {
  static const char *const standard[] = {default_url, NULL};
  if (f->listen_count) config->listen = f->listen;
  if (!config->listen || !config->listen[0]) config->listen = standard;
  if (f->dev) config->dev = true;
  if (f->no_watch) config->no_watch = true;
  if (f->log_level) config->log_level = f->log_level;
  if (f->log_json >= 0) config->log_json = f->log_json;
  if (f->drain > 0) config->drain = f->drain;
}

/* Signals. */

/* A second wish to end is granted at once, and if a script holds the loop, by
 * the alarm. */
static void on_alarm(int number) {
  (void)number;
  _exit(EXIT_FAULT);
}

static void on_end(int number) {
  (void)number;
  if (ends_asked++ == 0) {
    mrpc_host_signal(served, MRPC_HOST_DRAIN);
  } else {
    mrpc_host_signal(served, MRPC_HOST_STOP);
    alarm(1);
  }
}

static void on_hangup(int number) {
  (void)number;
  mrpc_host_signal(served, MRPC_HOST_RELOAD);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static void start_signals(mrpc_host *host) {
  served = host;
  handle(SIGTERM, on_end);
  handle(SIGINT, on_end);
  handle(SIGHUP, on_hangup);
  handle(SIGALRM, on_alarm);
}

static void end_signals(void) {
  handle(SIGTERM, SIG_IGN);
  handle(SIGINT, SIG_IGN);
  handle(SIGHUP, SIG_IGN);
}

/* The host. */

static void announce(server *s, const char *url) {
  char text[600];
  snprintf(text, sizeof text, "listening on %s%s", url,
           s->sink.json ? "" : "\n");
  if (s->sink.json)
    cli_log(&(mrpc_log_entry){.level = MRPC_LOG_INFO, .text = text}, &s->sink);
  else
    cli_log_put(&s->sink, text, strlen(text));
}

static void on_ready(mrpc_host *host, void *ud) {
  server *s = ud;
  s->is_ready = true;
  for (size_t i = 0; *mrpc_host_url(host, i); i++)
    announce(s, mrpc_host_url(host, i));
}

static void on_report(const mrpc_report *report, void *ud) {
  server *s = ud;
  if (!report->ok && !s->is_ready && s->is_strict) mrpc_host_stop(s->host);
}

/* Ends as if by SIGTERM. */
static void on_exit_asked(int code, void *ud) {
  server *s = ud;
  s->exit_code = code;
  mrpc_host_signal(s->host, MRPC_HOST_DRAIN);
}

static int complain(const server *s, const char *text) {
  fprintf(stderr, "moonrpc %s: %s\n", s->self->name, text);
  return EXIT_FAULT;
}

static int complain_busy(const server *s, const char *url) {
  bool is_http = !strncmp(url, "http://", 7);
  complain(s, mrpc_host_error(s->host));
  if (is_http || !strncmp(url, "tcp://", 6))
    fprintf(stderr, "--listen %s://127.0.0.1:0 takes a free port\n",
            is_http ? "http" : "tcp");
  return EXIT_FAULT;
}

static int listen_all(const server *s, const mrpc_host_config *config) {
  for (const char *const *url = config->listen; *url; url++) {
    int rc = mrpc_host_listen(s->host, *url);
    if (rc == MRPC_ESYNTAX)
      return cli_usage(s->self, "%s", mrpc_host_error(s->host));
    if (rc == MRPC_EEXIST) return complain_busy(s, *url);
    if (rc) return complain(s, mrpc_host_error(s->host));
  }
  return EXIT_DONE;
}

static int run_host(server *s, const mrpc_host_config *config) {
  int code = listen_all(s, config);
  if (code) return code;
  start_signals(s->host);
  int rc = mrpc_host_run(s->host);
  end_signals();
  if (rc == MRPC_ETIMEOUT) return EXIT_FAULT; /* it is in the log */
  if (rc) return complain(s, mrpc_host_error(s->host));
  if (s->exit_code >= 0) return s->exit_code;
  if (!s->is_ready && !ends_asked) return EXIT_FAULT;
  return ends_asked > 1 ? EXIT_FAULT : EXIT_DONE;
}

static int serve(server *s, mrpc_host_config *config) {
  mrpc_env_config env_config = {
      .log = cli_log, .log_ud = &s->sink, .log_level = config->log_level};
  cli_log_init(&s->sink, config->log_json);
  cli_raise_file_limit();
  int rc = mrpc_env_new(&env_config, &s->env);
  if (rc) return complain(s, mrpc_strerror(rc));
  config->env = s->env;
  config->on_ready = on_ready;
  config->on_report = on_report;
  config->on_exit = on_exit_asked;
  config->ud = s;
  config->interrupt_signal = SIGRTMIN + 1;
  rc = mrpc_host_new(config, &s->host);
  int code = rc ? complain(s, mrpc_strerror(rc)) : run_host(s, config);
  mrpc_host_free(s->host);
  mrpc_env_free(s->env);
  return code;
}

static int run(const command *self, int argc, char **argv) {
  flags f = {.log_json = -1};
  mrpc_host_config config;
  mrpc_host_config_init(&config);
  f.listen = calloc((size_t)argc + 1, sizeof *f.listen);
  if (!f.listen) return EXIT_FAULT;
  int rc = cli_options(self, rules, argc, on_option, &f, &argc, argv);
  if (!rc && argc > 2) rc = cli_usage(self, "one directory is served");
  if (!rc) rc = read_config(self, &f, &config);
  if (!rc) rc = find_methods(self, &f, argc == 2 ? argv[1] : NULL, &config);
  if (!rc) {
    lay_over(&f, &config);
    server s = {.self = self, .is_strict = config.no_watch, .exit_code = -1};
    rc = serve(&s, &config);
  }
  mrpc_host_config_clear(&config);
  free(f.listen);
  return rc == CLI_HELP_SHOWN ? EXIT_DONE : rc;
}

const command cli_serve = {
    .name = "serve",
    .summary = "serve a directory of Lua methods",
    .help =
        "serve [DIR] [OPTION]...\n"
        "\n"
        "Serves the methods that the Lua files below DIR define, and reloads\n"
        "them as they are saved. A config file may name the directory "
        "instead,\n"
        "by default it is \"methods\" beside that file.\n"
        "\n"
        "  --listen URL      where to listen, as often as you like; by\n"
        "                    default http://127.0.0.1:4000\n"
        "                      http://host:port[/path]   http+unix:/path\n"
        "                      ws://host:port[/path]     ws+unix:/path\n"
        "                      tcp://host:port           unix:/path\n"
        "                      stdio:\n"
        "                    the last three with ?framing=line|header if it\n"
        "                    isn't to be detected; port 0 takes a free one\n"
        "  --dev             tell callers why a method failed\n"
        "  --no-watch        reload only on SIGHUP or rpc.reload\n"
        "  --config FILE     a Lua file that returns a table of settings\n"
        "  --log LEVEL       error, warn, info or debug (info)\n"
        "  --log-format F    text or json, one line an event on stderr\n"
        "  --drain SECS      time for calls in flight at the end (10)\n"
        "\n"
        "SIGTERM and SIGINT end it when the calls in flight have ended, a\n"
        "second one at once; SIGHUP reloads everything. Exit codes: 0 done; 1\n"
        "it couldn't start, or calls were cut off; 2 a usage error.\n",
    .run = run,
};
