/* SPDX-License-Identifier: MIT
 *
 * The run time of tasks: who looks at the clock, and when. A hook does, which
 * stands only while a task is sliced or somebody has interrupted; a handler
 * that is quick never pays for it. */
#ifndef MRPC_RUNTIME_LIMIT_H
#define MRPC_RUNTIME_LIMIT_H

#include "runtime/task.h"

/* Gives the main thread, and so all that are made from it, the hook of those
 * who don't interrupt. */
void mrpc_limit_open(lua_State *L);
/* Lets the hook look at once into the coroutine that is about to run or runs;
 * needed when a task is alarmed or killed while others of its coroutines have
 * no hook yet. */
void mrpc_limit_arm(lua_State *L);
/* A task starts: sliced ones get a standing hook. */
void mrpc_limit_start(mrpc_task *task);
/* A task goes on after a wait, a task starts to wait. What a call or a load
 * runs adds up; of a task in the background, which may live for ever, each
 * stretch between waits counts for itself. */
void mrpc_limit_resume(mrpc_task *task);
void mrpc_limit_pause(mrpc_task *task);
/* A task has ended; its coroutine gets the hook that idle ones have. */
void mrpc_limit_end(mrpc_task *task);

/* Marks the task as killed; the next throw does it. */
void mrpc_limit_kill(mrpc_task *task, int code, const char *why);
/* Throws the value that stands for a kill. Never returns. */
int mrpc_limit_throw(lua_State *L);
/* Throws on what a pcall has caught of a killed task, or leaves its coroutine,
 * which who resumed it closes. Never returns. stack: [... error] */
int mrpc_limit_rethrow(lua_State *L);

#endif
