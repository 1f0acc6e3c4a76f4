/* SPDX-License-Identifier: MIT
 *
 * A directory as a source of scripts: every Lua file below it, whatever links
 * lead there. Left out are the names that begin with "." and what editors
 * leave behind (foo.lua~, .foo.lua.swp, #foo.lua#, 4913). Knows POSIX, not
 * Lua. */
#ifndef MRPC_RUNTIME_DIRECTORY_H
#define MRPC_RUNTIME_DIRECTORY_H

#include "base/env.h"

typedef struct mrpc_directory mrpc_directory;

/* The directory needn't exist yet. */
int mrpc_directory_new(mrpc_env *env, const char *path, mrpc_directory **out);
void mrpc_directory_free(mrpc_directory *dir);
/* Lives as long as the directory object. list answers MRPC_ENOTFOUND while
 * there is no such directory, MRPC_EIO when it can't be read. */
mrpc_source mrpc_directory_source(mrpc_directory *dir);

#endif
