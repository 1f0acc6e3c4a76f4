/* SPDX-License-Identifier: MIT
 *
 * One connection: moves bytes between a libuv stream and a peer, and closes
 * when the peer is done. It never looks into the bytes.
 *
 * A readiness event costs one read, one recv and one write: what one read
 * gave answers to leaves at once and together. What the socket doesn't take
 * stays in the peer, which is told when it has left. */
#ifndef MRPC_TRANSPORT_STREAM_H
#define MRPC_TRANSPORT_STREAM_H

#include <uv.h>

#include "transport/loop.h"

typedef struct mrpc_conn mrpc_conn;
typedef void (*mrpc_conn_fn)(mrpc_conn *stream, void *ud);

struct mrpc_conn {
  mrpc_link link;  /* in loop->streams */
  mrpc_link woken; /* in loop->woken, or alone */
  mrpc_loop *loop;
  mrpc_peer *peer;  /* owned */
  uv_stream_t *in;  /* both are the socket, or two ends of stdio; NULL: a */
  uv_stream_t *out; /* regular file, which can't be polled */
  int in_fd;        /* the file behind a NULL, else -1 */
  int out_fd;
  uint32_t handles;                   /* libuv handles still open */
  bool (*on_lost)(mrpc_conn *stream); /* the other side has gone; true: the
                              stream stays as it is until its owner, who wants
                              to know why, calls end or close. May be NULL */
  mrpc_conn_fn on_close;              /* the peer is still there; may be NULL */
  mrpc_conn_fn on_free; /* the handles are closed: give back what the
                             struct stands in */
  void *ud;
  mrpc_timer timer; /* of the linger, or the next look for a hang-up */
  uint64_t left_at; /* when who sends no more, and isn't read, is given up;
                       0: nothing is known of an end */
  size_t writing;   /* bytes that libuv holds a pointer to */
  bool reading;
  bool eof;       /* the other side has ended its sending */
  bool failed;    /* the peer can't follow the bytes any more */
  bool broken;    /* a write has failed */
  bool lost;      /* the peer knows it, too */
  bool draining;  /* the end comes from us */
  bool finishing; /* all is said; the sending side is being shut */
  bool lingering; /* reads and throws away, so that no reset eats the end */
  bool stays;     /* a drain of all streams passes it over */
  bool resets;    /* on_close may set it: TCP ends by a reset */
  bool closing;   /* nothing more happens but on_free */
  union {
    uv_write_t write;
    uv_shutdown_t shutdown;
  } req;
  union {
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
    uv_idle_t idle; /* reads a file chunk by chunk */
  } handle;
};

/* A stream whose handle is an initialised but unconnected TCP or Unix socket.
 * It's closed with mrpc_conn_close, opened or not. */
int mrpc_conn_new(mrpc_loop *loop, bool is_tcp, mrpc_conn **out);
/* For those that embed the struct: all zero but in, out, in_fd, out_fd,
 * handles and on_free. */
void mrpc_conn_join(mrpc_conn *stream, mrpc_loop *loop);

/* Starts the conversation; the stream owns the peer from here on. The peer's
 * configuration must name mrpc_conn_wake and the stream. */
void mrpc_conn_open(mrpc_conn *stream, mrpc_peer *peer);
/* The peer's on_wake. */
void mrpc_conn_wake(mrpc_peer *peer, void *stream);
/* Sends, reads on or stops, closes: whatever the peer wants now. */
void mrpc_conn_settle(mrpc_conn *stream);
/* Takes no new requests; closes when those in flight are answered. */
void mrpc_conn_drain(mrpc_conn *stream);
/* Goes on with what on_lost has held: EOF, or a dead stream. */
void mrpc_conn_end(mrpc_conn *stream);
/* Ends the connection now. Calls in from it are cancelled. */
void mrpc_conn_close(mrpc_conn *stream);
/* The loop's stream of this peer, or NULL. */
mrpc_conn *mrpc_conn_find(mrpc_loop *loop, const mrpc_peer *peer);

/* Bytes from a file end of the stream; len 0: its end; negative: an error. */
void mrpc_conn_feed(mrpc_conn *stream, const char *bytes, ssize_t len);

/* Of the other end: "127.0.0.1:5000", "[::1]:5000", or "" for what has none. */
void mrpc_conn_address(const mrpc_conn *stream, char *out, size_t size);
/* Is it a Unix socket whose other end runs as our own user? */
bool mrpc_conn_is_owner(const mrpc_conn *stream);

#endif
