/* SPDX-License-Identifier: MIT
 *
 * From a file's value to methods: names by path and key, parameters by the
 * function's own names. */
#ifndef MRPC_RUNTIME_METHODS_H
#define MRPC_RUNTIME_METHODS_H

#include "runtime/runtime.h"

/* A Lua method as the dispatch sees it; `base.ud` is the struct itself and
 * `base.start` is mrpc_lua_method_start (call.c). */
typedef struct mrpc_lua_method {
  mrpc_method base;
  mrpc_runtime *runtime;
  mrpc_file *owner;
  int function;        /* registry reference */
  uint32_t generation; /* in which it was loaded */
  uint16_t param_count;
  bool is_vararg;      /* positional params only */
  bool takes_params;   /* its only parameter is called `params` */
  const char **params; /* the parameters' names; they live as the struct does */
} mrpc_lua_method;

/* Runs one call: params to arguments, a task, its result to the answer. */
void mrpc_lua_method_start(mrpc_call *call, void *ud);

#endif
