/* SPDX-License-Identifier: MIT
 *
 * Tells the host, by a signal on the loop's thread, that this thread has used
 * some more processor time. It costs nothing while the thread sleeps. Knows
 * nothing of what the host does with it. */
#ifndef MRPC_TRANSPORT_SAMPLER_H
#define MRPC_TRANSPORT_SAMPLER_H

#include "transport/loop.h"

typedef struct mrpc_sampler mrpc_sampler;
typedef void (*mrpc_sample_fn)(void *ud);

/* Runs `fn` in a handler of `signal`, a number that the embedder grants, each
 * time that the calling thread has run for `seconds` more. `fn` must be
 * async-signal-safe. The handler stays installed when the sampler has gone, as
 * other samplers may share it. MRPC_EIO where the system has no such timers. */
int mrpc_sampler_new(mrpc_loop *loop, int signal, double seconds,
                     mrpc_sample_fn fn, void *ud, mrpc_sampler **out);
/* On the thread that made it. */
void mrpc_sampler_free(mrpc_sampler *sampler);

#endif
