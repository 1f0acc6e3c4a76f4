/* SPDX-License-Identifier: MIT
 *
 * What the commands of the program share. They are built on moonrpc.h alone,
 * like any other program that uses the library. */
#ifndef MRPC_CLI_CLI_H
#define MRPC_CLI_CLI_H

#include <stdio.h>

#include "moonrpc.h"

/* Exit codes. */
enum {
  EXIT_DONE = 0,
  EXIT_FAULT = 1,        /* an error was the answer; methods have faults */
  EXIT_USAGE = 2,        /* the command line or a config file is wrong */
  EXIT_UNREACHABLE = 3,  /* nobody there, or no answer in time */
  EXIT_INTERRUPTED = 130 /* by SIGINT or SIGTERM, as shells say it */
};

/* A command's own help, and how it runs. `argv[0]` is the command's name. */
typedef struct command {
  const char *name;
  const char *summary; /* one line */
  const char *help;    /* what follows "usage: moonrpc " */
  int (*run)(const struct command *self, int argc, char **argv);
} command;

extern const command cli_serve, cli_call, cli_listen, cli_bench, cli_check,
    cli_methods, cli_status;

/* main.c. */

/* Lets the process have as many descriptors as the system allows, and tells
 * how many. */
uint64_t cli_raise_file_limit(void);
/* What has been printed goes out. `code`, or EXIT_FAULT instead of EXIT_DONE,
 * with a word on stderr, when not all could be written to who still reads. */
int cli_finish(int code);

/* options.c. */

/* One option of a command; the list ends with one without a name. */
typedef struct option_rule {
  const char *name; /* "--listen" */
  bool takes_value;
  int id; /* given to the handler */
} option_rule;

/* Handles an option; `value` is NULL for one that takes none. Answers EXIT_DONE
 * or what cli_usage gave. */
typedef int (*option_fn)(const command *self, int id, const char *value,
                         void *ud);

enum { CLI_HELP_SHOWN = -1 };

/* Takes the options out of argv, wherever they stand before a "--"; argv[1] to
 * argv[*argc - 1] are what is left. Behind the first `strict` of these, what
 * begins with "-" and is no option of ours is left too. EXIT_DONE, EXIT_USAGE
 * or CLI_HELP_SHOWN. */
int cli_options(const command *self, const option_rule *rules, int strict,
                option_fn fn, void *ud, int *argc, char **argv);
/* Says on stderr what is wrong and how to get help; EXIT_USAGE. */
int cli_usage(const command *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* --help or -h. */
bool cli_is_help(const char *arg);
/* Reads a positive number of seconds. */
bool cli_seconds(const char *text, double *out);

/* log.c. */

typedef struct log_sink {
  bool json;
  bool color;
  bool is_pipe;          /* somebody must read it */
  bool is_socket;        /* the same */
  bool is_torn;          /* of the last line only a part was taken */
  unsigned long dropped; /* lines, since the last that was taken */
} log_sink;

/* A sink on stderr, in colour on a terminal. */
void cli_log_init(log_sink *sink, bool json);
/* An mrpc_log_fn; `sink` is a log_sink. */
void cli_log(const mrpc_log_entry *entry, void *sink);
/* Writes lines as they are, in the way of cli_log: where stderr is full they
 * are dropped, and counted until there is room. */
void cli_log_put(log_sink *sink, const char *text, size_t len);
/* "error", "warn", "info" or "debug"; 0 for anything else. */
int cli_log_level(const char *name);

#endif
