/* SPDX-License-Identifier: MIT
 *
 * What the C programs of the benchmark share: the clock, giving up, and the
 * ways to a server, which listens on a port or is a child on our end of two
 * pipes. A process has one child at most.
 */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include <stdint.h>

enum { PATIENCE = 10000 /* milliseconds without news until we give up */ };

/* Nanoseconds of the monotonic clock. */
uint64_t tool_now(void);
/* Ends the child and the process; prints the program's name and the text. */
_Noreturn void tool_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* A blocking connection to a port of this machine, without delay. */
int tool_connect(int port);
void tool_start_child(char **command, int *in, int *out);
/* Closes its input, upon which it must end by itself, with success. */
void tool_end_child(int in, int out);
void tool_set_nonblocking(int fd);

#endif
