/* SPDX-License-Identifier: MIT
 *
 * The structs that the files of this layer share, and what they ask of a peer;
 * no other layer includes it. Who holds what:
 *
 *   dispatch -- pools of free calls, batches and documents
 *   peer     -- batches: one a message of which requests are unanswered
 *            -- calls: all that have started and aren't answered
 *            -- pending: calls of ours that the other side hasn't answered
 *   batch    -- order: requests whose replies aren't in `reply` yet
 *
 * A call outlives its peer and its batch when it must: then both pointers are
 * NULL, it belongs to nobody but the one who will answer it, and the answer
 * is thrown away. */
#ifndef MRPC_RPC_CORE_H
#define MRPC_RPC_CORE_H

#include "base/buf.h"
#include "base/hint.h"
#include "base/list.h"
#include "base/map.h"
#include "json/repeat.h"
#include "rpc/call.h"
#include "rpc/envelope.h"
#include "rpc/peer.h"

typedef struct mrpc_batch mrpc_batch;
typedef struct mrpc_headers mrpc_headers;

/* A document that is on loan from the pool, or free in it. */
typedef struct mrpc_loan {
  mrpc_doc doc;
  mrpc_repeat before;     /* what `doc` was made of */
  mrpc_envelope envelope; /* of its root, a good one, if `is_read` */
  bool is_read;
  struct mrpc_loan *next_free;
} mrpc_loan;

struct mrpc_dispatch {
  mrpc_env *env;
  mrpc_map native;
  const mrpc_map *scripted; /* the runtime's, or `empty` */
  mrpc_map empty;
  const mrpc_method *last; /* that was found, until the maps change */
  mrpc_method fallback;    /* for what isn't found; `start` NULL: none */
  const char *hint;        /* why there are no methods; NULL: there are */
  mrpc_peer_watch watch;
  void *watch_ud;
  mrpc_error_codes codes; /* zero: the code is sent as it is */
  mrpc_buf scratch;       /* for a message of ours that is written */
  mrpc_call *free_calls;
  mrpc_batch *free_batches;
  mrpc_loan *free_loans;
  uint32_t free_call_count; /* of what the pools hold, which is bounded */
  uint32_t free_batch_count;
  uint32_t free_loan_count;
  uint64_t last_peer; /* id of the newest peer */
  size_t users;       /* its owner, peers and calls; the last one frees it */
};

enum {
  MRPC_OWN_ID = 40,        /* longest id that is kept without allocation */
  MRPC_ENTRY_RESERVE = 160 /* room for an error reply; see batch.c */
};

struct mrpc_call {
  mrpc_link in_batch; /* in batch->order; a notification isn't */
  mrpc_link in_peer;  /* in peer->calls */
  mrpc_peer *peer;    /* NULL: it has gone, nobody waits for the answer */
  mrpc_batch *batch;  /* NULL: no answer is sent */
  mrpc_dispatch *dispatch;
  const mrpc_doc *doc; /* these five only until start returns */
  const char *method;
  size_t method_len;
  uint32_t params;
  bool *ended;    /* set when the call ends inside its start */
  const char *id; /* raw; in the message, later in own_id or allocated */
  size_t id_len;
  mrpc_call_fn on_cancel;
  void *cancel_ud;
  mrpc_buf *open; /* the buffer between open_result and close_result */
  size_t mark;    /* where the answer begins in it */
  mrpc_buf stash; /* an answer that waits for those before it */
  mrpc_call *next_free;
  bool is_notification;
  bool is_cancelled;
  bool is_done; /* answered into `stash` */
  bool is_meta; /* the token stood in _meta */
  uint8_t owns; /* what is allocated, see keep.h; texts with a byte more */
  char *token;  /* raw; these three only where `owns` says so */
  size_t token_len;
  mrpc_headers *headers;
  char own_id[MRPC_OWN_ID];
};

