/* SPDX-License-Identifier: MIT
 *
 * moonrpc status: what rpc.status tells of a running host, a line for each
 * value. */
#include <string.h>

#include "cli/remote.h"

enum { COLUMN = 16 };

typedef struct printing {
  mrpc_env *env;
  int indent;
} printing;

static void print_key(const printing *p, const char *key) {
  int width = COLUMN - p->indent;
  printf("%*s", p->indent, "");
  for (; *key; key++, width--) putchar(*key == '_' ? ' ' : *key);
  printf("%*s", width > 1 ? width : 1, "");
}

static int print_scalar(const printing *p, const char *value, size_t len) {
  char *text = *value == '"' ? mrpc_json_unquote(p->env, value, len) : NULL;
  if (*value == '"' && !text) return MRPC_ENOMEM;
  if (text)
    puts(text);
  else
    printf("%.*s\n", (int)len, value);
  mrpc_text_free(p->env, text);
  return 0;
}

/* Objects and arrays stand below their key, deeper by two columns; the
 * elements of an array have a dash for a key. */
static int print_member(const char *key, const char *value, size_t len,
                        void *ud) {
  const printing *p = ud;
  print_key(p, key ? key : "-");
  if (*value != '{' && *value != '[') return print_scalar(p, value, len);
  puts(len == 2 ? "none" : "");
  printing inner = {p->env, p->indent + 2};
  return mrpc_json_each(p->env, value, len, print_member, &inner);
}

static int show(mrpc_env *env, const char *json, size_t len) {
  printing p = {.env = env};
  return mrpc_json_each(env, json, len, print_member, &p) ? EXIT_FAULT
                                                          : EXIT_DONE;
}

static const char hint[] =
    "the server tells its status only with --dev, with admin = true in its "
    "config file, or to the owner of its Unix socket";

static int run(const command *self, int argc, char **argv) {
  static const option_rule rules[] = {{0}};
  int rc = cli_options(self, rules, argc, NULL, NULL, &argc, argv);
  if (rc) return rc == CLI_HELP_SHOWN ? EXIT_DONE : rc;
  if (argc != 2) return cli_usage(self, "a URL is needed");
  remote_call call = {.self = self,
                      .url = argv[1],
                      .method = "rpc.status",
                      .timeout = 60,
                      .unknown_hint = hint,
                      .on_result = show};
  return remote_run(&call);
}

const command cli_status = {
    .name = "status",
    .summary = "show what a server does: calls, connections, its last load",
    .help =
        "status URL\n"
        "\n"
        "Prints version, uptime, the last load and the counters: calls in\n"
        "flight, calls out that wait (pending), answers that found no call\n"
        "(stray answers), bytes held, open connections. A server tells them\n"
        "in dev mode, on a Unix socket to its owner, and where its config\n"
        "file says admin = true. Exit codes: 0 shown; 1 the server refused;\n"
        "2 a usage error; 3 no server there.\n",
    .run = run,
};
