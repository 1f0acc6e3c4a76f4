/* SPDX-License-Identifier: MIT
 *
 * A host without addresses, which runs until its first load has ended. */
#include "cli/local.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

const char *local_refuse_directory(const char *dir) {
  struct stat st;
  if (stat(dir, &st)) return strerror(errno);
  return S_ISDIR(st.st_mode) ? NULL : "it is no directory";
}

bool local_is_directory(const command *self, const char *dir) {
  const char *why = local_refuse_directory(dir);
  if (!why) return true;
  fprintf(stderr, "moonrpc %s: %s: %s\n", self->name, dir, why);
  return false;
}

static void on_ready(mrpc_host *host, void *ud) {
  (void)ud;
  mrpc_host_stop(host);
}

void local_show_faults(const mrpc_report *report, FILE *to) {
  for (size_t i = 0; i < report->fault_count; i++) {
    const mrpc_fault *fault = &report->faults[i];
    if (fault->line > 0)
      fprintf(to, "%s:%d: %s\n", fault->file, fault->line, fault->message);
    else
      fprintf(to, "%s: %s\n", fault->file, fault->message);
  }
}

/* Of what is logged, what a check is for. */
static void show_doubt(const mrpc_log_entry *entry, void *ud) {
  (void)ud;
  if (strcmp(entry->text, "doubtful") != 0 || entry->count != 2) return;
  printf("%s: warning: %s\n", entry->pairs[1], entry->pairs[3]);
}

int local_run(const command *self, const char *dir, local_fn fn, void *ud) {
  mrpc_env *env = NULL;
  mrpc_host *host = NULL;
  mrpc_env_config env_config = {0};
  mrpc_host_config config;
  if (!local_is_directory(self, dir)) return EXIT_FAULT;
  mrpc_host_config_init(&config);
  config.methods = dir;
  config.no_watch = true;
  config.strict = self == &cli_check;
  if (config.strict) env_config.log = show_doubt;
  config.dev = true;
  config.interrupt_signal = SIGRTMIN + 1;
  config.on_ready = on_ready;
  int rc = mrpc_env_new(&env_config, &env);
  config.env = env;
  if (!rc) rc = mrpc_host_new(&config, &host);
  if (!rc) rc = mrpc_host_run(host);
  int code = EXIT_FAULT;
  if (rc)
    fprintf(stderr, "moonrpc %s: %s\n", self->name, mrpc_strerror(rc));
  else
    code = fn(host, mrpc_runtime_report(mrpc_host_runtime(host)), ud);
  mrpc_host_free(host);
  mrpc_env_free(env);
  return code;
}
