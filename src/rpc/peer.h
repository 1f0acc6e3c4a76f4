/* SPDX-License-Identifier: MIT
 *
 * What the layers above see of a peer beyond moonrpc.h. */
#ifndef MRPC_RPC_PEER_H
#define MRPC_RPC_PEER_H

#include "framing/framing.h"
#include "json/document.h"
#include "rpc/dispatch.h"

/* Counters of one peer; the host adds them up for rpc.status. */
typedef struct mrpc_peer_stats {
  uint64_t requests; /* calls in that want an answer */
  uint64_t notifications;
  uint64_t errors; /* answers that are errors */
  uint64_t calls_out;
  uint64_t stray_answers; /* responses that matched no call of ours */
  uint32_t in_flight;     /* calls in, not yet answered */
  uint32_t pending;       /* calls out, not yet answered */
  size_t held;            /* bytes of output not yet sent */
} mrpc_peer_stats;

void mrpc_peer_get_stats(const mrpc_peer *peer, mrpc_peer_stats *out);
const char *mrpc_peer_transport(const mrpc_peer *peer);
const char *mrpc_peer_address(const mrpc_peer *peer);
uint64_t mrpc_peer_id(const mrpc_peer *peer); /* unique in its dispatch */
mrpc_framing *mrpc_peer_framing(const mrpc_peer *peer);
/* As mrpc_peer_drop, and what that lets go on is cancelled too. */
void mrpc_peer_abandon(mrpc_peer *peer);
/* Is the connection dead, by whoever's word? */
bool mrpc_peer_is_dropped(const mrpc_peer *peer);
/* Writes why the conversation can't go on, as far as its framing knows; "" when
 * it doesn't. MRPC_REASON_SIZE bytes are enough. */
void mrpc_peer_reason(const mrpc_peer *peer, char *text, size_t size);
/* Seconds for answers after the end of its sending: limits.half_closed. */
double mrpc_peer_half_closed(const mrpc_peer *peer);
/* Can a message of our own be sent to it now? */
bool mrpc_peer_can_push(const mrpc_peer *peer);
/* Is a handshake of ours under way, or has it failed? */
bool mrpc_peer_is_opening(const mrpc_peer *peer);
/* Is more held for it than limits.output? */
bool mrpc_peer_is_choked(const mrpc_peer *peer);
/* Can it be called, and will the answer be read? */
bool mrpc_peer_can_call(const mrpc_peer *peer);
/* Is the other side at work on what nobody waits for any more, and can't be
 * told but by the connection's end (HTTP)? */
bool mrpc_peer_is_moot(const mrpc_peer *peer);
/* As mrpc_peer_call, for a notification to a peer that answers what it has
 * taken (HTTP): `fn` is called then, with null. */
int mrpc_peer_tell(mrpc_peer *peer, const char *method, const char *params,
                   double timeout, mrpc_answer_fn fn, void *ud, int64_t *id);
/* Sends a whole JSON message of ours as it is (encoded once, for many peers).
 * MRPC_ESTATE where the transport can't carry it, MRPC_ELIMIT as for
 * mrpc_peer_notify. */
int mrpc_peer_push(mrpc_peer *peer, const char *json, size_t len);
/* The header fields of the handshake that opened the conversation (WebSocket),
 * ended by a NULL name; NULL where there was none. */
const mrpc_header_field *mrpc_peer_headers(const mrpc_peer *peer);
/* A place for the watcher of the dispatch (mrpc_dispatch_watch). */
void *mrpc_peer_script(const mrpc_peer *peer);
void mrpc_peer_set_script(mrpc_peer *peer, void *script);
/* While an mrpc_answer_fn runs: the document and node of the answer's value;
 * NULL when there is none (a timeout, a lost peer). */
const mrpc_doc *mrpc_peer_answer_doc(const mrpc_peer *peer, uint32_t *node);

#endif
