/* SPDX-License-Identifier: MIT
 *
 * What a server said that refused a request, or an upgrade, for people. */
#ifndef MRPC_HTTP_REFUSAL_H
#define MRPC_HTTP_REFUSAL_H

#include <stddef.h>

typedef struct mrpc_refusal {
  int status;     /* 0: nothing was refused */
  char said[200]; /* the first line of the answer's body; more isn't shown */
} mrpc_refusal;

/* Of the body it takes the first line, of a page, which is for browsers, none.
 */
void mrpc_refusal_keep(mrpc_refusal *refusal, int status, const char *body,
                       size_t len);
/* Writes "the server refused the request, status 403: not you", of which
 * `error` is the first part; nothing when nothing was refused. */
void mrpc_refusal_explain(const mrpc_refusal *refusal, const char *error,
                          char *text, size_t size);

#endif
