/* SPDX-License-Identifier: MIT
 *
 * Reloads as you save: joins the watch of the methods directory to the
 * runtime's loader. */
#ifndef MRPC_HOST_RELOAD_H
#define MRPC_HOST_RELOAD_H

#include "host/host.h"

/* Watches the directory of the host's runtime from now on; each change loads
 * what has changed. Call it before the first load is asked for, so that no
 * save is missed. MRPC_ENOMEM, MRPC_EIO. */
int mrpc_reload_start(mrpc_host *host);
/* Fine for a host that doesn't watch. */
void mrpc_reload_stop(mrpc_host *host);

#endif
