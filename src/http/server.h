/* SPDX-License-Identifier: MIT
 *
 * The state of one HTTP connection, shared by the files that read requests
 * (server.c), that answer them (answer.c), and that keep the connection
 * (connection.c). */
#ifndef MRPC_HTTP_SERVER_H
#define MRPC_HTTP_SERVER_H

#include <llhttp.h>

#include "framing/framing.h"
#include "http/check.h"
#include "http/fields.h"
#include "http/order.h"
#include "http/piece.h"

/* Bytes of a header block that is remembered. */
enum { MRPC_HTTP_LAST_MAX = 512 };

typedef enum mrpc_http_phase {
  MRPC_HTTP_IDLE, /* between requests */
  MRPC_HTTP_HEAD, /* inside of a header block */
  MRPC_HTTP_BODY  /* inside of a body, or just before the end of none */
} mrpc_http_phase;

typedef struct mrpc_http_server {
  mrpc_framing base;
  llhttp_t parser;
  mrpc_http_config config;
  mrpc_http_rules rules;
  mrpc_http_order order;
  size_t header_max;   /* limits.header */
  double header_time;  /* seconds */
  double body_time;    /* seconds */
  uint32_t most_slots; /* requests that may wait for their answers */

  mrpc_http_phase phase;
  bool is_resumed;     /* the parser has a step to do without more bytes */
  bool is_stopped;     /* what else arrives is dropped */
  bool owes_continue;  /* the client waits for 100 before it sends a body */
  bool is_too_long;    /* the body passed limits.message */
  bool is_nomem;       /* a callback of the parser found no memory */
  char before_last[2]; /* the last bytes of a chunked body */
  const char *trailer; /* where it begins, in the bytes at hand, or goes on */

  /* The request that is being read. */
  mrpc_piece head;           /* its header block */
  mrpc_piece body;           /* of a call */
  uint64_t length;           /* the announced Content-Length */
  uint64_t body_len;         /* bytes of body so far, kept or not */
  uint64_t wire_len;         /* bytes so far that carried the body */
  uint64_t token;            /* its place in `order`, from BODY on */
  mrpc_http_verdict verdict; /* what is to become of it */
  mrpc_http_fields fields;   /* made when asked for */

  /* The last header block that was found good in every respect, and where
   * the digits of its Content-Length stand. */
  mrpc_buf last;
  size_t digits_at;
  size_t digits_len;
  const char *last_origin; /* its Access-Control-Allow-Origin */

  uint32_t told; /* a bit for each status of a refusal that was logged */

  uint64_t deadline;  /* of the head or body; UINT64_MAX: none */
  uint64_t idle_at;   /* when to look whether the connection idles */
  uint64_t idle_step; /* a quarter of limits.idle_time */
  int idle_count;     /* looks that found nothing new */
  bool is_active;     /* a request began or was answered since */
} mrpc_http_server;

/* server.c */
extern const llhttp_settings_t mrpc_http_settings;
int mrpc_http_recv(mrpc_framing *f, const char *bytes, size_t len,
                   size_t *consumed, mrpc_message *msg);
int mrpc_http_eof(mrpc_framing *f, mrpc_message *msg);

/* answer.c */
int mrpc_http_put(mrpc_framing *f, uint64_t token, const char *bytes,
                  size_t len, mrpc_outcome outcome);
int mrpc_http_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome);
/* Answers the request `token` with s->verdict. */
int mrpc_http_put_verdict(mrpc_http_server *s, uint64_t token);
/* Answers what is being read with s->verdict, behind all earlier answers, and
 * ends the reading. MRPC_EPROTO when nothing waits before it, else
 * MRPC_PARTIAL; MRPC_ENOMEM. */
int mrpc_http_break_off(mrpc_http_server *s);
/* The same with a status and a constant phrase. */
int mrpc_http_refuse(mrpc_http_server *s, int status, const char *what);
/* Ends the connection at once. */
int mrpc_http_die(mrpc_http_server *s);
/* Sends 100 Continue as soon as it is this request's turn. */
void mrpc_http_continue(mrpc_http_server *s);

#endif
