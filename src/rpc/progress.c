/* SPDX-License-Identifier: MIT
 *
 * The token is looked for when somebody wants to use it, or when the call
 * parks and its params go. Of two tokens the one that is meant for progress
 * alone comes first. */
#include "rpc/progress.h"

#include "rpc/envelope.h"
#include "rpc/keep.h"

typedef struct place {
  uint32_t node; /* MRPC_NO_NODE: none */
  int rank;      /* 0: none */
  bool is_meta;
} place;

static const char *const names[] = {"progressToken", "partialResultToken",
                                    "workDoneToken"};
enum { NAMES = sizeof names / sizeof *names };

/* How good a place for a token the key is. */
static int rank_of(const mrpc_doc *doc, uint32_t key) {
  for (int i = 0; i < NAMES; i++)
    if (mrpc_doc_string_is(doc, key, names[i], strlen(names[i]))) return i + 2;
  return 0;
}

/* A progressToken among the members of _meta. */
static void look_in_meta(const mrpc_doc *doc, uint32_t meta, place *out) {
  if (doc->nodes[meta].type != MRPC_JSON_OBJECT) return;
  uint32_t key = meta + 1;
  for (uint32_t left = doc->nodes[meta].size; left; left--) {
    bool is_one = mrpc_doc_is_name(doc, key + 1) &&
                  mrpc_doc_string_is(doc, key, names[0], strlen(names[0]));
    if (is_one) *out = (place){.node = key + 1, .rank = 1, .is_meta = true};
    key = mrpc_doc_next(doc, key + 1);
  }
}

static place find(const mrpc_doc *doc, uint32_t params) {
  place found = {.node = MRPC_NO_NODE};
  if (doc->nodes[params].type != MRPC_JSON_OBJECT) return found;
  uint32_t key = params + 1;
  for (uint32_t left = doc->nodes[params].size; left; left--) {
    uint32_t value = key + 1;
    int rank = mrpc_doc_is_name(doc, value) ? rank_of(doc, key) : 0;
    if (rank && rank >= found.rank)
      found = (place){.node = value, .rank = rank};
    else if (found.rank <= 1 && mrpc_doc_string_is(doc, key, "_meta", 5))
      look_in_meta(doc, value, &found);
    key = mrpc_doc_next(doc, value);
  }
  return found;
}

const char *mrpc_progress_find(const mrpc_doc *doc, uint32_t params,
                               size_t *len, bool *is_meta) {
  if (params == MRPC_NO_NODE) return NULL;
  place found = find(doc, params);
  *is_meta = found.is_meta;
  return found.rank ? mrpc_doc_raw(doc, found.node, len) : NULL;
}

/* The token of a call, be it in the message or kept. */
static const char *get(const mrpc_call *call, size_t *len, bool *is_meta) {
  if (call->doc)
    return mrpc_progress_find(call->doc, call->params, len, is_meta);
  if (!(call->owns & MRPC_OWNS_TOKEN)) return NULL;
  *len = call->token_len;
  *is_meta = call->is_meta;
  return call->token;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The members of the object `json`, without its braces; a number is one
 * member. False for what is neither. */
static bool add_members(mrpc_buf *buf, const char *json, size_t len) {
  while (len && is_space(*json)) json++, len--;
  while (len && is_space(json[len - 1])) len--;
  if (len == 0) return false;
  if (*json != '{') {
    mrpc_buf_lit(buf, ",\"progress\":");
    mrpc_buf_add(buf, json, len);
    return *json == '-' || (*json >= '0' && *json <= '9');
  }
  if (len < 2) return false;
  for (json++, len -= 2; len && is_space(*json); len--) json++;
  if (len) mrpc_buf_addc(buf, ',');
  mrpc_buf_add(buf, json, len);
  return true;
}

static int write(mrpc_buf *buf, const char *token, size_t token_len,
                 bool is_meta, const char *json, size_t len) {
  const char *method = is_meta ? "notifications/progress" : "$/progress";
  mrpc_envelope_open_call(buf, method, strlen(method));
  mrpc_buf_adds(buf, is_meta ? ",\"params\":{\"progressToken\":"
                             : ",\"params\":{\"token\":");
  mrpc_buf_add(buf, token, token_len);
  if (is_meta) {
    if (!add_members(buf, json, len)) return MRPC_EINVAL;
  } else {
    mrpc_buf_lit(buf, ",\"value\":");
    mrpc_buf_add(buf, json, len);
  }
  mrpc_buf_lit(buf, "}}");
  return buf->err;
}

/* Is there somebody who waits for the call's end? */
static bool is_awaited(const mrpc_call *call) {
  return call->peer && (call->batch || call->is_notification);
}

int mrpc_call_progress(mrpc_call *call, const char *json, size_t len) {
  size_t token_len;
  bool is_meta;
  const char *token = is_awaited(call) ? get(call, &token_len, &is_meta) : NULL;
  if (!token) return MRPC_ENOTFOUND;
  mrpc_buf text;
  mrpc_buf_init(&text, &call->peer->env->mem, SIZE_MAX);
  int rc = write(&text, token, token_len, is_meta, json, len);
  if (rc == MRPC_OK) rc = mrpc_peer_push(call->peer, text.data, text.len);
  mrpc_buf_clear(&text);
  return rc;
}
