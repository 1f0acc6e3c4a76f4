/* SPDX-License-Identifier: MIT
 *
 * moonrpc call: arguments become params, the result goes to stdout. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/params.h"
#include "cli/remote.h"

enum { NOTIFY, TIMEOUT };
static const option_rule rules[] = {
    {"--notify", false, NOTIFY}, {"--timeout", true, TIMEOUT}, {0}};

static int on_option(const command *self, int id, const char *value, void *ud) {
  remote_call *call = ud;
  if (id == NOTIFY) call->notify = true;
  if (id == TIMEOUT && !cli_seconds(value, &call->timeout))
    return cli_usage(self, "--timeout takes seconds, not %s", value);
  return EXIT_DONE;
}

/* The call. */

static int show(mrpc_env *env, const char *json, size_t len) {
  char *text = mrpc_json_pretty(env, json, len, isatty(1));
  if (!text) return EXIT_FAULT;
  int rc = puts(text) < 0 || fflush(stdout) ? EXIT_FAULT : EXIT_DONE;
  mrpc_text_free(env, text);
  return rc;
}

static int run(const command *self, int argc, char **argv) {
  remote_call call = {.self = self, .timeout = 60, .on_result = show};
  int rc = cli_options(self, rules, 2, on_option, &call, &argc, argv);
  if (rc) return rc == CLI_HELP_SHOWN ? EXIT_DONE : rc;
  if (argc < 3) return cli_usage(self, "a URL and a method are needed");
  mrpc_env_config config = {0};
  mrpc_env *env;
  char *params;
  if (mrpc_env_new(&config, &env)) return EXIT_FAULT;
  rc = params_make(self, env, argc - 3, argv + 3, &params);
  call.url = argv[1];
  call.method = argv[2];
  call.params = params;
  if (!rc) rc = remote_run(&call);
  free(params);
  mrpc_env_free(env);
  return rc;
}

const command cli_call = {
    .name = "call",
    .summary = "call a method of a server",
    .help =
        "call [OPTION]... URL METHOD [ARG]...\n"
        "       moonrpc call [OPTION]... URL METHOD [NAME=ARG]...\n"
        "\n"
        "Calls METHOD and prints its result, in many lines on a terminal.\n"
        "An ARG that is JSON is taken as JSON, anything else as a string: 1 "
        "is\n"
        "a number and '\"1\"' a string, '[1' is a string since it isn't JSON.\n"
        "The string x=2 is written '\"x=2\"'.\n"
        "\n"
        "  URL              http://host:port[/path], http+unix:/path,\n"
        "                   ws://host:port[/path], ws+unix:/path,\n"
        "                   tcp://host:port or unix:/path, the last two\n"
        "                   with ?framing=header where that is spoken;\n"
        "                   exec:COMMAND starts a program and speaks with it\n"
        "                   over stdin and stdout, exec+header: in that\n"
        "                   framing; its stderr is shown\n"
        "  --notify         send a notification, await no answer\n"
        "  --timeout SECS   give up after so many seconds (60)\n"
        "  --               what follows are arguments\n"
        "\n"
        "A call that is given up, by the time or by SIGINT, is cancelled at\n"
        "the server. Exit codes: 0 a result; 1 a JSON-RPC error, shown on\n"
        "stderr; 2 a usage error; 3 no server there, or no answer in time;\n"
        "130 interrupted.\n",
    .run = run,
};
