/* SPDX-License-Identifier: MIT
 *
 * `require "luv"` on the host's own loop. Its callbacks run as tasks, so the
 * whole API works in them; its handles belong to the file that made them. */
#ifndef MRPC_HOST_LUV_H
#define MRPC_HOST_LUV_H

#include "host/host.h"

/* Makes luv requirable; it is opened when a script asks for it. MRPC_ENOMEM. */
int mrpc_luv_open(mrpc_host *host);
/* Ends what scripts have under way: kills the tasks, closes the handles, and
 * runs the loop until luv has nothing left that refers to the Lua state. To be
 * called before the runtime is freed. */
void mrpc_luv_close(mrpc_host *host);
/* Frees what was kept; after the runtime. */
void mrpc_luv_free(mrpc_host *host);

#endif
