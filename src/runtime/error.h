/* SPDX-License-Identifier: MIT
 *
 * What a script's failure looks like to the host. A task's message handler
 * turns every error that nobody caught into one of these values:
 *   - a table with an integer `code` and a string `message`, as rpc.error
 *     makes it: meant for the peer, left as it is;
 *   - a failure: a userdata that holds message, place and traceback;
 *   - a string, where there was no memory for a failure. */
#ifndef MRPC_RUNTIME_ERROR_H
#define MRPC_RUNTIME_ERROR_H

#include <lua.h>

#include "runtime/runtime.h"

typedef struct mrpc_failure {
  const char *text; /* the whole message; never NULL */
  size_t text_len;
  const char *message;   /* the end of it, without its place */
  const char *file;      /* chunk name's short form, "" when unknown */
  int line;              /* 0 when unknown */
  const char *traceback; /* lines that end in '\n', "" when there is none */
  size_t traceback_len;
} mrpc_failure;

/* An error object for the peer. Its `data` is left on the stack's top. */
typedef struct mrpc_error_object {
  int64_t code;
  const char *message;
  size_t message_len;
} mrpc_error_object;

/* The message handler of tasks. stack: [value] -> [error value] */
int mrpc_error_handler(lua_State *L);
/* Makes a failure of the value on top, without a traceback. May throw.
 * stack: [value] -> [error value] */
void mrpc_failure_push(lua_State *L);
/* Makes one of the text on top, with the stack's trace, in a message handler.
 * May throw. stack: [text] -> [error value] */
void mrpc_failure_trace(lua_State *L);
/* Reads the error value at `index`, whatever it is. Doesn't throw; what it
 * gives lives as long as the value stays where it is. */
void mrpc_failure_get(lua_State *L, int index, mrpc_failure *out);
/* Is the value at `index` an error object? Then it is read and its data is
 * pushed. Doesn't throw. stack: [] -> [data] or [] */
bool mrpc_error_object_get(lua_State *L, int index, mrpc_error_object *out);

/* Logs what ended a task that answers no call: `text` and the error value on
 * top of `co`. Nothing for a task that was cancelled or closed. */
void mrpc_failure_log(const mrpc_task *task, lua_State *co, const char *text);

/* Pushes an error object that no script made. stack: [] -> [error object] */
void mrpc_error_push(lua_State *L, int code, const char *message);
/* Pushes the error of a peer that has ended; `why` may be "".
 * stack: [] -> [error object] */
void mrpc_error_push_gone(lua_State *L, const char *why);
/* Raise an error object that no script made, rpc.cancelled, the error of a
 * peer that has ended. Never return. */
int mrpc_error_raise(lua_State *L, int code, const char *message);
int mrpc_error_raise_cancelled(lua_State *L);
int mrpc_error_raise_gone(lua_State *L, const char *why);
/* Puts `error` and `cancelled` into the table on top. May throw. */
void mrpc_error_open(lua_State *L);

#endif
