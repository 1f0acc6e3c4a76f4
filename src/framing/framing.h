/* SPDX-License-Identifier: MIT
 *
 * The wall between bytes and messages. A framing cuts what arrives into
 * messages and wraps what leaves; it knows bytes, never JSON. It keeps its own
 * scan state and at most one message's bytes, so that no byte is read twice.
 *
 * Each message comes with a token. Exactly one put or none answers it, at any
 * later time; a framing that must order its answers (HTTP) holds early ones
 * back until it is their turn, the others ignore the token. */
#ifndef MRPC_FRAMING_FRAMING_H
#define MRPC_FRAMING_FRAMING_H

#include "base/buf.h"
#include "base/env.h"

typedef struct mrpc_message {
  const char *bytes; /* valid until the next recv or eof of this framing */
  size_t len;
  uint64_t token;
} mrpc_message;

/* Room for what a framing explains. */
enum { MRPC_REASON_SIZE = 320 };

/* What became of a message, for framings that show it (HTTP by status). */
typedef enum mrpc_outcome {
  MRPC_OUTCOME_ANSWERED, /* any JSON-RPC reply, an error included: 200 */
  MRPC_OUTCOME_SILENT,   /* only notifications: 204, configurable */
  MRPC_OUTCOME_DENIED,   /* 401 */
  MRPC_OUTCOME_LIMITED,  /* 429 */
  MRPC_OUTCOME_DRAINING  /* 503 */
} mrpc_outcome;

typedef struct mrpc_header_field {
  const char *name; /* lower case */
  const char *value;
} mrpc_header_field;

typedef struct mrpc_framing_vt {
  const char *name; /* "line", "header", "http", ... */
  bool is_exchange; /* what is pushed stands for itself: nothing that is said
                       later reaches the one who works on it (HTTP) */
  bool keeps_notes; /* a notification has had its answer (HTTP's 204), so that
                       the end of the connection doesn't cancel it */
  /* What the peer's transport is called from now on; NULL: as before. */
  const char *transport;
  /* A reply is its bytes and this one, which must not stand among them: the
   * peer may write both behind what is in `out` instead of calling put. 0: only
   * put knows how. */
  char end;

  /* Takes bytes, says how many it consumed. MRPC_OK: `msg` is a message (the
   * rest of the bytes waits for the next call). MRPC_PARTIAL: all consumed,
   * no message yet. MRPC_ELIMIT: a message passed limits.message; it is
   * skipped, msg->token wants an answer, go on. MRPC_ETYPE: `msg` is none of
   * this conversation: nobody answers it, go on. MRPC_ESYNTAX or MRPC_EPROTO:
   * the stream can't be followed (f->error says why); a framing that answers
   * such faults itself (HTTP) has done so and answers MRPC_EPROTO; of
   * MRPC_ESYNTAX the peer tells the other side in JSON. MRPC_ECLOSED: the
   * other side has ended the conversation; its calls are cancelled, what is in
   * `out` is still sent. MRPC_ENOMEM ends the peer. All are sticky. With `len`
   * 0 it only lets the last message go.
   *
   * MRPC_PARTIAL with f->next set: the conversation goes on in that framing
   * (an HTTP upgrade), which takes the bytes that weren't consumed; what is in
   * `out` is sent before it says anything. */
  int (*recv)(mrpc_framing *f, const char *bytes, size_t len, size_t *consumed,
              mrpc_message *msg);
  /* The input has ended: MRPC_OK with a last message, MRPC_PARTIAL when there
   * is none, MRPC_ESYNTAX or MRPC_EPROTO when it broke off inside one,
   * MRPC_ECLOSED where the end of input is the end of the conversation. */
  int (*eof)(mrpc_framing *f, mrpc_message *msg);

  /* Appends one reply to f->out. MRPC_OK or MRPC_ENOMEM. */
  int (*put)(mrpc_framing *f, uint64_t token, const char *bytes, size_t len,
             mrpc_outcome outcome);
  /* The message needs no reply. */
  int (*none)(mrpc_framing *f, uint64_t token, mrpc_outcome outcome);
  /* Appends a message of our own (a request, a notification). NULL where the
   * transport can't carry it, or while can_push says no. */
  int (*push)(mrpc_framing *f, const char *bytes, size_t len);
  bool (*can_push)(const mrpc_framing *f);

  /* When tick wants to be called, UINT64_MAX for never. May be NULL. Cheap:
   * asked after each recv and put. */
  uint64_t (*deadline)(const mrpc_framing *f);
  /* A deadline has passed: answer if the protocol has words for it, and set
   * f->closing. */
  void (*tick)(mrpc_framing *f, uint64_t now);
  /* No new messages will be taken: say so if the protocol can (Connection:
   * close, 503), and set f->closing behind the last answer that is owed. NULL:
   * it may be closed whenever no request is in flight. */
  void (*drain)(mrpc_framing *f);
  /* The same from our own will, with a reason in UTF-8, which may be NULL, for
   * the other side to see. It may go on listening until f->closing is set;
   * messages that it gives then are dropped. NULL: there is no way to say it.
   */
  void (*close)(mrpc_framing *f, const char *reason);

  /* Header fields of the request that recv gave last, NULL-name-terminated;
   * NULL where there are none. To be asked for while its message is valid, or
   * copied. May be NULL. */
  const mrpc_header_field *(*headers)(const mrpc_framing *f);
  /* Adds header fields of ours, whole lines each with its CRLF, to all that it
   * will ask, before it was given anything. MRPC_ENOMEM. NULL: it has none. */
  int (*add_headers)(mrpc_framing *f, const char *lines, size_t len);
  /* Writes why the conversation can't go on, for people, with what the other
   * side said of that; nothing when it said nothing. NULL: it can't say it. */
  void (*explain)(const mrpc_framing *f, char *text, size_t size);

  void (*free)(mrpc_framing *f);
} mrpc_framing_vt;

/* The part that the peer sees; each framing's struct begins with it. */
struct mrpc_framing {
  const mrpc_framing_vt *vt;
  mrpc_env *env;
  mrpc_buf out;       /* what is to be sent; the peer drains it */
  uint64_t owed;      /* an exchange: requests of ours without an answer */
  size_t held;        /* bytes of answers held back for their turn */
  bool closing;       /* nothing more is read; close when `out` is sent */
  bool is_dead;       /* and the other side is gone: its calls are cancelled */
  bool is_unread;     /* set by the peer for tick: it stopped reading */
  bool is_at_work;    /* the same: calls are in flight */
  bool is_told;       /* somebody else tells why recv fails; a log needn't */
  bool is_opening;    /* a handshake of ours is under way: what is pushed waits,
                         until `next` goes on */
  const char *error;  /* why recv or eof failed; a constant phrase */
  const char *peer;   /* the other side's address, for the log; NULL: not known;
                         set by the peer */
  mrpc_framing *next; /* how the conversation goes on; NULL: as it is */
};

#endif
