/* SPDX-License-Identifier: MIT
 *
 * Places and tracebacks as authors want to read them: their files and lines,
 * without the host's frames. */
#ifndef MRPC_RUNTIME_TRACE_H
#define MRPC_RUNTIME_TRACE_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* How many bytes at the begin of a message tell its place ("math.lua:3: "),
 * how many of these the file, and the line; 0 when none do. */
size_t mrpc_trace_place(const char *message, size_t *file_len, int *line);
/* The file of the author's innermost function, called from a message handler.
 * False, and nothing pushed, when there is none. May throw.
 * stack: [] -> [file] or [] */
bool mrpc_trace_push_file(lua_State *L, int *line);
/* Is it a function of the host's Lua files? With lua_getinfo's `S`. */
bool mrpc_trace_is_own(const lua_Debug *ar);
/* Does the stack have thousands of levels? */
bool mrpc_trace_is_deep(lua_State *L);
/* The stack of a message handler's caller, a line each, ended by '\n'. May
 * throw. stack: [] -> [text] */
void mrpc_trace_push(lua_State *L);

#endif
