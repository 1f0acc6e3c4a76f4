/* SPDX-License-Identifier: MIT
 *
 * The deadlines of the environment on a libuv loop: one timer, which is looked
 * at once a turn. */
#ifndef MRPC_TRANSPORT_CLOCK_H
#define MRPC_TRANSPORT_CLOCK_H

#include "transport/loop.h"

typedef struct mrpc_clock mrpc_clock;

int mrpc_clock_new(mrpc_loop *loop, mrpc_clock **out);
void mrpc_clock_free(mrpc_clock *clock);
/* Looks at the next deadline; called once a turn, before the poll. */
void mrpc_clock_arm(mrpc_clock *clock);

#endif
