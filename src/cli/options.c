/* SPDX-License-Identifier: MIT
 *
 * Options are long ones: `--name value` or `--name=value`. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int cli_usage(const command *self, const char *format, ...) {
  va_list args;
  fprintf(stderr, "moonrpc %s: ", self->name);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\n\"moonrpc %s --help\" shows how it is used\n", self->name);
  return EXIT_USAGE;
}

bool cli_seconds(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out > 0 && *out < 1e9;
}

bool cli_is_help(const char *arg) {
  return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* The rule of an argument, with its value if that stands in the same word. */
static const option_rule *find_rule(const option_rule *rules, const char *arg,
                                    const char **value) {
  for (const option_rule *r = rules; r->name; r++) {
    size_t len = strlen(r->name);
    if (strncmp(arg, r->name, len) != 0) continue;
    *value = arg[len] == '=' ? arg + len + 1 : NULL;
    if (!arg[len] || (r->takes_value && *value)) return r;
  }
  return NULL;
}

/* What is wrong with an argument that no rule takes. */
static int refuse(const command *self, const option_rule *rules,
                  const char *arg) {
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(arg, "="), arg);
  const char *nearest = mrpc_nearer(name, "--help", NULL);
  for (const option_rule *r = rules; r->name; r++) {
    if (!strcmp(name, r->name))
      return cli_usage(self, "%s takes no value", r->name);
    nearest = mrpc_nearer(name, nearest, r->name);
  }
  if (!nearest) return cli_usage(self, "there is no option %s", arg);
  return cli_usage(self, "there is no option %s; the nearest is %s", arg,
                   nearest);
}

static bool is_strange(const char *arg) {
  return arg[0] == '-' && arg[1] != '\0';
}

int cli_options(const command *self, const option_rule *rules, int strict,
                option_fn fn, void *ud, int *argc, char **argv) {
  int left = 1, count = *argc, at = 1;
  for (; at < count && strcmp(argv[at], "--") != 0; at++) {
    const char *value = NULL;
    const option_rule *rule = find_rule(rules, argv[at], &value);
    if (cli_is_help(argv[at]) && left <= strict) {
      printf("usage: moonrpc %s", self->help);
      return CLI_HELP_SHOWN;
    }
    if (!rule && left <= strict && is_strange(argv[at]))
      return refuse(self, rules, argv[at]);
    if (!rule) {
      argv[left++] = argv[at];
      continue;
    }
    if (rule->takes_value && !value && ++at == count)
      return cli_usage(self, "%s needs a value", rule->name);
    int rc = fn(self, rule->id, value ? value : argv[at], ud);
    if (rc) return rc;
  }
  for (at++; at < count; at++) argv[left++] = argv[at];
  *argc = left;
  return EXIT_DONE;
}
