/* SPDX-License-Identifier: MIT
 *
 * Reading is two steps: collect the known members by their keys, then judge.
 * A key is told by its length and one comparison of raw bytes; only a key
 * that was written with escapes is decoded. Members with other names are
 * nobody's business. */
#include "rpc/envelope.h"

#include "json/write.h"
#include "rpc/call.h"

/* A key's place in the envelope; NULL when it isn't one of ours. */
static inline uint32_t *find_member(mrpc_envelope *e, const char *key,
                                    size_t len) {
  switch (len) {
    case 2: return memcmp(key, "id", 2) == 0 ? &e->id : NULL;
    case 5: return memcmp(key, "error", 5) == 0 ? &e->error : NULL;
    case 6:
      if (memcmp(key, "method", 6) == 0) return &e->method;
      if (memcmp(key, "params", 6) == 0) return &e->params;
      return memcmp(key, "result", 6) == 0 ? &e->result : NULL;
    case 7: return memcmp(key, "jsonrpc", 7) == 0 ? &e->version : NULL;
    default: return NULL;
  }
}

/* Not in line, as what judges a response isn't: requests would pay for it. */
__attribute__((noinline)) static uint32_t *find_escaped(const mrpc_doc *doc,
                                                        uint32_t key,
                                                        mrpc_envelope *e) {
  static const char *const names[] = {"id",     "error",  "method",
                                      "params", "result", "jsonrpc"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t len = strlen(names[i]);
    if (mrpc_doc_string_is(doc, key, names[i], len))
      return find_member(e, names[i], len);
  }
  return NULL;
}

/* Fills the member fields. Answers a fault when one stands there twice; an id
 * that does is none. */
static const char *collect(const mrpc_doc *doc, uint32_t node,
                           mrpc_envelope *e) {
  const mrpc_node *nodes = doc->nodes;
  const char *text = doc->text, *fault = NULL;
  bool two_ids = false;
  uint32_t at = node + 1;
  for (uint32_t left = nodes[node].size; left; left--) {
    const mrpc_node *key = &nodes[at++], *value = key + 1;
    uint32_t *member = key->flags & MRPC_JSON_ESCAPED
                           ? find_escaped(doc, at - 1, e)
                           : find_member(e, text + key->u.at.start, key->size);
    if (member) {
      if (*member != MRPC_NO_NODE) {
        fault = "a member stands there twice";
        two_ids |= member == &e->id;
      }
      *member = at;
    }
    at = value->type >= MRPC_JSON_ARRAY ? value->u.at.next : at + 1;
  }
  e->has_id = e->id != MRPC_NO_NODE;
  if (two_ids) e->id = MRPC_NO_NODE;
  return fault;
}

static inline bool is_string(const mrpc_doc *doc, uint32_t node,
                             const char *text, size_t len) {
  const mrpc_node *n = &doc->nodes[node];
  if (n->type != MRPC_JSON_STRING) return false;
  if (n->flags & MRPC_JSON_ESCAPED)
    return mrpc_doc_string_is(doc, node, text, len);
  return n->size == len && memcmp(doc->text + n->u.at.start, text, len) == 0;
}

bool mrpc_envelope_has_version(const mrpc_doc *doc, const mrpc_envelope *e) {
  return e->version != MRPC_NO_NODE && is_string(doc, e->version, "2.0", 3);
}

static bool is_id(const mrpc_doc *doc, uint32_t node) {
  return doc->nodes[node].type == MRPC_JSON_NULL || mrpc_doc_is_name(doc, node);
}

/* Null params are taken as absent: several clients send them. */
static const char *judge_params(const mrpc_doc *doc, mrpc_envelope *e) {
  if (e->params == MRPC_NO_NODE) return NULL;
  uint8_t type = doc->nodes[e->params].type;
  if (type == MRPC_JSON_NULL) e->params = MRPC_NO_NODE;
  if (type == MRPC_JSON_NULL || type >= MRPC_JSON_ARRAY) return NULL;
  return "\"params\" must be an array or an object";
}

static const char *judge_request(const mrpc_doc *doc, mrpc_envelope *e) {
  if (!mrpc_envelope_has_version(doc, e)) return "\"jsonrpc\" must be \"2.0\"";
  if (e->method == MRPC_NO_NODE) return "\"method\" is missing";
  if (doc->nodes[e->method].type != MRPC_JSON_STRING)
    return "\"method\" must be a string";
  return judge_params(doc, e);
}

/* JSON-RPC 2.0 §5.1: an integer code and a message. */
static bool is_error_object(const mrpc_doc *doc, uint32_t node) {
  if (doc->nodes[node].type != MRPC_JSON_OBJECT) return false;
  bool has_code = false, has_message = false;
  uint32_t key = node + 1;
  for (uint32_t left = doc->nodes[node].size; left; left--) {
    uint8_t type = doc->nodes[key + 1].type;
    if (is_string(doc, key, "code", 4)) has_code = type == MRPC_JSON_INT;
    if (is_string(doc, key, "message", 7))
      has_message = type == MRPC_JSON_STRING;
    key = mrpc_doc_next(doc, key + 1);
  }
  return has_code && has_message;
}

__attribute__((noinline)) static const char *judge_response(const mrpc_doc *doc,
                                                            mrpc_envelope *e) {
  if (!mrpc_envelope_has_version(doc, e)) return "\"jsonrpc\" must be \"2.0\"";
  if (e->result != MRPC_NO_NODE && e->error != MRPC_NO_NODE)
    return "both \"result\" and \"error\"";
  if (e->error != MRPC_NO_NODE && !is_error_object(doc, e->error))
    return "\"error\" is no error object";
  return NULL;
}

