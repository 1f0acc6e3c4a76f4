/* SPDX-License-Identifier: MIT
 *
 * A second look at a header block that llhttp has accepted: finds the fields
 * that decide about a request, and refuses what llhttp lets pass but two
 * readers may understand in two ways, the root of request smuggling. It
 * knows HTTP's grammar, not what this server wants. */
#ifndef MRPC_HTTP_SCAN_H
#define MRPC_HTTP_SCAN_H

#include "framing/text.h"

typedef struct mrpc_http_head {
  mrpc_text block; /* the whole */
  mrpc_text method;
  mrpc_text target;
  int minor; /* of HTTP/1.x */
  mrpc_text host;
  mrpc_text origin;
  mrpc_text content_type;
  mrpc_text content_length;
  mrpc_text content_encoding;
  mrpc_text coding; /* Transfer-Encoding */
  mrpc_text expect;
  bool wants_websocket; /* Upgrade names it */
  bool is_browser;      /* bears Origin, Referer or a Sec-Fetch field */
} mrpc_http_head;

/* Scans the block from its first byte to its empty line. NULL when all is
 * well, else a constant phrase for the 400. `out` points into the block. */
const char *mrpc_http_scan(mrpc_text block, mrpc_http_head *out);

/* Cuts the first line, without its CRLF, off a scanned block. False at the
 * empty line that ends it. */
bool mrpc_http_next_line(mrpc_text *block, mrpc_text *line);

/* Cuts the first element off a comma-separated list, without the spaces around
 * it; false when there is none left. */
bool mrpc_http_next_element(mrpc_text *list, mrpc_text *element);
/* Does the list have this word, whatever the case? */
bool mrpc_http_list_has(mrpc_text list, const char *word);

#endif
