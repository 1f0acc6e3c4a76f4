/* SPDX-License-Identifier: MIT
 *
 * Generations: which files a load has to run, and the one step that puts them
 * in the place of the old ones. */
#ifndef MRPC_RUNTIME_GENERATION_H
#define MRPC_RUNTIME_GENERATION_H

#include "runtime/loader.h"

/* Makes the plan: a new file for each node that has changed or depends on one
 * that has. *is_needed: there is something to swap. MRPC_ENOMEM. */
int mrpc_plan_make(mrpc_loader *loader, bool *is_needed);
/* Adds a new file of the node: one that a file of the plan requires. */
int mrpc_plan_add(mrpc_loader *loader, mrpc_tree_node *node, mrpc_file **out);
/* Has a call loaded the node's file, with what the plan replaces in it? */
bool mrpc_plan_is_late(mrpc_loader *loader, const mrpc_tree_node *node);
/* Stops and retires the files of the plan. */
void mrpc_plan_discard(mrpc_loader *loader);

/* Swaps the plan in. All its files must be READY. MRPC_EEXIST with the faults
 * noted when names clash, MRPC_ENOMEM; then nothing has changed. */
int mrpc_plan_commit(mrpc_loader *loader);
/* Retires all files, for the end. */
void mrpc_generation_clear(mrpc_loader *loader);

#endif
