/* SPDX-License-Identifier: MIT
 *
 * moonrpc check: does a directory load? */
#include "cli/local.h"

static int show(mrpc_host *host, const mrpc_report *report, void *ud) {
  (void)host;
  (void)ud;
  local_show_faults(report, stdout);
  if (!report->ok) return EXIT_FAULT;
  printf("%u method%s in %u file%s, no faults\n", report->methods,
         report->methods == 1 ? "" : "s", report->files,
         report->files == 1 ? "" : "s");
  return EXIT_DONE;
}

static int run(const command *self, int argc, char **argv) {
  static const option_rule rules[] = {{0}};
  int rc = cli_options(self, rules, argc, NULL, NULL, &argc, argv);
  if (rc) return rc == CLI_HELP_SHOWN ? EXIT_DONE : rc;
  if (argc != 2) return cli_usage(self, "one directory is checked");
  return local_run(self, argv[1], show, NULL);
}

const command cli_check = {
    .name = "check",
    .summary = "load a directory without serving it, show its faults",
    .help =
        "check DIR\n"
        "\n"
        "Loads every Lua file below DIR as serve would, and prints each fault\n"
        "as \"file:line: message\" on stdout, and what is hardly meant as\n"
        "\"file:line: warning: message\". Exit codes: 0 no faults; 1 faults;\n"
        "2 a usage error.\n",
    .run = run,
};
