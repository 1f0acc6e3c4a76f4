/* SPDX-License-Identifier: MIT
 *
 * moonrpc call: arguments become params, the result goes to stdout. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Params. */

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* The length of the name in name=value; 0 when it isn't one. */
static size_t name_len(const char *arg) {
  size_t len = 0;
  if ((arg[0] >= '0' && arg[0] <= '9') || arg[0] == '-') return 0;
  while (is_name_char(arg[len])) len++;
  return arg[len] == '=' ? len : 0;
}

static bool append(char **text, const char *more) {
  size_t len = *text ? strlen(*text) : 0;
  char *grown = realloc(*text, len + strlen(more) + 1);
  if (!grown) return false;
  memcpy(grown + len, more, strlen(more) + 1);
  *text = grown;
  return true;
}

static bool append_quoted(mrpc_env *env, char **text, const char *bytes,
                          size_t len) {
  char *quoted = mrpc_json_quote(env, bytes, len);
  bool good = quoted && append(text, quoted);
  mrpc_text_free(env, quoted);
  return good;
}

static bool append_arg(mrpc_env *env, char **text, const char *arg,
                       bool named) {
  size_t len = named ? name_len(arg) : 0;
  if (named && (!append_quoted(env, text, arg, len) || !append(text, ":")))
    return false;
  const char *value = named ? arg + len + 1 : arg;
  if (mrpc_json_is_valid(env, value, strlen(value))) return append(text, value);
  return append_quoted(env, text, value, strlen(value));
}

/* NULL: out of memory. */
static char *make_params(mrpc_env *env, int count, char **args, bool named) {
  char *text = NULL;
  bool good = append(&text, named ? "{" : "[");
  for (int i = 0; i < count && good; i++)
    good = (i == 0 || append(&text, ",")) &&
           append_arg(env, &text, args[i], named);
  if (good && append(&text, named ? "}" : "]")) return text;
  free(text);
  return NULL;
}

static int count_named(int count, char **args) {
  int named = 0;
  for (int i = 0; i < count; i++)
    if (name_len(args[i])) named++;
  return named;
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
  int count = argc - 3, named = count_named(count, argv + 3);
  if (named && named != count)
    return cli_usage(self, "arguments are either all named or all not");
  mrpc_env_config config = {0};
  mrpc_env *env;
  if (mrpc_env_new(&config, &env)) return EXIT_FAULT;
  char *params = count ? make_params(env, count, argv + 3, named > 0) : NULL;
  call.url = argv[1];
  call.method = argv[2];
  call.params = params;
  rc = count && !params ? EXIT_FAULT : remote_run(&call);
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
        "An ARG that is JSON is taken as JSON, anything else as a string.\n"
        "\n"
        "  URL              http://host:port[/path], http+unix:/path,\n"
        "                   tcp://host:port or unix:/path, the last two\n"
        "                   with ?framing=header where that is spoken;\n"
        "                   exec:COMMAND starts a program and speaks with it\n"
        "                   over stdin and stdout, exec+header: in that\n"
        "                   framing; its stderr is shown\n"
        "  --notify         send a notification, await no answer\n"
        "  --timeout SECS   give up after so many seconds (60)\n"
        "  --               what follows are arguments\n"
        "\n"
        "Exit codes: 0 a result; 1 a JSON-RPC error, shown on stderr; 2 a\n"
        "usage error; 3 no server there, or no answer in time.\n",
    .run = run,
};
