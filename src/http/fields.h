/* SPDX-License-Identifier: MIT
 *
 * The header fields of a request as the layers above see them: a list made
 * only when somebody asks. */
#ifndef MRPC_HTTP_FIELDS_H
#define MRPC_HTTP_FIELDS_H

#include "framing/framing.h"
#include "framing/text.h"

typedef struct mrpc_http_fields {
  void *block; /* list and texts in one piece, or NULL */
  size_t size;
} mrpc_http_fields;

/* The fields of a scanned block, names in lower case, ended by a NULL name;
 * NULL when out of memory. Lives until clear. */
const mrpc_header_field *mrpc_http_fields_get(mrpc_http_fields *fields,
                                              const mrpc_mem *mem,
                                              mrpc_text block);
void mrpc_http_fields_clear(mrpc_http_fields *fields, const mrpc_mem *mem);

#endif
