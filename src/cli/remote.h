/* SPDX-License-Identifier: MIT
 *
 * One call of a server, from connecting to its answer. */
#ifndef MRPC_CLI_REMOTE_H
#define MRPC_CLI_REMOTE_H

#include "cli/cli.h"

typedef struct remote_call {
  const command *self;
  const char *url;
  const char *method;
  const char *params;       /* JSON text or NULL */
  bool notify;              /* no answer is awaited */
  double timeout;           /* seconds for all of it */
  const char *unknown_hint; /* said when there is no such method; may be NULL */
  /* Takes the result and gives the exit code. */
  int (*on_result)(mrpc_env *env, const char *json, size_t len);
} remote_call;

/* The exit code. Says on stderr what went wrong. */
int remote_run(const remote_call *call);

#endif
