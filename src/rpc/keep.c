/* SPDX-License-Identifier: MIT
 *
 * What is kept is bounded as output is: its bytes count in peer->kept, which
 * stops reading beyond limits.output. Header fields are the same for all
 * calls of a batch, so they are copied once and shared. */
#include "rpc/keep.h"

#include "rpc/progress.h"

struct mrpc_headers {
  size_t users; /* calls and the batch */
  size_t size;  /* of this piece: the struct, the list and the texts */
  mrpc_header_field list[];
};

static const mrpc_mem *mem_of(const mrpc_call *call) {
  return &call->dispatch->env->mem;
}

/* A copy that ends with a NUL; NULL is out of memory, and the peer is lost. */
static char *keep_text(mrpc_call *call, const char *text, size_t len) {
  char *copy = mrpc_mem_copy(mem_of(call), text, len);
  if (copy && call->peer) call->peer->kept += len;
  if (!copy && call->peer) mrpc_peer_lose(call->peer);
  return copy;
}

/* Nothing is counted any more when the peer is over. */
static void uncount(mrpc_peer *peer, size_t len) {
  if (peer && !peer->is_over) peer->kept -= len;
}

static void drop_text(mrpc_call *call, const char *text, size_t len) {
  mrpc_mem_free(mem_of(call), (char *)(uintptr_t)text, len + 1);
  uncount(call->peer, len);
}

static void keep_id(mrpc_call *call) {
  if (call->id_len <= sizeof call->own_id) {
    memcpy(call->own_id, call->id, call->id_len);
    call->id = call->own_id;
    return;
  }
  const char *copy = keep_text(call, call->id, call->id_len);
  if (!copy) call->id_len = 0;
  call->id = copy ? copy : "";
  if (copy) call->owns |= MRPC_OWNS_ID;
}

static void keep_token(mrpc_call *call) {
  size_t len;
  bool is_meta;
  const char *token =
      mrpc_progress_find(call->doc, call->params, &len, &is_meta);
  if (!token) return;
  call->token = keep_text(call, token, len);
  if (!call->token) return;
  call->token_len = len;
  call->is_meta = is_meta;
  call->owns |= MRPC_OWNS_TOKEN;
}

/* Header fields. */

static char *copy(char *to, const char *text, const char **out) {
  size_t len = strlen(text) + 1;
  memcpy(to, text, len);
  *out = to;
  return to + len;
}

static mrpc_headers *copy_headers(const mrpc_mem *mem,
                                  const mrpc_header_field *fields) {
  size_t count = 0, bytes = 0;
  for (; fields[count].name; count++)
    bytes += strlen(fields[count].name) + strlen(fields[count].value) + 2;
  size_t head = sizeof(mrpc_headers) + (count + 1) * sizeof *fields;
  mrpc_headers *headers = mrpc_mem_new(mem, head + bytes);
  if (!headers) return NULL;
  headers->size = head + bytes;
  char *to = (char *)headers + head;
  for (size_t i = 0; i < count; i++) {
    to = copy(to, fields[i].name, &headers->list[i].name);
    to = copy(to, fields[i].value, &headers->list[i].value);
  }
  return headers;
}

/* Those of the message at hand, for framings whose messages have their own. */
static const mrpc_header_field *current(const mrpc_peer *peer) {
  const mrpc_framing *f = peer->framing;
  return f->vt->headers && !f->vt->push ? f->vt->headers(f) : NULL;
}

int mrpc_keep_headers(mrpc_batch *batch) {
  const mrpc_header_field *fields = current(batch->peer);
  if (batch->headers || !fields) return MRPC_OK;
  batch->headers = copy_headers(&batch->peer->env->mem, fields);
  if (!batch->headers) return MRPC_ENOMEM;
  batch->headers->users = 1;
  batch->peer->kept += batch->headers->size;
  return MRPC_OK;
}

void mrpc_keep_share(mrpc_call *call, const mrpc_batch *batch) {
  if (call->owns & MRPC_OWNS_HEADERS) return;
  call->headers = batch->headers;
  call->headers->users++;
  call->owns |= MRPC_OWNS_HEADERS;
}

/* `peer` is NULL when it has gone. */
static void release(const mrpc_mem *mem, mrpc_peer *peer,
                    mrpc_headers *headers) {
  if (--headers->users) return;
  uncount(peer, headers->size);
  mrpc_mem_free(mem, headers, headers->size);
}

void mrpc_keep_release(mrpc_batch *batch) {
  mrpc_peer *peer = batch->peer;
  release(&peer->env->mem, peer, batch->headers);
  batch->headers = NULL;
}

const mrpc_header_field *mrpc_call_headers(const mrpc_call *call) {
  if (call->owns & MRPC_OWNS_HEADERS) return call->headers->list;
  if (!call->peer) return NULL;
  const mrpc_header_field *fields = mrpc_peer_headers(call->peer);
  return fields || !call->doc ? fields : current(call->peer);
}

const mrpc_header_field *mrpc_peer_headers(const mrpc_peer *peer) {
  const mrpc_framing *f = peer->framing;
  return f->vt->headers && f->vt->push ? f->vt->headers(f) : NULL;
}

/* All of it. */

void mrpc_keep(mrpc_call *call) {
  keep_id(call);
  if (call->params != MRPC_NO_NODE) keep_token(call);
}

void mrpc_keep_drop(mrpc_call *call) {
  if (call->owns & MRPC_OWNS_ID) drop_text(call, call->id, call->id_len);
  if (call->owns & MRPC_OWNS_TOKEN)
    drop_text(call, call->token, call->token_len);
  if (call->owns & MRPC_OWNS_HEADERS)
    release(mem_of(call), call->peer, call->headers);
  call->owns = 0;
}
