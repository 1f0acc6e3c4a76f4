/* SPDX-License-Identifier: MIT
 *
 * Names to methods. Two maps: the native one grows by mrpc_dispatch_add and
 * holds C functions and the host's own rpc.* methods; the scripted one is
 * swapped whole, in one step, by whoever runs the scripts. */
#ifndef MRPC_RPC_DISPATCH_H
#define MRPC_RPC_DISPATCH_H

#include "base/buf.h"
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

/* One who follows the peers of a dispatch: the runtime. */
typedef struct mrpc_peer_watch {
  mrpc_peer_fn on_open; /* see mrpc_dispatch_watch */
  mrpc_peer_fn on_end;
} mrpc_peer_watch;

/* Sets the one watcher of the peers that are made from now on; NULL: none, for
 * those too that exist. Each function may be NULL.
 *
 * on_open runs once, when the peer's framing first can push, before the first
 * message is taken or from the peer's timer, never from inside mrpc_peer_new.
 * A server's HTTP peer never opens. on_end runs when the peer ends (its calls
 * have been cancelled and failed by then), for those that opened or that bear
 * a script. Both get the `ud` of the watcher. */
void mrpc_dispatch_watch(mrpc_dispatch *dispatch, const mrpc_peer_watch *watch,
                         void *ud);

/* Like mrpc_dispatch_add, for the host's own names too ("rpc.discover"). */
int mrpc_dispatch_add_host(mrpc_dispatch *dispatch, const char *name,
                           mrpc_call_fn fn, void *ud);
/* NULL when there is none; the default isn't looked at. */
const mrpc_method *mrpc_dispatch_find(mrpc_dispatch *dispatch, const char *name,
                                      size_t len);
/* What mrpc_dispatch_set_default gave, for a name that isn't found; NULL when
 * there is none or the name is reserved. */
const mrpc_method *mrpc_dispatch_default(const mrpc_dispatch *dispatch,
                                         const char *name, size_t len);
/* Adds a sentence on a name that isn't found: the hint, or which method is the
 * nearest. */
void mrpc_dispatch_explain(const mrpc_dispatch *dispatch, const char *name,
                           size_t len, mrpc_buf *to);
/* Why there are no methods, for as long as that is so; NULL: there are. Stays
 * the caller's. */
void mrpc_dispatch_set_hint(mrpc_dispatch *dispatch, const char *hint);
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
