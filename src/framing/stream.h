/* SPDX-License-Identifier: MIT
 *
 * What the line and the header framing have in common: one struct, so that
 * the framing that detects which of both it is becomes it in place. Only for
 * the files of this layer and for those who need a framing with other rules
 * than the public constructors give. */
#ifndef MRPC_FRAMING_STREAM_H
#define MRPC_FRAMING_STREAM_H

#include "framing/framing.h"

/* What a line framing refuses beyond its limit, so that no browser can post
 * into a socket. A pipe from a parent process needs neither; one from a child,
 * into which libraries of its own may print, is noisy. */
enum {
  MRPC_LINE_FIRST_JSON = 1, /* the first line begins as JSON does */
  MRPC_LINE_NO_HTTP = 2,    /* no line looks like an HTTP request line */
  MRPC_LINE_GUARDED = 3,    /* both; what moonrpc.h's constructors use */
  MRPC_LINE_NOISY = 4,      /* lines that don't begin as messages do are none */
  MRPC_LINE_PLAIN = 0
};

typedef enum mrpc_stream_state {
  MRPC_STREAM_HEAD, /* in a header block, or before one; line: in a line */
  MRPC_STREAM_BODY,
  MRPC_STREAM_SKIP /* a message that is too long passes by */
} mrpc_stream_state;

typedef struct mrpc_stream {
  mrpc_framing base;
  unsigned rules;     /* MRPC_LINE_* */
  size_t message_max; /* limits.message */
  size_t header_max;  /* limits.header */
  double header_time; /* seconds */
  double body_time;   /* seconds */
  uint64_t deadline;  /* for what is incomplete; UINT64_MAX: nothing is */
  mrpc_buf part;      /* what was received of it, or the last message */
  bool given;         /* `part` is the message that recv handed out */
  bool started;       /* line: the first line has begun */
  bool has_length;    /* header: a Content-Length was read */
  int failed;         /* sticky result, or MRPC_OK */
  mrpc_stream_state state;
  size_t block;    /* header: bytes of the lines of this block */
  uint64_t length; /* header: the announced length */
  uint64_t left;   /* header: bytes of the body to come */
} mrpc_stream;

extern const mrpc_framing_vt mrpc_line_vt;
extern const mrpc_framing_vt mrpc_header_vt;
extern const mrpc_framing_vt mrpc_auto_vt;

/* A framing of one of the tables above. `limits` may be NULL. */
int mrpc_stream_new(mrpc_env *env, const mrpc_limits *limits,
                    const mrpc_framing_vt *vt, unsigned rules,
                    mrpc_framing **out);

/* Parts of the tables. */
void mrpc_stream_free(mrpc_framing *f);
uint64_t mrpc_stream_deadline(const mrpc_framing *f);
void mrpc_stream_tick(mrpc_framing *f, uint64_t now);
/* Replies go out as they come, in the way of push. */
int mrpc_stream_put(mrpc_framing *f, uint64_t token, const char *bytes,
                    size_t len, mrpc_outcome outcome);
int mrpc_stream_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome);
bool mrpc_stream_can_push(const mrpc_framing *f);

/* Starts a recv: the message that the last one gave is over. */
void mrpc_stream_begin(mrpc_stream *s);
/* Fails for good; answers `code`. */
int mrpc_stream_fail(mrpc_stream *s, int code, const char *why);
/* Sets the deadline of what is incomplete, unless it runs already. */
void mrpc_stream_expect(mrpc_stream *s, double seconds);
/* Ends an addition to base.out that began at `mark`: all or nothing. */
int mrpc_stream_added(mrpc_framing *f, size_t mark);

#endif
