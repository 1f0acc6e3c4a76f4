/* SPDX-License-Identifier: MIT
 *
 * A host without methods of its own, for the commands that talk with a server:
 * it connects, tells what goes wrong there, and takes the signals by which the
 * conversation is to end. One a process: signals have no other owner. */
#ifndef MRPC_CLI_SESSION_H
#define MRPC_CLI_SESSION_H

#include "cli/cli.h"

typedef struct session {
  const command *self;
  const char *url;
  mrpc_env *env;
  mrpc_host *host;
  log_sink sink;
} session;

/* `limits` may be NULL. `on_signal` runs from the loop at SIGINT, SIGTERM and
 * when the alarm rings, as often as they do. EXIT_DONE, or the exit code when
 * something is missing; to be closed in either case. */
int session_open(session *s, const command *self, const char *url,
                 const mrpc_limits *limits, mrpc_host_fn on_signal, void *ud);
/* `in_haste`: the loop may be stuck (a resolver doesn't give up soon). */
void session_close(session *s, bool in_haste, int code);

/* As mrpc_host_connect; EXIT_DONE, or the exit code after a complaint. */
int session_connect(session *s, mrpc_peer_open_fn on_open,
                    mrpc_peer_fn on_close, void *ud);
/* Rings after so many seconds, instead of what was set before; 0: never. */
void session_alarm(double seconds);
/* Was it SIGINT or SIGTERM? */
bool session_is_interrupted(void);

/* Say on stderr what is wrong; the exit code is EXIT_UNREACHABLE. */
int session_complain(const session *s, const char *text);
int session_complain_late(const session *s, double seconds);
int session_complain_host(const session *s); /* in the words of its error */
/* A connection has ended too early. */
void session_suggest_framing(const session *s);
/* An answer that is an error; the exit code is EXIT_FAULT. `unknown_hint`,
 * which may be NULL, is said when there is no such method. */
int session_show_fault(const session *s, const mrpc_answer *answer,
                       const char *unknown_hint);

/* Does its conversation ride on HTTP, which has no way back? */
bool session_is_http(const session *s);

#endif