void mrpc_envelope_read(const mrpc_doc *doc, uint32_t node,
                        mrpc_envelope *out) {
  *out = (mrpc_envelope){.kind = MRPC_ENVELOPE_INVALID,
                         .version = MRPC_NO_NODE,
                         .id = MRPC_NO_NODE,
                         .method = MRPC_NO_NODE,
                         .params = MRPC_NO_NODE,
                         .result = MRPC_NO_NODE,
                         .error = MRPC_NO_NODE};
  if (doc->nodes[node].type != MRPC_JSON_OBJECT) {
    bool is_batch = node == 0 && doc->nodes[node].type == MRPC_JSON_ARRAY;
    out->fault =
        is_batch ? "a batch must not be empty" : "a request must be an object";
    return;
  }
  const char *fault = collect(doc, node, out);
  if (out->id != MRPC_NO_NODE && !is_id(doc, out->id)) {
    out->id = MRPC_NO_NODE;
    if (!fault) fault = "\"id\" must be a string, a number or null";
  }
  bool has_answer = out->result != MRPC_NO_NODE || out->error != MRPC_NO_NODE;
  bool is_response = out->method == MRPC_NO_NODE && has_answer && out->has_id;
  if (!fault)
    fault = is_response ? judge_response(doc, out) : judge_request(doc, out);
  out->fault = fault;
  if (is_response)
    out->kind = fault ? MRPC_ENVELOPE_BAD_RESPONSE : MRPC_ENVELOPE_RESPONSE;
  else if (!fault)
    out->kind =
        out->has_id ? MRPC_ENVELOPE_REQUEST : MRPC_ENVELOPE_NOTIFICATION;
}

const char *mrpc_envelope_id(const mrpc_doc *doc, uint32_t id, size_t *len) {
  if (id != MRPC_NO_NODE) return mrpc_doc_raw(doc, id, len);
  *len = 4;
  return "null";
}

const char *mrpc_envelope_phrase(int64_t code) {
  switch (code) {
    case MRPC_PARSE_ERROR: return "Parse error";
    case MRPC_INVALID_REQUEST: return "Invalid Request";
    case MRPC_METHOD_NOT_FOUND: return "Method not found";
    case MRPC_INVALID_PARAMS: return "Invalid params";
    case MRPC_INTERNAL_ERROR: return "Internal error";
    case MRPC_BUSY: return "Busy";
    case MRPC_TIMED_OUT: return "Timed out";
    case MRPC_REPLY_TOO_LARGE: return "Reply too large";
    case MRPC_SCRIPT_LIMIT: return "Script limit exceeded";
    case MRPC_SHUTTING_DOWN: return "Shutting down";
    case MRPC_NOT_AUTHORISED: return "Not authorised";
    case MRPC_RATE_LIMITED: return "Rate limited";
    case MRPC_PEER_GONE: return "The peer went away";
    case MRPC_REQUEST_CANCELLED: return "Request cancelled";
    default: return "Server error";
  }
}

int mrpc_envelope_open_call(mrpc_buf *buf, const char *method, size_t len) {
  mrpc_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"method\":");
  return mrpc_json_write_string(buf, method, len);
}

void mrpc_envelope_open(mrpc_buf *buf) {
  mrpc_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"result\":");
}

static void add_code(mrpc_buf *buf, int64_t code) {
  mrpc_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":");
  mrpc_json_write_int(buf, code);
  mrpc_buf_lit(buf, ",\"message\":");
}

void mrpc_envelope_add_limit(mrpc_buf *buf, int code, const char *phrase,
                             const char *what, uint64_t limit,
                             const char *unit) {
  add_code(buf, code);
  mrpc_buf_addc(buf, '"');
  mrpc_buf_adds(buf, phrase);
  mrpc_buf_lit(buf, ": ");
  mrpc_buf_adds(buf, what);
  mrpc_buf_lit(buf, " the limit of ");
  mrpc_buf_addu(buf, limit);
  mrpc_buf_addc(buf, ' ');
  mrpc_buf_adds(buf, unit);
  mrpc_buf_lit(buf, "\"}");
}

void mrpc_envelope_add_error(mrpc_buf *buf, const mrpc_error *error) {
  const char *message = error->message;
  size_t len = error->message_len;
  if (!message) {
    message = mrpc_envelope_phrase(error->code);
    len = strlen(message);
  }
  add_code(buf, error->code);
  mrpc_json_write_text(buf, message, len);
  if (error->data) {
    mrpc_buf_lit(buf, ",\"data\":");
    mrpc_buf_add(buf, error->data, error->data_len);
  }
  mrpc_buf_addc(buf, '}');
}

/* Most ids are so short that calling memcpy would be the greater part. */
static inline void copy_id(char *to, const char *id, size_t len) {
  if (len > 8) {
    memcpy(to, id, len);
  } else if (len >= 4) {
    uint32_t first, last;
    memcpy(&first, id, 4);
    memcpy(&last, id + len - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + len - 4, &last, 4);
  } else {
    for (size_t i = 0; i < len; i++) to[i] = id[i];
  }
}

void mrpc_envelope_close(mrpc_buf *buf, const char *id, size_t len) {
  char *to = mrpc_buf_reserve(buf, len + 7);
  if (!to) return;
  memcpy(to, ",\"id\":", 6);
  copy_id(to + 6, id, len);
  to[len + 6] = '}';
  buf->len += len + 7;
}
