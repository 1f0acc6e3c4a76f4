/* SPDX-License-Identifier: MIT
 *
 * WebSocket, client side. */
#include "framing/framing.h"

int mrpc_framing_ws_client(mrpc_env *env, const mrpc_limits *limits,
                           const char *host, const char *path,
                           const char *const *subprotocols,
                           mrpc_framing **out) {
  (void)env;
  (void)limits;
  (void)host;
  (void)path;
  (void)subprotocols;
  (void)out;
  return MRPC_ESTATE;
}
