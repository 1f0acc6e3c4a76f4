/* SPDX-License-Identifier: MIT
 *
 * The process's standard input and output as one stream: pipes, terminals,
 * sockets and regular files, in any mix.
 *
 * Taking them moves both to descriptors of our own, which no child inherits.
 * What the scripts find in their place is an empty input and, as output, the
 * standard error: nothing that is printed can break the framing. */
#ifndef MRPC_TRANSPORT_STDIO_H
#define MRPC_TRANSPORT_STDIO_H

#include "transport/loop.h"

struct mrpc_conn;

/* MRPC_EIO with loop->error. The stream is closed by mrpc_conn_close; the
 * descriptors 0 and 1 stay moved. */
int mrpc_stdio_new(mrpc_loop *loop, struct mrpc_conn **out);

#endif
