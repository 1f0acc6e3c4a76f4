/* SPDX-License-Identifier: MIT
 *
 * Construction, deadlines and failure of the framings of byte streams. */
#include "framing/stream.h"

enum { KEEP = 4096 }; /* bytes of buffer that an idle stream may keep */

int mrpc_stream_new(mrpc_env *env, const mrpc_limits *limits,
                    const mrpc_framing_vt *vt, unsigned rules,
                    mrpc_framing **out) {
  mrpc_limits all = limits ? *limits : (mrpc_limits){0};
  mrpc_limits_init(&all);
  mrpc_stream *s = mrpc_mem_new(&env->mem, sizeof *s);
  if (!s) return MRPC_ENOMEM;
  s->base.vt = vt;
  s->base.env = env;
  mrpc_buf_init(&s->base.out, &env->mem, SIZE_MAX);
  s->rules = rules;
  s->message_max = all.message;
  s->header_max = all.header;
  s->header_time = all.header_time;
  s->body_time = all.body_time;
  s->deadline = UINT64_MAX;
  size_t most = s->message_max > s->header_max ? s->message_max : s->header_max;
  mrpc_buf_init(&s->part, &env->mem, most + 1);
  *out = &s->base;
  return MRPC_OK;
}

int mrpc_framing_line(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out) {
  return mrpc_stream_new(env, limits, &mrpc_line_vt, MRPC_LINE_GUARDED, out);
}

int mrpc_framing_header(mrpc_env *env, const mrpc_limits *limits,
                        mrpc_framing **out) {
  return mrpc_stream_new(env, limits, &mrpc_header_vt, MRPC_LINE_PLAIN, out);
}

int mrpc_framing_auto(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out) {
  return mrpc_stream_new(env, limits, &mrpc_auto_vt, MRPC_LINE_GUARDED, out);
}

void mrpc_stream_free(mrpc_framing *f) {
  if (!f) return;
  mrpc_stream *s = (mrpc_stream *)f;
  mrpc_buf_clear(&s->part);
  mrpc_buf_clear(&f->out);
  mrpc_mem_free(&f->env->mem, s, sizeof *s);
}

void mrpc_stream_begin(mrpc_stream *s) {
  if (!s->given) return;
  s->given = false;
  mrpc_buf_truncate(&s->part, 0);
  mrpc_buf_relax(&s->part, KEEP);
}

int mrpc_stream_fail(mrpc_stream *s, int code, const char *why) {
  s->failed = code;
  s->base.error = why;
  s->deadline = UINT64_MAX;
  mrpc_buf_clear(&s->part);
  return code;
}

void mrpc_stream_expect(mrpc_stream *s, double seconds) {
  if (s->deadline == UINT64_MAX)
    s->deadline = mrpc_env_after(s->base.env, seconds);
}

uint64_t mrpc_stream_deadline(const mrpc_framing *f) {
  return ((const mrpc_stream *)f)->deadline;
}

void mrpc_stream_tick(mrpc_framing *f, uint64_t now) {
  mrpc_stream *s = (mrpc_stream *)f;
  if (now < s->deadline) return;
  mrpc_stream_fail(s, MRPC_EPROTO, "a message took too long to arrive");
  f->closing = true;
}

int mrpc_stream_put(mrpc_framing *f, uint64_t token, const char *bytes,
                    size_t len, mrpc_outcome outcome) {
  (void)token;
  (void)outcome;
  return f->vt->push(f, bytes, len);
}

int mrpc_stream_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome) {
  (void)f;
  (void)token;
  (void)outcome;
  return MRPC_OK;
}

bool mrpc_stream_can_push(const mrpc_framing *f) {
  return !f->closing;
}

int mrpc_stream_added(mrpc_framing *f, size_t mark) {
  if (f->out.err == MRPC_OK) return MRPC_OK;
  mrpc_buf_truncate(&f->out, mark);
  return MRPC_ENOMEM;
}
