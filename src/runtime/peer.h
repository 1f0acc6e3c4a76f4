/* SPDX-License-Identifier: MIT
 *
 * The other side of a conversation, as scripts see it. A connection has one
 * object at most: it is made when somebody asks, stands in the core's peer and
 * in the registry while that lives, and is then left to those who hold it,
 * with its fields readable. On HTTP, where nothing can be said to a caller
 * unasked, an object lives for one call. */
#ifndef MRPC_RUNTIME_PEER_H
#define MRPC_RUNTIME_PEER_H

#include "rpc/call.h"
#include "rpc/peer.h"
#include "runtime/task.h"

typedef struct mrpc_lua_peer {
  mrpc_runtime *runtime;
  mrpc_peer *peer;  /* NULL once it has ended, and on HTTP */
  mrpc_call *call;  /* on HTTP the call that it lives for, until the answer */
  mrpc_link link;   /* in runtime->peers, while `peer` is there */
  mrpc_link topics; /* that it is in; topic.c */
  uint64_t id;
  const char *transport;
  int ref;         /* keeps it in the registry while `peer` is there */
  bool is_http;    /* it can't be spoken to */
  bool is_closed;  /* the script has closed it */
  bool is_dialled; /* rpc.connect has made the connection */
} mrpc_lua_peer;

/* Begins to follow the peers of the runtime's dispatch. */
void mrpc_lua_peers_init(mrpc_runtime *runtime);
/* Lets go of all of them, before the Lua state is closed. */
void mrpc_lua_peers_free(mrpc_runtime *runtime);

/* Pushes the object of `peer`, making it if it has none; not for one that has
 * ended. May throw. stack: [] -> [peer] */
void mrpc_lua_peer_push(lua_State *L, mrpc_peer *peer);
/* The object at `index`; raises for what is none. */
mrpc_lua_peer *mrpc_lua_peer_get(lua_State *L, int index);
/* The peer at `index`, NULL when it has ended; raises for what is no peer. */
mrpc_peer *mrpc_lua_peer_check(lua_State *L, int index);
/* Has the conversation ended, or the script closed it? */
bool mrpc_lua_peer_is_closed(const mrpc_lua_peer *p);

/* Pushes the peer that the current task works for, nil when there is none.
 * May throw. stack: [] -> [peer or nil] */
void mrpc_lua_caller_push(lua_State *L);
/* The same as a reference in the registry, 0 when there is none; the caller
 * sees to it that it is let go, as the end of a task does with task->caller. */
int mrpc_lua_caller_ref(lua_State *L);
/* A call begins to wait: keeps the object that its peer has, if any, so that
 * the call finds the same one when the peer has ended. May throw. */
void mrpc_lua_caller_keep(lua_State *L, mrpc_task *task);
/* A call is about to be answered: its peer's object, on HTTP, has ended. */
void mrpc_lua_caller_end(mrpc_task *task);

#endif
