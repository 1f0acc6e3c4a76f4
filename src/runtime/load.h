/* SPDX-License-Identifier: MIT
 *
 * Loads and reloads the files of a source, generation by generation. The
 * changed files and all that require them are run aside, in slices on the
 * environment's deadlines; when all have succeeded their methods replace the
 * old ones in one step, else nothing changes but the report. Knows nothing of
 * watching. */
#ifndef MRPC_RUNTIME_LOAD_H
#define MRPC_RUNTIME_LOAD_H

#include "runtime/runtime.h"

/* `config` is that of the runtime; its L, dispatch and limits must be set.
 * Opens `require`; nothing is loaded yet. */
int mrpc_loader_new(mrpc_runtime *runtime, const mrpc_runtime_config *config,
                    mrpc_loader **out);
/* Gives up a load, closes what files own, takes the methods out of the
 * dispatch. All tasks must have ended; the Lua state must still be open. */
void mrpc_loader_free(mrpc_loader *loader);

/* How much mrpc_loader_request looks at. */
typedef enum mrpc_load_mode {
  MRPC_LOAD_CHANGES,   /* what has changed since the last attempt */
  MRPC_LOAD_AGAIN,     /* and what failed in the last attempt */
  MRPC_LOAD_EVERYTHING /* every file */
} mrpc_load_mode;

/* What mrpc_runtime_reload does, by mode: it uses AGAIN and EVERYTHING.
 * on_report is called only when something was loaded or the state of the last
 * report has changed; with the other modes always. */
int mrpc_loader_request(mrpc_loader *loader, mrpc_load_mode mode);

/* For chunk.c: a file has become READY or FAILED. */
void mrpc_load_ended(mrpc_loader *loader, mrpc_file *file, uint64_t run_ns);
/* For chunk.c: the run time that is left for a file; 0: no limit. */
uint64_t mrpc_load_run_left(const mrpc_file *file);

/* rpc.method(name, function): declares a method while a file is loaded. */
int mrpc_load_method(lua_State *L);

#endif
