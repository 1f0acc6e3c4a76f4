/* SPDX-License-Identifier: MIT
 *
 * Functions that somebody else's C code calls: outside of any task, at any
 * time, without telling whose they are. Packed when they are handed over, they
 * run as tasks of the file that did so. */
#ifndef MRPC_RUNTIME_CALLBACK_H
#define MRPC_RUNTIME_CALLBACK_H

#include <lua.h>

/* Packs the function at `index`, in its place. May throw. */
void mrpc_callback_pack(lua_State *L, int index);
/* Starts a task with a function, packed or not, and its arguments; `what` is a
 * constant, the text of the log entry if it fails. Doesn't throw. To be called
 * from the loop, on the main coroutine.
 * stack: [function argument...] -> [] */
void mrpc_callback_run(lua_State *L, int nargs, const char *what);

#endif
