/* SPDX-License-Identifier: MIT
 *
 * The first byte tells the framing: a C begins Content-Length, everything
 * else is left to the rules of lines. The decision changes the table of
 * functions, so that nothing is asked twice. Until the other side has spoken
 * nothing can be pushed: nobody knows yet how to wrap it. */
#include "framing/stream.h"

static int recv(mrpc_framing *f, const char *bytes, size_t len,
                size_t *consumed, mrpc_message *msg) {
  *consumed = 0;
  if (len == 0) return MRPC_PARTIAL;
  bool is_header = *bytes == 'C' || *bytes == 'c';
  f->vt = is_header ? &mrpc_header_vt : &mrpc_line_vt;
  return f->vt->recv(f, bytes, len, consumed, msg);
}

static int eof(mrpc_framing *f, mrpc_message *msg) {
  (void)f;
  (void)msg;
  return MRPC_PARTIAL;
}

static int put(mrpc_framing *f, uint64_t token, const char *bytes, size_t len,
               mrpc_outcome outcome) {
  (void)token;
  (void)outcome;
  return mrpc_line_vt.push(f, bytes, len);
}

static bool can_push(const mrpc_framing *f) {
  (void)f;
  return false;
}

const mrpc_framing_vt mrpc_auto_vt = {
    .name = "auto",
    .recv = recv,
    .eof = eof,
    .put = put,
    .none = mrpc_stream_none,
    .can_push = can_push,
    .deadline = mrpc_stream_deadline,
    .free = mrpc_stream_free,
};
