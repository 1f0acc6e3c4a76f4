/* SPDX-License-Identifier: MIT
 *
 * moonrpc methods: what rpc.discover tells, one method a line. A directory is
 * asked through a peer of our own, without any transport. */
#include <string.h>

#include "cli/local.h"
#include "cli/remote.h"

/* The answer of rpc.discover. */

typedef struct printing {
  mrpc_env *env;
  bool later; /* a comma is needed */
} printing;

static int print_string(mrpc_env *env, const char *json, size_t len) {
  char *text = mrpc_json_unquote(env, json, len);
  if (!text) return MRPC_ENOMEM;
  fputs(text, stdout);
  mrpc_text_free(env, text);
  return 0;
}

static int on_param_member(const char *key, const char *value, size_t len,
                           void *ud) {
  printing *p = ud;
  if (!key || strcmp(key, "name") != 0) return 0;
  if (p->later) fputs(", ", stdout);
  p->later = true;
  return print_string(p->env, value, len);
}

static int on_param(const char *key, const char *value, size_t len, void *ud) {
  (void)key;
  printing *p = ud;
  return mrpc_json_each(p->env, value, len, on_param_member, p);
}

static int on_method_member(const char *key, const char *value, size_t len,
                            void *ud) {
  printing *p = ud;
  if (key && !strcmp(key, "name")) return print_string(p->env, value, len);
  if (!key || strcmp(key, "params") != 0) return 0;
  p->later = false;
  fputs("(", stdout);
  int rc = mrpc_json_each(p->env, value, len, on_param, p);
  fputs(")", stdout);
  return rc;
}

static int on_method(const char *key, const char *value, size_t len, void *ud) {
  (void)key;
  printing *p = ud;
  int rc = mrpc_json_each(p->env, value, len, on_method_member, p);
  fputs("\n", stdout);
  return rc;
}

static int on_member(const char *key, const char *value, size_t len, void *ud) {
  printing *p = ud;
  if (!key || strcmp(key, "methods") != 0) return 0;
  return mrpc_json_each(p->env, value, len, on_method, p);
}

static int show(mrpc_env *env, const char *json, size_t len) {
  printing p = {.env = env};
  return mrpc_json_each(env, json, len, on_member, &p) ? EXIT_FAULT : EXIT_DONE;
}

/* A directory. */

static int on_reply_member(const char *key, const char *value, size_t len,
                           void *ud) {
  mrpc_env *env = ud;
  return key && !strcmp(key, "result") ? show(env, value, len) : 0;
}

static int ask(mrpc_env *env, mrpc_host *host) {
  static const char request[] =
      "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\",\"id\":1}\n";
  mrpc_framing *framing;
  mrpc_peer *peer;
  const char *reply;
  mrpc_peer_config config = {
      .env = env, .dispatch = mrpc_host_dispatch(host), .transport = "local"};
  int rc = mrpc_framing_line(env, NULL, &framing);
  if (!rc) rc = mrpc_peer_new(&config, framing, &peer);
  if (rc) return EXIT_FAULT;
  rc = mrpc_peer_recv(peer, request, sizeof request - 1);
  size_t len = mrpc_peer_output(peer, &reply);
  if (!rc) rc = mrpc_json_each(env, reply, len, on_reply_member, env);
  mrpc_peer_free(peer);
  return rc ? EXIT_FAULT : EXIT_DONE;
}

static int list(mrpc_host *host, const mrpc_report *report, void *ud) {
  (void)ud;
  local_show_faults(report, stderr);
  return report->ok ? ask(mrpc_host_env(host), host) : EXIT_FAULT;
}

static const char hint[] =
    "the server tells its methods only with --dev, with admin = true in its "
    "config file, or to the owner of its Unix socket";

/* It begins with a scheme; a directory that looks so is written ./a:b. */
static bool is_url(const char *text) {
  size_t word = strcspn(text, ":/");
  return word && text[word] == ':';
}

static int run(const command *self, int argc, char **argv) {
  static const option_rule rules[] = {{0}};
  int rc = cli_options(self, rules, argc, NULL, NULL, &argc, argv);
  if (rc) return rc == CLI_HELP_SHOWN ? EXIT_DONE : rc;
  if (argc != 2) return cli_usage(self, "a directory or a URL is needed");
  if (!is_url(argv[1])) return local_run(self, argv[1], list, NULL);
  remote_call call = {.self = self,
                      .url = argv[1],
                      .method = "rpc.discover",
                      .timeout = 60,
                      .unknown_hint = hint,
                      .on_result = show};
  return remote_run(&call);
}

const command cli_methods = {
    .name = "methods",
    .summary = "list the methods of a directory or a server",
    .help =
        "methods DIR|URL\n"
        "\n"
        "Prints each method with its parameters. A server tells them in dev\n"
        "mode, on a Unix socket to its owner, and where its config file says\n"
        "admin = true. Exit codes: 0 listed; 1 faults, or the server refused;\n"
        "2 a usage error; 3 no server there.\n",
    .run = run,
};
