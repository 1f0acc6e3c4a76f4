/* SPDX-License-Identifier: MIT
 *
 * A directory that is loaded without being served. */
#ifndef MRPC_CLI_LOCAL_H
#define MRPC_CLI_LOCAL_H

#include "cli/cli.h"

/* What to do with the loaded host; gives the exit code. */
typedef int (*local_fn)(mrpc_host *host, const mrpc_report *report, void *ud);

/* Why it is no directory that can be served; NULL: it is one. */
const char *local_refuse_directory(const char *dir);
/* The same as a question; says on stderr why not. */
bool local_is_directory(const command *self, const char *dir);
/* Loads `dir` once and calls `fn` whatever the load's end was. The exit code;
 * says on stderr why there was no load. */
int local_run(const command *self, const char *dir, local_fn fn, void *ud);
/* Prints each fault as "file:line: message". */
void local_show_faults(const mrpc_report *report, FILE *to);

#endif
