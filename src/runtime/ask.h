/* SPDX-License-Identifier: MIT
 *
 * What all that scripts say to peers has in common: its arguments are a method
 * and params. */
#ifndef MRPC_RUNTIME_ASK_H
#define MRPC_RUNTIME_ASK_H

#include "runtime/peer.h"

/* The peer at `index`, if it can be spoken to; raises else. */
mrpc_lua_peer *mrpc_lua_peer_check_usable(lua_State *L, int index);
/* Raises unless a method's name stands at `index` and a table or nothing behind
 * it. The name. */
const char *mrpc_message_check(lua_State *L, int index);
/* Writes the notification whose method stands at `index` and its params behind
 * it; raises what can't be written. It lives until the next use of the
 * runtime's scratch buffer. */
const mrpc_buf *mrpc_message_write(lua_State *L, int index);

/* Why the peer can't be called any more, as far as its framing knows, else "".
 * `peer` may be NULL. stack: [] -> [text] */
void mrpc_ask_push_reason(lua_State *L, const mrpc_peer *peer);

/* A notification to a peer that answers what it has taken (HTTP): waits for
 * that, as peer:call for its result.
 * stack: [peer method params? options?] -> [nil] */
int mrpc_ask_tell(lua_State *L);

#endif
