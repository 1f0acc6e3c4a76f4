/* SPDX-License-Identifier: MIT
 *
 * moonrpc listen: a peer without methods that prints what it is notified of.
 * Its dispatch has a default alone, which every method of the server's leads
 * to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/params.h"
#include "cli/session.h"

typedef struct listening {
  session session;
  const char *method; /* of the one call; NULL: none */
  char *params;
  double timeout;
  mrpc_peer *peer; /* while it is connected */
  bool has_ended;  /* the code is known */
  bool is_stuck;   /* given up before it was connected */
  int code;
} listening;

static const double grace = 1; /* seconds for a connection to end */

enum { TIMEOUT };
static const option_rule rules[] = {{"--timeout", true, TIMEOUT}, {0}};

static int on_option(const command *self, int id, const char *value, void *ud) {
  listening *l = ud;
  (void)id;
  if (cli_seconds(value, &l->timeout)) return EXIT_DONE;
  return cli_usage(self, "--timeout takes seconds, not %s", value);
}

/* The end. */

static void end(listening *l, int code) {
  if (l->has_ended) return;
  l->has_ended = true;
  l->code = code;
  if (l->peer) {
    session_alarm(grace);
    mrpc_peer_close(l->peer, NULL);
  } else {
    mrpc_host_stop(l->session.host);
  }
}

/* The alarm: for the answer of the one call, or for the end. */
static void on_signal(mrpc_host *host, void *ud) {
  listening *l = ud;
  if (!l->has_ended) l->is_stuck = !l->peer;
  if (l->has_ended)
    mrpc_host_stop(host);
  else if (!session_is_interrupted())
    end(l, session_complain_late(&l->session, l->timeout));
  else
    end(l, EXIT_DONE);
}

static void on_close(mrpc_peer *peer, void *ud) {
  listening *l = ud;
  (void)peer;
  l->peer = NULL;
  if (l->has_ended) {
    mrpc_host_stop(l->session.host);
  } else if (*mrpc_host_error(l->session.host)) {
    int code = session_complain_host(&l->session);
    session_suggest_framing(&l->session);
    end(l, code);
  } else {
    end(l,
        session_complain(&l->session, "the server has closed the connection"));
  }
}

/* What comes. */

static char *make_line(mrpc_env *env, const mrpc_call *call) {
  size_t name_len, len;
  const char *name = mrpc_call_method(call, &name_len);
  const char *params = mrpc_call_params(call, &len);
  char *method = mrpc_json_quote(env, name, name_len);
  size_t size = (method ? strlen(method) : 0) + len + 32;
  char *text = method ? malloc(size) : NULL;
  if (text && len)
    snprintf(text, size, "{\"method\":%s,\"params\":%.*s}", method, (int)len,
             params);
  else if (text)
    snprintf(text, size, "{\"method\":%s}", method);
  mrpc_text_free(env, method);
  return text;
}

static bool print_notification(mrpc_env *env, const mrpc_call *call) {
  char *line = make_line(env, call);
  char *text =
      line ? mrpc_json_pretty(env, line, strlen(line), isatty(1)) : NULL;
  bool is_fine = text && puts(text) >= 0 && fflush(stdout) == 0;
  mrpc_text_free(env, text);
  free(line);
  return is_fine;
}

/* Who reads what we print may have had enough. */
static void on_call(mrpc_call *call, void *ud) {
  listening *l = ud;
  if (!mrpc_call_is_notification(call)) {
    mrpc_call_error(call, MRPC_METHOD_NOT_FOUND, NULL, NULL);
    return;
  }
  if (!l->has_ended && !print_notification(l->session.env, call))
    end(l, errno == EPIPE ? EXIT_DONE : EXIT_FAULT);
  mrpc_call_reply(call, "null", 4);
}

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  listening *l = ud;
  (void)peer;
  if (l->has_ended) return;
  session_alarm(0);
  if (answer->result == MRPC_ETIMEOUT)
    end(l, session_complain_late(&l->session, l->timeout));
  else if (answer->result == MRPC_OK && answer->is_error)
    end(l, session_show_fault(&l->session, answer, NULL));
  else if (answer->result == MRPC_OK)
    fprintf(stderr, "%s: %.*s\n", l->method, (int)answer->len, answer->json);
}

static void on_open(mrpc_peer *peer, void *ud) {
  listening *l = ud;
  if (!peer) {
    end(l, session_complain_host(&l->session));
    return;
  }
  l->peer = peer;
  if (!l->method) {
    session_alarm(0);
    return;
  }
  int rc = mrpc_peer_call(peer, l->method, l->params, l->timeout, on_answer, l,
                          NULL);
  if (rc) end(l, session_complain(&l->session, mrpc_strerror(rc)));
}

static int listen_on(listening *l) {
  session *s = &l->session;
  mrpc_dispatch_set_default(mrpc_host_dispatch(s->host), on_call, l);
  int code = session_connect(s, on_open, on_close, l);
  if (code) return code;
  session_alarm(l->timeout);
  mrpc_host_run(s->host);
  return l->code;
}

static int run(const command *self, int argc, char **argv) {
  listening l = {.timeout = 60};
  int code = cli_options(self, rules, 2, on_option, &l, &argc, argv);
  if (code) return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
  if (argc < 2) return cli_usage(self, "a URL is needed");
  if (!strncmp(argv[1], "http", 4))
    return cli_usage(self,
                     "%s: over HTTP a server can't notify; it may do so "
                     "over ws://",
                     argv[1]);
  if (argc > 2) l.method = argv[2];
  code = session_open(&l.session, self, argv[1], NULL, on_signal, &l);
  if (!code && argc > 3)
    code = params_make(self, l.session.env, argc - 3, argv + 3, &l.params);
  if (!code) code = listen_on(&l);
  session_close(&l.session, l.is_stuck, code);
  free(l.params);
  return code;
}

const command cli_listen = {
    .name = "listen",
    .summary = "print the notifications of a server",
    .help =
        "listen [OPTION]... URL [METHOD [ARG]...]\n"
        "       moonrpc listen [OPTION]... URL METHOD [NAME=ARG]...\n"
        "\n"
        "Connects to a server and prints each notification that comes, as one\n"
        "line of JSON with its method and params, in many lines on a "
        "terminal.\n"
        "METHOD is called first, to subscribe; its result goes to stderr. "
        "What\n"
        "the server calls is answered with -32601.\n"
        "\n"
        "  URL, ARG         as of moonrpc call, but for http: a server can't\n"
        "                   notify there\n"
        "  --timeout SECS   for the connection and that call, not for the\n"
        "                   listening (60)\n"
        "  --               what follows are arguments\n"
        "\n"
        "SIGINT and SIGTERM end it. Exit codes: 0 ended so, or nobody reads\n"
        "its output any more; 1 the call was answered with an error; 2 a "
        "usage\n"
        "error; 3 no server there, no answer in time, or the connection "
        "ended.\n",
    .run = run,
};
