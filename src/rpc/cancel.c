/* SPDX-License-Identifier: MIT
 *
 * Calls in flight are few (limits.in_flight), cancels are rare: both are found
 * by walking. A request may also stand in a batch that queues; it is marked
 * in its node and never starts. */
#include "rpc/cancel.h"

#include "rpc/envelope.h"
#include "rpc/id.h"

typedef struct contract {
  const char *method;
  const char *member; /* of params, that holds the id */
  bool is_silent;     /* the call isn't answered */
} contract;

static const contract contracts[] = {
    {"$/cancelRequest", "id", false},
    {"notifications/cancelled", "requestId", true},
};

static const contract *find_contract(const char *method, size_t len) {
  for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++) {
    const contract *c = &contracts[i];
    if (strlen(c->method) == len && memcmp(c->method, method, len) == 0)
      return c;
  }
  return NULL;
}

/* The raw id in the params, NULL if there is none. The last member wins. */
static const char *find_id(const mrpc_doc *doc, uint32_t params,
                           const char *member, size_t *len) {
  if (params == MRPC_NO_NODE || doc->nodes[params].type != MRPC_JSON_OBJECT)
    return NULL;
  uint32_t found = MRPC_NO_NODE, key = params + 1;
  for (uint32_t left = doc->nodes[params].size; left; left--) {
    if (mrpc_doc_string_is(doc, key, member, strlen(member))) found = key + 1;
    key = mrpc_doc_next(doc, key + 1);
  }
  bool is_id = found != MRPC_NO_NODE && mrpc_doc_is_name(doc, found);
  return is_id ? mrpc_doc_raw(doc, found, len) : NULL;
}

mrpc_call *mrpc_cancel_find(const mrpc_peer *peer, const char *id, size_t len) {
  for (mrpc_link *at = peer->calls.next; at != &peer->calls; at = at->next) {
    mrpc_call *call = mrpc_list_of(at, mrpc_call, in_peer);
    if (call->is_notification || call->is_cancelled) continue;
    if (mrpc_id_equal(call->id, call->id_len, id, len)) return call;
  }
  return NULL;
}

/* Marks the first entry of the batch, among those not yet run, that is a
 * request with this id. */
static bool mark_entry(const mrpc_batch *batch, const char *id, size_t len,
                       uint16_t mark) {
  const mrpc_doc *doc = &batch->loan->doc;
  for (uint32_t i = batch->id_count - batch->left; i < batch->id_count; i++) {
    uint32_t node = batch->ids[i];
    if (node == MRPC_NO_NODE || doc->nodes[node].spare) continue;
    size_t own_len;
    const char *own = mrpc_envelope_id(doc, node, &own_len);
    if (!mrpc_id_equal(own, own_len, id, len)) continue;
    doc->nodes[node].spare = mark;
    return true;
  }
  return false;
}

static void mark_queued(mrpc_peer *peer, const char *id, size_t len,
                        uint16_t mark) {
  for (mrpc_link *at = peer->queued.next; at != &peer->queued; at = at->next)
    if (mark_entry(mrpc_list_of(at, mrpc_batch, link), id, len, mark)) return;
}

bool mrpc_cancel_is(const mrpc_doc *doc, uint32_t method) {
  for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
    if (mrpc_doc_string_is(doc, method, contracts[i].method,
                           strlen(contracts[i].method)))
      return true;
  return false;
}

bool mrpc_cancel_take(mrpc_peer *peer, const mrpc_doc *doc, uint32_t params,
                      const char *method, size_t len) {
  const contract *c = find_contract(method, len);
  if (!c) return false;
  peer->says_cancelled |= c->is_silent;
  size_t id_len;
  const char *id = find_id(doc, params, c->member, &id_len);
  if (!id) return true;
  mrpc_call *call = mrpc_cancel_find(peer, id, id_len);
  if (call)
    mrpc_call_cancel(call, c->is_silent);
  else
    mark_queued(peer, id, id_len,
                c->is_silent ? MRPC_ENTRY_SILENCED : MRPC_ENTRY_CANCELLED);
  return true;
}
