/* SPDX-License-Identifier: MIT
 *
 * The writer of scalars. Containers are the caller's: brackets and commas are
 * plain bytes. Independent of the locale. */
#ifndef MRPC_JSON_WRITE_H
#define MRPC_JSON_WRITE_H

#include "base/buf.h"

/* Writes a quoted string. MRPC_ETYPE when it isn't valid UTF-8 (then nothing
 * is written); otherwise the buffer's state. */
int mrpc_json_write_string(mrpc_buf *buf, const char *text, size_t len);
int mrpc_json_write_int(mrpc_buf *buf, int64_t value);
/* The shortest digits that read back as the same double; integral values
 * within 2^53 without a fraction, -0.0 as "-0.0". MRPC_ETYPE unless finite. */
int mrpc_json_write_double(mrpc_buf *buf, double value);

/* Writes arbitrary bytes as a string, replacing what isn't UTF-8 by U+FFFD:
 * for messages that must get through. */
int mrpc_json_write_text(mrpc_buf *buf, const char *text, size_t len);

#endif
