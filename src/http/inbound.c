/* SPDX-License-Identifier: MIT
 *
 * Bytes to messages. The short way is for a text that is one frame and lies
 * whole in the bytes received, as nearly all do: it is unmasked into `part`,
 * eight bytes at a time, or not even copied when it has no mask. wslay reads
 * all else: frames that are cut, fragments, control frames, and whatever
 * breaks the rules.
 *
 * wslay would read ahead, and a peer that must stop couldn't take that back.
 * So it is dealt a frame's head byte by byte, and then no more than its
 * payload. Its context, of 4 KiB, lives no longer than what it reads. */
#include <string.h>

#include "http/websocket.h"

enum { KEEP = 1024 }; /* bytes of buffer that an idle connection keeps */

static int take_piece(mrpc_websocket *w, const struct wslay_frame_iocb *piece,
                      mrpc_message *msg);
static int take_data(mrpc_websocket *w, const struct wslay_frame_iocb *piece,
                     bool is_end, mrpc_message *msg);
static int take_control(mrpc_websocket *w, const struct wslay_frame_iocb *piece,
                        bool is_end);

static ssize_t deal(uint8_t *buf, size_t len, int flags, void *ud) {
  mrpc_websocket *w = ud;
  size_t most = (size_t)(w->end - w->at);
  (void)flags;
  if (!w->in_frame && most) most = 1;
  if (w->in_frame && most > w->left) most = (size_t)w->left;
  if (len > most) len = most;
  if (len) memcpy(buf, w->at, len);
  w->at += len;
  if (!w->in_frame) w->in_head |= len > 0;
  return (ssize_t)len;
}

/* The message that recv gave last is over. */
static void begin(mrpc_websocket *w) {
  if (!w->is_given) return;
  w->is_given = false;
  mrpc_buf_truncate(&w->part, 0);
  mrpc_buf_relax(&w->part, KEEP);
}

static bool is_between(const mrpc_websocket *w) {
  return !w->in_head && !w->in_frame && !w->opcode;
}

static int end_message(mrpc_websocket *w, const char *bytes, size_t len,
                       mrpc_message *msg) {
  w->is_binary = w->opcode == WSLAY_BINARY_FRAME;
  w->opcode = 0;
  w->deadline = UINT64_MAX;
  w->owed++;
  *msg = (mrpc_message){.bytes = len ? bytes : "", .len = len};
  return MRPC_OK;
}

/* The short way. */

static const char *unmask(mrpc_websocket *w, const char *bytes, size_t len) {
  char *to = mrpc_buf_reserve(&w->part, len);
  if (!to) return NULL;
  mrpc_ws_xor(to, bytes, len, bytes - MRPC_WS_KEY_SIZE);
  w->part.len = len;
  w->is_given = true;
  return to;
}

/* MRPC_PARTIAL when there's no short way. */
static int take_whole(mrpc_websocket *w, const char *bytes, size_t len,
                      size_t *consumed, mrpc_message *msg) {
  mrpc_utf8 text = {0};
  size_t size, head;
  if (!is_between(w)) return MRPC_PARTIAL;
  head = mrpc_ws_measure_text(bytes, len, !w->mask, &size);
  if (!head || size > w->message_max) return MRPC_PARTIAL;
  const char *payload = bytes + head;
  *consumed = head + size;
  if (size && !w->mask) payload = unmask(w, payload, size);
  if (!payload) return w->failed = MRPC_ENOMEM;
  if (!mrpc_utf8_feed(&text, payload, size) || !mrpc_utf8_is_whole(&text))
    return mrpc_websocket_fail(w, MRPC_WS_NOT_UTF8, "a text isn't UTF-8");
  return end_message(w, payload, size, msg);
}

/* wslay's way. */

static int open_frames(mrpc_websocket *w) {
  static const struct wslay_frame_callbacks ways = {.recv_callback = deal};
  if (w->frames) return MRPC_PARTIAL;
  int rc = wslay_frame_context_init(&w->frames, &ways, w);
  return rc ? (w->failed = MRPC_ENOMEM) : MRPC_PARTIAL;
}

/* No more bytes for now, or a message: what is incomplete has its time, be it a
 * control frame between two messages. */
static void suspend(mrpc_websocket *w) {
  if (is_between(w)) {
    wslay_frame_context_free(w->frames);
    w->frames = NULL;
    w->deadline = UINT64_MAX;
  } else if (w->deadline == UINT64_MAX) {
    w->deadline = mrpc_env_after(w->base.env, w->body_time);
  }
}

static int take_pieces(mrpc_websocket *w, mrpc_message *msg) {
  struct wslay_frame_iocb piece;
  int rc = open_frames(w);
  while (rc == MRPC_PARTIAL && w->at < w->end) {
    ssize_t got = wslay_frame_recv(w->frames, &piece);
    if (got == WSLAY_ERR_WANT_READ) continue;
    rc = got >= 0
             ? take_piece(w, &piece, msg)
             : mrpc_websocket_fail(w, MRPC_WS_PROTOCOL, "a malformed frame");
  }
  suspend(w);
  return rc;
}

int mrpc_websocket_recv(mrpc_framing *f, const char *bytes, size_t len,
                        size_t *consumed, mrpc_message *msg) {
  mrpc_websocket *w = (mrpc_websocket *)f;
  *consumed = len;
  begin(w);
  if (w->failed) return w->failed;
  if (len == 0) return MRPC_PARTIAL;
  w->is_active = true;
  int rc = take_whole(w, bytes, len, consumed, msg);
  if (rc != MRPC_PARTIAL) return rc;
  w->at = bytes;
  w->end = bytes + len;
  rc = take_pieces(w, msg);
  *consumed = (size_t)(w->at - bytes);
  return rc;
}

