/* SPDX-License-Identifier: MIT
 *
 * From a file's value to methods: names by path and key, parameters by the
 * function's own names. */
#ifndef MRPC_RUNTIME_METHODS_H
#define MRPC_RUNTIME_METHODS_H

#include "runtime/report.h"
#include "runtime/runtime.h"

/* A Lua method as the dispatch sees it; `base.ud` is the struct itself and
 * `base.start` is mrpc_lua_method_start (call.c). */
typedef struct mrpc_lua_method mrpc_lua_method;
struct mrpc_lua_method {
  mrpc_method base;
  mrpc_runtime *runtime;
  mrpc_file *owner;
  mrpc_lua_method *next; /* of the same file */
  size_t size;           /* of the struct with what stands behind it */
  int function;          /* registry reference */
  int line;              /* where the function is defined; 0: in C */
  uint32_t generation;   /* in which it was loaded; 0: not swapped in yet */
  uint16_t param_count;
  bool is_vararg;       /* positional params only */
  bool takes_params;    /* its only parameter is called `params` */
  const char *params[]; /* the parameters' names; the function holds them */
};

/* Runs one call: params to arguments, a task, its result to the answer. */
void mrpc_lua_method_start(mrpc_call *call, void *ud);

/* Why the file can't have a method of that name; NULL: it can. */
const char *mrpc_methods_refuse(const mrpc_file *file, const char *name,
                                size_t len);
/* Adds a method to the file: the function on top. May throw.
 * stack: [function] -> [] */
void mrpc_methods_add(lua_State *L, mrpc_file *file, const char *name,
                      size_t len);
/* Adds what the file's value means: a function is a method itself, a table's
 * functions are methods, its tables go deeper. Names that can't be and values
 * of other types are noted as faults. May throw. stack: [value] -> [] */
void mrpc_methods_collect(lua_State *L, mrpc_file *file, mrpc_faults *faults);
/* Logs what is allowed but hardly meant. */
void mrpc_methods_doubt(const mrpc_file *file, int line, const char *why);
/* Lets go of the methods' functions. What calls that have begun tell of their
 * method stays until mrpc_methods_free. Neither throws. */
void mrpc_methods_release(mrpc_file *file);
void mrpc_methods_free(mrpc_file *file);

/* The prefix of a path's methods: "user.admin" for user/admin.lua and for
 * user/admin/init.lua, "" for init.lua. MRPC_EINVAL without ".lua",
 * MRPC_ELIMIT if `out` is too small. */
int mrpc_methods_prefix(const char *path, char *out, size_t size,
                        size_t *out_len);

#endif
