/* SPDX-License-Identifier: MIT
 *
 * A program that we start and speak with over its standard input and output,
 * as one stream. Lines of its standard error go to the log.
 *
 * The stream's end is the child's: its input is closed, after a moment it is
 * asked by SIGTERM, and two seconds after the close it is killed. A child that
 * ends by itself ends the stream; what it wrote before is read first. It is
 * always reaped. Knows libuv, not Lua. */
#ifndef MRPC_TRANSPORT_CHILD_H
#define MRPC_TRANSPORT_CHILD_H

#include "transport/connect.h"

enum {
  MRPC_COMMAND_MAX = 1024, /* bytes of a command line, its NUL included */
  MRPC_COMMAND_WORDS = 64
};

/* Starts `command`, which is cut into words as in words.h and looked for in
 * PATH. `fn` is called once, from the loop, as for other connections. At once:
 * MRPC_ESYNTAX, or MRPC_EIO when there is no such program, with loop->error. */
int mrpc_child_start(mrpc_loop *loop, const char *command, mrpc_connect_fn fn,
                     void *ud);
/* How the child of this stream ended, as a phrase ("exited with status 127");
 * "" while it runs and when it ended well. Lives as long as the stream. */
const char *mrpc_child_end(const struct mrpc_conn *stream);

#endif