struct mrpc_batch {
  mrpc_link link; /* in peer->batches, or peer->queued while entries wait */
  mrpc_peer *peer;
  mrpc_link order; /* requests in their order: waiting, or done and stashed */
  mrpc_loan *loan; /* the parsed message, while entries are left */
  char *text;      /* own copy of it, once entries had to wait */
  size_t text_len;
  uint32_t *ids; /* nodes of the ids of the entries left then, with it */
  uint32_t id_count;
  mrpc_headers *headers; /* once a call keeps them, or it had to queue */
  uint64_t token;        /* of the framing */
  uint32_t next;         /* node of the next entry */
  uint32_t left;         /* entries not yet read */
  uint32_t waiting;      /* requests in `order` that have no answer yet */
  size_t stashed;        /* bytes in the stashes */
  size_t bound;          /* of the whole reply */
  mrpc_buf reply;
  mrpc_batch *next_free;
  bool is_array;
  bool is_placed;   /* the only answer stands in the output, not in `reply` */
  bool is_running;  /* its loop is on the stack */
  bool has_started; /* a method was started */
  bool is_refused;  /* an entry was refused since the peer drains */
  bool is_behind;   /* a notification that queues; see batch.c */
};

/* What a peer is warned of once; later it is a detail. */
typedef enum mrpc_warning {
  MRPC_WARN_UNKNOWN_ID, /* an answer to no call of ours */
  MRPC_WARN_LATE,       /* one to a call that has ended before */
  MRPC_WARN_MALFORMED,  /* an answer that is none */
  MRPC_WARN_NULL_ID,    /* an answer without an id */
  MRPC_WARN_BUSY,       /* more calls than may be in flight */
  MRPC_WARN_NOISE       /* what isn't of the conversation */
} mrpc_warning;

struct mrpc_peer {
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  mrpc_framing *framing;
  mrpc_limits limits;
  const char *transport;
  char *address; /* owned */
  size_t address_len;
  mrpc_peer_fn on_wake;
  void *ud;
  void *script; /* of the runtime */
  uint64_t id;

  mrpc_buf rest;    /* received, and not taken yet since the peer is held */
  size_t rest_at;   /* how much of it is taken */
  mrpc_buf sending; /* what output shows; framing->out gathers meanwhile */
  size_t sent;      /* how much of it is sent */
  mrpc_buf batch;   /* of our calls, while it is gathered; else empty */

  mrpc_link batches;
  mrpc_link queued;
  mrpc_link calls;
  mrpc_map pending;           /* by the eight bytes of their ids */
  int64_t last_id;            /* of our calls */
  const mrpc_doc *answer_doc; /* while an answer is delivered */
  uint32_t answer_node;
  mrpc_peer_stats stats;
  size_t kept;     /* bytes that calls in flight have allocated; see keep.c */
  size_t behind;   /* bytes of the notifications that queue */
  unsigned warned; /* a bit for each mrpc_warning that was logged */

  mrpc_timer timer;  /* the earliest of these; always started */
  uint64_t write_at; /* output must have moved */
  uint64_t close_at; /* the last answers must be out */
  bool is_due;       /* there is something that was put off */

  int failed;   /* MRPC_OK or the fatal code that recv gives */
  bool explain; /* error objects tell details */
  bool reject_duplicate_ids;
  bool is_busy;    /* recv, eof, the timer or end is on the stack */
  bool is_waking;  /* on_wake is */
  bool has_news;   /* output that the embedder doesn't know of */
  bool is_fresh;   /* its watcher may have to learn that it can be spoken to */
  bool is_open;    /* he has learned it */
  bool is_closing; /* mrpc_peer_close was called */
  bool says_cancelled; /* it cancels by notifications/cancelled */
  bool is_draining;
  bool is_gathering; /* what we say goes into `batch` */
  bool is_choked;    /* held output passed its limit */
  bool is_held;      /* reading was stopped by a limit */
  bool has_eof;      /* the other side has ended its input */
  bool is_read;      /* and all of it was taken; or it can't be followed */
  uint32_t notices;  /* notifications whose taking is waited for */
  bool is_moot;      /* an exchange: a call of ours was given up unanswered */
  bool is_dropped;   /* the connection is dead: no output either */
  bool is_abandoned; /* nothing at all goes on */
  bool is_lost;      /* nothing is taken or answered any more; ends soon */
  bool is_over;      /* everything was cancelled and failed, but for what goes
                        on without the connection */
};

