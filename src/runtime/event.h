/* SPDX-License-Identifier: MIT
 *
 * rpc.on: functions of a file that run when something happens to the host or
 * to a peer. They begin with the generation that their file begins with, and
 * die with their file. */
#ifndef MRPC_RUNTIME_EVENT_H
#define MRPC_RUNTIME_EVENT_H

#include "runtime/runtime.h"

typedef enum mrpc_event {
  MRPC_EVENT_CONNECT,    /* a peer can be spoken to */
  MRPC_EVENT_DISCONNECT, /* it has ended */
  MRPC_EVENT_RELOAD,     /* a new generation serves */
  MRPC_EVENT_SHUTDOWN    /* the host takes no more work */
} mrpc_event;

void mrpc_events_init(mrpc_runtime *runtime);
/* Runs the event's functions, each as a task of its file: those of a connect,
 * and of a shutdown that no script asks for, at once, the others from the
 * loop's next turn. `peer`, their argument, is
 * NULL for events that aren't about one. Doesn't throw. */
void mrpc_event_fire(mrpc_runtime *runtime, mrpc_event event, mrpc_peer *peer);

#endif
