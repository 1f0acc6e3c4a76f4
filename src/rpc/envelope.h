/* SPDX-License-Identifier: MIT
 *
 * The envelope of JSON-RPC 2.0 (§4, §5): reads what one object is, and makes
 * every error object that this program sends. Knows nodes and text, not peers
 * or calls. */
#ifndef MRPC_RPC_ENVELOPE_H
#define MRPC_RPC_ENVELOPE_H

#include "base/buf.h"
#include "json/document.h"

typedef enum mrpc_envelope_kind {
  MRPC_ENVELOPE_REQUEST,
  MRPC_ENVELOPE_NOTIFICATION,
  MRPC_ENVELOPE_RESPONSE,
  MRPC_ENVELOPE_BAD_RESPONSE, /* an answer that can't be one; drop it */
  MRPC_ENVELOPE_INVALID       /* -32600 */
} mrpc_envelope_kind;

/* Nodes are those of the members' values, MRPC_NO_NODE where there is none. */
typedef struct mrpc_envelope {
  mrpc_envelope_kind kind;
  uint32_t version;
  uint32_t id; /* a string, a number or null; INVALID: what can be echoed */
  uint32_t method;
  uint32_t params; /* an array or an object; null counts as none */
  uint32_t result;
  uint32_t error;
  bool has_id;       /* an id stands there, be it a good one or not */
  const char *fault; /* why it is INVALID or BAD_RESPONSE; a constant phrase */
} mrpc_envelope;

/* Reads the object at `node` in one walk over its members. */
void mrpc_envelope_read(const mrpc_doc *doc, uint32_t node, mrpc_envelope *out);

/* Is its "jsonrpc" the one that is asked for? */
bool mrpc_envelope_has_version(const mrpc_doc *doc, const mrpc_envelope *e);

/* The raw text of the id, "null" for MRPC_NO_NODE. */
const char *mrpc_envelope_id(const mrpc_doc *doc, uint32_t id, size_t *len);

/* What stands in an error object. */
typedef struct mrpc_error {
  int64_t code;
  const char *message; /* any bytes; NULL: the code's own phrase */
  size_t message_len;
  const char *data; /* JSON text, or NULL */
  size_t data_len;
} mrpc_error;

/* The phrase for a code of JSON-RPC 2.0 §5.1 or of the host. */
const char *mrpc_envelope_phrase(int64_t code);

/* Appends a whole response with an error object, but for the id and the
 * closing brace, which mrpc_envelope_close adds. */
void mrpc_envelope_add_error(mrpc_buf *buf, const mrpc_error *error);
/* The same for a limit that struck: "Busy: message exceeds the limit of 9
 * bytes", with Busy for the phrase and the rest as given. */
void mrpc_envelope_add_limit(mrpc_buf *buf, int code, const char *phrase,
                             const char *what, uint64_t limit,
                             const char *unit);
/* The same for a result: the value is to follow. */
void mrpc_envelope_open(mrpc_buf *buf);
void mrpc_envelope_close(mrpc_buf *buf, const char *id, size_t len);

/* Begins a call or notification of ours: its other members and the closing
 * brace are to follow. MRPC_ETYPE for a name that isn't UTF-8, or the buffer's
 * state. */
int mrpc_envelope_open_call(mrpc_buf *buf, const char *method, size_t len);

#endif
