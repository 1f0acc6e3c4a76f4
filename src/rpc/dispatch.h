/* SPDX-License-Identifier: MIT
 *
 * Names to methods. Two maps: the native one grows by mrpc_dispatch_add and
 * holds C functions and the host's own rpc.* methods; the scripted one is
 * swapped whole, in one step, by whoever runs the scripts. */
#ifndef MRPC_RPC_DISPATCH_H
#define MRPC_RPC_DISPATCH_H

#include "base/env.h"
#include "base/map.h"

/* A method. The owner of the struct keeps it alive while it stands in a map;
 * a call that has started doesn't look at it again. */
typedef struct mrpc_method {
  const char *name;
  size_t len;
  mrpc_call_fn start;
  void *ud;
} mrpc_method;

/* Like mrpc_dispatch_add, for the host's own names too ("rpc.discover"). */
int mrpc_dispatch_add_host(mrpc_dispatch *dispatch, const char *name,
                           mrpc_call_fn fn, void *ud);
/* NULL when there is none. */
const mrpc_method *mrpc_dispatch_find(const mrpc_dispatch *dispatch,
                                      const char *name, size_t len);
/* What is sent for a code: that which set_codes gave for one of the host's
 * own, any other as it is. */
int mrpc_dispatch_code(const mrpc_dispatch *dispatch, int code);
/* Puts a map of mrpc_method in the place of the current scripted one, which
 * is given back. NULL is an empty map. Both stay the caller's. */
const mrpc_map *mrpc_dispatch_swap(mrpc_dispatch *dispatch,
                                   const mrpc_map *scripted);
/* The native methods, to list them. */
const mrpc_map *mrpc_dispatch_native(const mrpc_dispatch *dispatch);
/* The scripted ones; never NULL. */
const mrpc_map *mrpc_dispatch_scripted(const mrpc_dispatch *dispatch);

#endif
