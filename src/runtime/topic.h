/* SPDX-License-Identifier: MIT
 *
 * rpc.topic: sets of peers to which a message is sent that is written once. */
#ifndef MRPC_RUNTIME_TOPIC_H
#define MRPC_RUNTIME_TOPIC_H

#include "runtime/peer.h"

/* Takes the peer out of all topics. Needs no memory. */
void mrpc_topic_leave(mrpc_lua_peer *p);

#endif
