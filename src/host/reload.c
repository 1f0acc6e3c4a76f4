/* SPDX-License-Identifier: MIT */
#include "host/reload.h"

#include "runtime/load.h"
#include "runtime/runtime.h"
#include "transport/watch.h"

/* Nobody hears of a look that finds nothing; the report tells of the rest. */
static void on_change(void *ud) {
  mrpc_host *host = ud;
  int rc = mrpc_loader_request(host->runtime->loader, MRPC_LOAD_CHANGES);
  if (rc)
    mrpc_log(host->env, MRPC_LOG_ERROR, "reload failed", "error",
             mrpc_strerror(rc), NULL);
}

int mrpc_reload_start(mrpc_host *host) {
  const mrpc_host_config *config = &host->config;
  if (!host->runtime || config->source || config->no_watch) return MRPC_OK;
  return mrpc_watch_new(host->loop, config->methods, on_change, host,
                        &host->watch);
}

void mrpc_reload_stop(mrpc_host *host) {
  mrpc_watch_free(host->watch);
  host->watch = NULL;
}