/* What may not begin now, or ever; 0 when all is well. */
static uint16_t check_head(const mrpc_websocket *w,
                           const struct wslay_frame_iocb *head,
                           const char **why) {
  bool is_first =
      head->opcode == WSLAY_TEXT_FRAME || head->opcode == WSLAY_BINARY_FRAME;
  *why = head->rsv                           ? "a reserved bit is set"
         : !head->mask != !!w->mask          ? "a mask on the wrong side"
         : head->opcode > WSLAY_PONG         ? "a reserved opcode"
         : wslay_is_ctrl_frame(head->opcode) ? NULL
         : head->opcode > WSLAY_BINARY_FRAME ? "a reserved opcode"
         : is_first && w->opcode             ? "a message inside of a message"
         : !is_first && !w->opcode           ? "a continuation of no message"
                                             : NULL;
  if (*why) return MRPC_WS_PROTOCOL;
  if (wslay_is_ctrl_frame(head->opcode)) return 0;
  *why = "binary messages aren't taken";
  if (head->opcode == WSLAY_BINARY_FRAME && !w->takes_binary)
    return MRPC_WS_UNSUPPORTED;
  *why = "a message is over limits.message";
  return head->payload_length > w->message_max - w->part.len ? MRPC_WS_TOO_BIG
                                                             : 0;
}

static int open_frame(mrpc_websocket *w, const struct wslay_frame_iocb *head) {
  const char *why;
  uint16_t code = check_head(w, head, &why);
  if (code) return mrpc_websocket_fail(w, code, why);
  w->in_head = false;
  w->in_frame = true;
  w->left = head->payload_length;
  if (wslay_is_ctrl_frame(head->opcode)) {
    w->control_len = 0;
  } else if (!w->opcode) {
    w->opcode = head->opcode;
    w->text = (mrpc_utf8){0};
  }
  return MRPC_PARTIAL;
}

static int take_piece(mrpc_websocket *w, const struct wslay_frame_iocb *piece,
                      mrpc_message *msg) {
  int rc = w->in_frame ? MRPC_PARTIAL : open_frame(w, piece);
  if (rc != MRPC_PARTIAL) return rc;
  w->left -= piece->data_length;
  bool is_end = w->left == 0;
  w->in_frame = !is_end;
  return wslay_is_ctrl_frame(piece->opcode) ? take_control(w, piece, is_end)
                                            : take_data(w, piece, is_end, msg);
}

static int take_data(mrpc_websocket *w, const struct wslay_frame_iocb *piece,
                     bool is_end, mrpc_message *msg) {
  const char *bytes = (const char *)piece->data;
  size_t len = piece->data_length;
  bool is_last = is_end && piece->fin, is_text = w->opcode == WSLAY_TEXT_FRAME;
  if (is_text && (!mrpc_utf8_feed(&w->text, bytes, len) ||
                  (is_last && !mrpc_utf8_is_whole(&w->text))))
    return mrpc_websocket_fail(w, MRPC_WS_NOT_UTF8, "a text isn't UTF-8");
  mrpc_buf_add(&w->part, bytes, len);
  if (w->part.err) return w->failed = MRPC_ENOMEM;
  if (!is_last) return MRPC_PARTIAL;
  w->is_given = true;
  return end_message(w, w->part.data, w->part.len, msg);
}

/* RFC 6455 section 7.4: those that may stand in a Close, the registered ones
 * and the ranges for libraries and private use. */
static bool is_code(unsigned code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 &&
          code != 1006) ||
         (code >= 3000 && code <= 4999);
}

/* The other side ends the conversation: it gets its own code back. */
static int take_close(mrpc_websocket *w) {
  const unsigned char *bytes = (const unsigned char *)w->control;
  unsigned code = w->control_len < 2 ? 0 : bytes[0] * 256U + bytes[1];
  mrpc_utf8 text = {0};
  if (w->control_len == 1 || (code && !is_code(code)) ||
      (w->control_len >= 2 && !code))
    return mrpc_websocket_fail(w, MRPC_WS_PROTOCOL, "a Close of a wrong code");
  if (w->control_len > 2 &&
      (!mrpc_utf8_feed(&text, w->control + 2, w->control_len - 2U) ||
       !mrpc_utf8_is_whole(&text)))
    return mrpc_websocket_fail(w, MRPC_WS_NOT_UTF8, "a reason isn't UTF-8");
  w->failed = MRPC_ECLOSED;
  w->heard = (uint16_t)code;
  w->control[w->control_len] = '\0';
  if (code > MRPC_WS_GOING_AWAY) w->base.error = "it closed with an error code";
  int rc = mrpc_websocket_say_close(w, (uint16_t)code, NULL);
  return rc ? rc : MRPC_ECLOSED;
}

static int take_control(mrpc_websocket *w, const struct wslay_frame_iocb *piece,
                        bool is_end) {
  memcpy(w->control + w->control_len, piece->data, piece->data_length);
  w->control_len = (uint8_t)(w->control_len + piece->data_length);
  if (!is_end) return MRPC_PARTIAL;
  if (piece->opcode == WSLAY_CONNECTION_CLOSE) return take_close(w);
  if (piece->opcode == WSLAY_PONG) return MRPC_PARTIAL;
  int rc = mrpc_websocket_send(w, WSLAY_PONG, w->control, w->control_len);
  return rc ? (w->failed = rc) : MRPC_PARTIAL;
}