/* Of peer.c and life.c. */

/* Are as many calls in flight as may be? What they keep is bounded as output
 * is: an id is output to come. */
static inline bool mrpc_peer_is_full(const mrpc_peer *peer) {
  return peer->stats.in_flight >= peer->limits.in_flight ||
         peer->kept > peer->limits.output;
}

/* Gives a reply to the framing; `len` 0 is none. mrpc_peer_changed follows. */
void mrpc_peer_put(mrpc_peer *peer, uint64_t token, const char *bytes,
                   size_t len, mrpc_outcome outcome);
/* The same for a reply that was written into the framing's output. */
void mrpc_peer_added(mrpc_peer *peer);
/* Ends the conversation for lack of memory. The calls are told later, never
 * from here: the caller may be a handler. */
void mrpc_peer_lose(mrpc_peer *peer);
/* A call has ended or output was added: tells the embedder, unless he is the
 * one who called, and lets the timer go on with what a limit held back. */
void mrpc_peer_changed(mrpc_peer *peer);
/* MRPC_LOG_WARN for the first of its kind, then MRPC_LOG_DEBUG. */
int mrpc_peer_warn_level(mrpc_peer *peer, mrpc_warning kind);
/* Logs what the other side does wrong, the first of its kind as a warning. */
void mrpc_peer_warn(mrpc_peer *peer, mrpc_warning kind, const char *what,
                    const char *why);
/* Runs on_wake, unless the embedder is the one who called. */
void mrpc_peer_wake(mrpc_peer *peer);
/* Runs it whoever called, so that output is taken now. */
void mrpc_peer_ask(mrpc_peer *peer);
/* Forgets what was received and not taken. */
void mrpc_peer_clear_rest(mrpc_peer *peer);
/* Takes what was held back, as far as the limits let it. */
void mrpc_peer_pump(mrpc_peer *peer);
/* Cancels all calls in, but for what goes on without the connection, fails all
 * calls out. What stands in the output stays. */
void mrpc_peer_end(mrpc_peer *peer);

/* Of open.c. */

/* The peer has a new framing: its watcher, if it has one and doesn't know the
 * peer yet, learns of it as soon as something can be pushed. */
void mrpc_open_arm(mrpc_peer *peer);
/* Tells the watcher if it is time. */
void mrpc_open_try(mrpc_peer *peer);
/* Tells him that a peer which he knows has ended. */
void mrpc_open_end(mrpc_peer *peer);

/* Of output.c. */

/* May something be said unasked? The embedder is asked to take what is over
 * the limit first. MRPC_ELIMIT. */
int mrpc_output_make_room(mrpc_peer *peer);
/* Sends a message of ours even beyond the limit: for what is bounded by
 * itself. MRPC_ESTATE, MRPC_ENOMEM. */
int mrpc_output_push(mrpc_peer *peer, const char *json, size_t len);

/* Bytes of output that aren't sent yet; held counts those too that the framing
 * keeps back until it is their turn. */
size_t mrpc_output_waiting(const mrpc_peer *peer);
size_t mrpc_output_held(const mrpc_peer *peer);
/* The framing may have said something by itself. */
void mrpc_output_check(mrpc_peer *peer);

/* Of call.c. */

/* A call in flight; a request stands last in the batch's order, with the id at
 * node `id` of the batch's document. NULL: out of memory. */
mrpc_call *mrpc_call_new(mrpc_batch *batch, uint32_t id, bool is_notification);
/* Its start has returned and it isn't answered: keeps what it needs. */
void mrpc_call_park(mrpc_call *call);
/* Marks it and runs its on_cancel. A request may be cancelled silently, once:
 * then it is not answered. */
void mrpc_call_cancel(mrpc_call *call, bool is_silent);

/* Of deadline.c. */

/* Starts the one timer. MRPC_ENOMEM. */
int mrpc_deadline_open(mrpc_peer *peer);
void mrpc_deadline_close(mrpc_peer *peer);
/* Some deadline may have become earlier. */
void mrpc_deadline_update(mrpc_peer *peer);

#endif
