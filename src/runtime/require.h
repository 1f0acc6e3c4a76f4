/* SPDX-License-Identifier: MIT
 *
 * `require`: what is built in, then the files of the source, then what is
 * installed. A file belongs to a generation: code of the one that serves gets
 * that one's, code that is being loaded gets the one that is to come. */
#ifndef MRPC_RUNTIME_REQUIRE_H
#define MRPC_RUNTIME_REQUIRE_H

#include "runtime/file.h"

/* Replaces the global function `require`, and takes `./` off the path. What
 * stands in package.loaded and package.preload now is what is built in. May
 * throw. */
void mrpc_require_open(lua_State *L);

/* The file is READY or FAILED: who waits for it goes on. */
void mrpc_require_ended(mrpc_file *file);

#endif
