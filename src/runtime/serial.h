/* SPDX-License-Identifier: MIT
 *
 * rpc.serial: calls that run one after another. A call takes its turn in the
 * queue of its peer and its group (a file, or the files that share a name);
 * its arguments are made before it waits, in its task. */
#ifndef MRPC_RUNTIME_SERIAL_H
#define MRPC_RUNTIME_SERIAL_H

#include "runtime/task.h"

void mrpc_serial_init(mrpc_runtime *runtime);
/* All tasks must have ended. */
void mrpc_serial_free(mrpc_runtime *runtime);

/* Gives a new task, which answers a call, its place. MRPC_ENOMEM. */
int mrpc_serial_enter(mrpc_task *task, mrpc_peer *peer, uint32_t group);
/* Is it somebody else's turn? Then the task is to park by serial_wait. */
bool mrpc_serial_must_wait(const mrpc_task *task);
/* Parks the task until its turn has come; a cancel raises. */
int mrpc_serial_wait(lua_State *L, lua_KFunction k);
/* The task has answered: the next one's turn. */
void mrpc_serial_leave(mrpc_task *task);

#endif
