/* SPDX-License-Identifier: MIT
 *
 * What becomes of a request, decided when its header block is complete and
 * before its body is read. It knows the endpoint and the rules, not how
 * answers are sent. */
#ifndef MRPC_HTTP_CHECK_H
#define MRPC_HTTP_CHECK_H

#include "http/scan.h"
#include "moonrpc.h"

typedef enum mrpc_http_fate {
  MRPC_HTTP_CALL,     /* its body is a message */
  MRPC_HTTP_UPGRADE,  /* the conversation goes on as WebSocket */
  MRPC_HTTP_ANSWER,   /* answered here, when its body has been read */
  MRPC_HTTP_BREAK_OFF /* answered at once; the connection closes */
} mrpc_http_fate;

enum { MRPC_HTTP_GOT = 64 };

typedef struct mrpc_http_verdict {
  mrpc_http_fate fate;
  int status;                 /* of the answer; 0 for a call */
  const char *what;           /* constant phrase: which rule it broke */
  const char *fields;         /* constant header lines of the answer, or NULL */
  const char *origin;         /* for Access-Control-Allow-Origin, or NULL */
  bool is_preflight;          /* of an allowed origin */
  const char *const *headers; /* of the config, for its answer; may be NULL */
  uint32_t limit; /* the limit that struck, to be shown; 0: none did */
  bool has_got;
  uint8_t got_len;
  char got[MRPC_HTTP_GOT]; /* what stood there instead, printable */
} mrpc_http_verdict;

typedef struct mrpc_http_rules {
  const mrpc_http_config *config; /* its path isn't NULL */
  uint32_t message_max;           /* limits.message */
  bool is_draining;
} mrpc_http_rules;

/* `length` is the announced Content-Length, 0 when there is none. */
void mrpc_http_check(const mrpc_http_rules *rules, const mrpc_http_head *head,
                     uint64_t length, mrpc_http_verdict *out);

#endif
