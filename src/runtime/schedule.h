/* SPDX-License-Identifier: MIT
 *
 * What the files that make up tasks (task.c, park.c, limit.c) and call.c tell
 * each other; others use task.h. */
#ifndef MRPC_RUNTIME_SCHEDULE_H
#define MRPC_RUNTIME_SCHEDULE_H

#include "runtime/task.h"

/* MRPC_ENOMEM; nothing to undo. */
int mrpc_tasks_init(mrpc_runtime *runtime);
/* Kills all tasks, code MRPC_SHUTTING_DOWN, and frees the pool. */
void mrpc_tasks_free(mrpc_runtime *runtime);

/* A task whose coroutine is empty: the caller pushes the bottom function. */
int mrpc_task_take(mrpc_runtime *runtime, mrpc_file *owner, mrpc_task_fn on_end,
                   void *ud, mrpc_task **out);
/* Resumes the task's coroutine with the top `nargs` values. */
void mrpc_task_run(mrpc_task *task, int nargs);
/* Goes on with a task that is ready, or starts it. */
void mrpc_task_go(mrpc_task *task);
/* Ends a task that never ran. */
void mrpc_task_abandon(mrpc_task *task);
/* A sliced task leaves `L` in a hook, to go on in the loop's next turn. */
void mrpc_task_yield_slice(lua_State *L, mrpc_task *task);

#endif
