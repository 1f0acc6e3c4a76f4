/* SPDX-License-Identifier: MIT
 *
 * WebSocket (RFC 6455) as a framing, either side of it, from behind the
 * handshake on: each text message is one message. What a frame is knows wslay,
 * and of plain ones frame.h; this knows what a conversation of frames may be.
 * Shared by the files that read (inbound.c), that write and end (websocket.c),
 * and that shake hands (server.c, wsclient.c). */
#ifndef MRPC_HTTP_WEBSOCKET_H
#define MRPC_HTTP_WEBSOCKET_H

#include <wslay/wslay.h>

#include "framing/framing.h"
#include "http/fields.h"
#include "http/frame.h"
#include "http/utf8.h"

/* RFC 6455 section 7.4.1, as far as we say them. */
enum {
  MRPC_WS_NORMAL = 1000,
  MRPC_WS_GOING_AWAY = 1001,
  MRPC_WS_PROTOCOL = 1002,
  MRPC_WS_UNSUPPORTED = 1003,
  MRPC_WS_NOT_UTF8 = 1007,
  MRPC_WS_POLICY = 1008,
  MRPC_WS_TOO_BIG = 1009
};

/* Keys that mask a client's frames: a stream that only we can foretell. */
typedef struct mrpc_ws_mask {
  uint8_t secret[16];
  uint64_t count;
} mrpc_ws_mask;

typedef struct mrpc_websocket {
  mrpc_framing base;
  wslay_frame_context_ptr frames; /* NULL: it has nothing to read */
  mrpc_ws_mask *mask;             /* NULL: we are the server */
  size_t message_max;             /* limits.message */
  double body_time;               /* seconds for a message to arrive */
  double ping; /* seconds of silence until we ask; negative: never */
  double pong; /* seconds for the answer */
  bool takes_binary;

  /* What recv was given and wslay hasn't been dealt yet. */
  const char *at;
  const char *end;

  /* The frame and the message that are being read. */
  bool in_head;      /* wslay has a part of a frame's head */
  bool in_frame;     /* it has shown one that isn't at its end */
  uint64_t left;     /* bytes of the frame's payload that are to come */
  uint8_t opcode;    /* of the message; 0: between two */
  bool is_binary;    /* the last message was */
  bool is_given;     /* `part` is the message that recv handed out */
  mrpc_utf8 text;    /* state of a text message */
  mrpc_buf part;     /* its bytes so far, when it came in pieces */
  uint64_t deadline; /* for it to be whole; UINT64_MAX: none has begun */
  uint8_t control_len;
  char control[MRPC_WS_CONTROL_MAX + 1]; /* payload of a control frame; of a
                                            Close with a NUL behind it */

  /* The end. */
  int failed;        /* sticky result of recv, or MRPC_OK */
  uint32_t owed;     /* messages that wait for put or none */
  uint16_t heard;    /* code of the other side's Close; 0: none */
  uint16_t farewell; /* code to say when nothing is owed; 0: stays open */
  char *reason;      /* to go with it, or NULL */

  uint64_t alive_at;       /* when to look whether the other side lives */
  bool is_active;          /* it has spoken since the last look */
  bool is_asked;           /* a ping waits for any sign of life */
  mrpc_http_fields fields; /* of the handshake */
} mrpc_websocket;

/* `config` may be NULL. */
int mrpc_websocket_new(mrpc_env *env, const mrpc_limits *limits,
                       const mrpc_websocket_config *config,
                       mrpc_websocket **out);
extern const mrpc_framing_vt mrpc_websocket_vt;

/* Parts of the table, for the client's before its handshake is through. */
void mrpc_websocket_free(mrpc_framing *f);
int mrpc_websocket_push(mrpc_framing *f, const char *bytes, size_t len);
int mrpc_websocket_put(mrpc_framing *f, uint64_t token, const char *bytes,
                       size_t len, mrpc_outcome outcome);
int mrpc_websocket_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome);

/* websocket.c: appends one frame to the output. MRPC_OK or MRPC_ENOMEM. */
int mrpc_websocket_send(mrpc_websocket *w, uint8_t opcode, const char *bytes,
                        size_t len);
/* Says Close and ends the conversation; `code` 0 is none, `reason` may be
 * NULL. */
int mrpc_websocket_say_close(mrpc_websocket *w, uint16_t code,
                             const char *reason);
/* The same for what the other side has done wrong; MRPC_ECLOSED. */
int mrpc_websocket_fail(mrpc_websocket *w, uint16_t code, const char *why);

/* inbound.c */
int mrpc_websocket_recv(mrpc_framing *f, const char *bytes, size_t len,
                        size_t *consumed, mrpc_message *msg);

#endif
