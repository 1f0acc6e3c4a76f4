/* SPDX-License-Identifier: MIT
 *
 * What lua/connect.lua makes rpc.connect of: a connection is opened by the
 * embedder's dialer, its peer's object handed over, its end told. Retries,
 * queues and deadlines are that file's. */
#ifndef MRPC_RUNTIME_DIAL_H
#define MRPC_RUNTIME_DIAL_H

#include "runtime/runtime.h"

void mrpc_dial_init(mrpc_runtime *runtime);
/* Lets go of the connections that are open or being opened; the embedder still
 * tells of their ends, to nobody. */
void mrpc_dial_free(mrpc_runtime *runtime);

/* A peer's handshake is through. */
void mrpc_dial_ready(mrpc_runtime *runtime, mrpc_peer *peer);

/* Puts `connect` into the table on top. May throw. stack: [rpc] -> [rpc] */
void mrpc_dial_open(lua_State *L);

#endif
