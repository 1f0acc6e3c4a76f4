/* SPDX-License-Identifier: MIT
 *
 * The parser: strict RFC 8259 (DESIGN: UTF-8 validated, no BOM, lone
 * surrogate escapes refused), one pass, no recursion. */
#ifndef MRPC_JSON_PARSE_H
#define MRPC_JSON_PARSE_H

#include "json/document.h"

/* Parses `len` bytes (at most UINT32_MAX - 1) into `doc`, whose memory is
 * reused. `text` must outlive the use of the document. MRPC_ESYNTAX;
 * MRPC_ELIMIT when it nests deeper than `depth` or is longer; both with
 * doc->error and doc->error_at. MRPC_ENOMEM. */
int mrpc_json_parse(mrpc_doc *doc, const char *text, size_t len,
                    uint32_t depth);

/* Unescapes the raw inside of a valid string into `out`, of which it may use
 * `len` bytes and which doesn't overlap it, and tells how many it made. */
size_t mrpc_json_unescape(const char *raw, size_t len, char *out);

/* The length of what stands at `raw` inside a valid string: an escape (both
 * halves of a surrogate pair count as one), or else one byte. */
static inline size_t mrpc_json_escape_length(const char *raw) {
  if (raw[0] != '\\') return 1;
  if (raw[1] != 'u') return 2;
  char c = (char)(raw[3] | 0x20);
  bool high =
      (raw[2] | 0x20) == 'd' && (c == '8' || c == '9' || c == 'a' || c == 'b');
  return high ? 12 : 6;
}

#endif
