/* SPDX-License-Identifier: MIT
 *
 * How far a call is, told to a caller who asked for it by a token in the
 * params: a member workDoneToken, partialResultToken or progressToken, which
 * $/progress answers (LSP 3.17), or _meta.progressToken, which
 * notifications/progress does (MCP). */
#ifndef MRPC_RPC_PROGRESS_H
#define MRPC_RPC_PROGRESS_H

#include "json/document.h"

/* The raw token in the params at a node; NULL when there is none. `is_meta`:
 * it stands in _meta. */
const char *mrpc_progress_find(const mrpc_doc *doc, uint32_t params,
                               size_t *len, bool *is_meta);

#endif
