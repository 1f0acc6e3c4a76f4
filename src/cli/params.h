/* SPDX-License-Identifier: MIT
 *
 * What stands behind URL and METHOD on a command line. */
#ifndef MRPC_CLI_PARAMS_H
#define MRPC_CLI_PARAMS_H

#include "cli/cli.h"

/* Makes the JSON text of the params, to be freed with free(); NULL when there
 * are no arguments. EXIT_DONE, or the exit code. */
int params_make(const command *self, mrpc_env *env, int count, char **args,
                char **out);

#endif
