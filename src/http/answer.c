/* SPDX-License-Identifier: MIT
 *
 * Answers leave in the order of the requests. The answer to the oldest is
 * written straight to the output; one that comes early is written to its slot
 * and follows when its turn comes. The connection closes behind the first
 * answer that says so. */
#include <stdio.h>

#include "http/reply.h"
#include "http/server.h"

/* No memory for an answer: the other side can't be kept in step any more. */
int mrpc_http_die(mrpc_http_server *s) {
  s->is_stopped = s->base.closing = true;
  s->base.error = "out of memory";
  mrpc_buf_truncate(&s->base.out, s->base.out.len);
  return MRPC_ENOMEM;
}

/* While the host shuts down, the last answer closes the connection. */
static bool is_farewell(const mrpc_http_server *s, uint64_t token) {
  return s->rules.is_draining && s->phase == MRPC_HTTP_IDLE &&
         token + 1 == s->order.first + s->order.count;
}

/* Where the answer to the request goes; NULL when it was answered already. */
static mrpc_buf *begin_answer(mrpc_http_server *s, uint64_t token,
                              mrpc_http_slot **slot) {
  *slot = mrpc_http_order_get(&s->order, token);
  if (!*slot || (*slot)->is_done || s->base.closing) return NULL;
  if (is_farewell(s, token)) (*slot)->closes = true;
  return token == s->order.first ? &s->base.out : &(*slot)->held;
}

void mrpc_http_continue(mrpc_http_server *s) {
  if (!s->owes_continue || s->order.count != 1) return;
  s->owes_continue = false;
  mrpc_buf_lit(&s->base.out, "HTTP/1.1 100 Continue\r\n\r\n");
}

/* Takes away the slot whose answer was written, and the ones behind it whose
 * answers have waited. */
static void advance(mrpc_http_server *s) {
  mrpc_http_order *order = &s->order;
  mrpc_http_slot *slot = mrpc_http_order_get(order, order->first);
  for (;;) {
    if (slot->closes) {
      s->is_stopped = s->base.closing = true;
      return;
    }
    mrpc_http_order_pop(order);
    slot = mrpc_http_order_get(order, order->first);
    if (!slot || !slot->is_done) break;
    mrpc_buf_add(&s->base.out, slot->held.data, slot->held.len);
    s->base.held -= slot->held.len;
  }
  if (!slot && s->is_stopped) s->base.closing = true;
  mrpc_http_continue(s);
}

/* `to` has grown from `mark` by an answer. */
static int end_answer(mrpc_http_server *s, mrpc_http_slot *slot, mrpc_buf *to,
                      size_t mark) {
  s->is_active = true;
  if (to->err) {
    mrpc_buf_truncate(to, mark);
    return mrpc_http_die(s);
  }
  slot->is_done = true;
  if (to == &s->base.out)
    advance(s);
  else
    s->base.held += to->len;
  return s->base.out.err ? mrpc_http_die(s) : MRPC_OK;
}

static int status_of(const mrpc_http_server *s, mrpc_outcome outcome) {
  switch (outcome) {
    case MRPC_OUTCOME_SILENT: return s->config.notification_status;
    case MRPC_OUTCOME_DENIED: return 401;
    case MRPC_OUTCOME_LIMITED: return 429;
    case MRPC_OUTCOME_DRAINING: return 503;
    default: return 200;
  }
}

int mrpc_http_put(mrpc_framing *f, uint64_t token, const char *bytes,
                  size_t len, mrpc_outcome outcome) {
  mrpc_http_server *s = (mrpc_http_server *)f;
  mrpc_http_slot *slot;
  mrpc_buf *to = begin_answer(s, token, &slot);
  if (!to) return MRPC_OK;
  size_t mark = to->len;
  mrpc_http_write_json(to, slot, status_of(s, outcome), bytes, len);
  return end_answer(s, slot, to, mark);
}

int mrpc_http_none(mrpc_framing *f, uint64_t token, mrpc_outcome outcome) {
  return mrpc_http_put(f, token, "", 0, outcome);
}

/* The first of its status in a connection is told at info. */
static void tell(mrpc_http_server *s) {
  const mrpc_http_verdict *v = &s->verdict;
  char status[8], got[MRPC_HTTP_GOT + 1];
  if (v->status < 400 || v->status >= 500) return;
  uint32_t bit = 1U << (v->status - 400) % 32;
  int level = s->told & bit ? MRPC_LOG_DEBUG : MRPC_LOG_INFO;
  s->told |= bit;
  s->base.is_told = true;
  snprintf(status, sizeof status, "%d", v->status);
  snprintf(got, sizeof got, "%.*s", (int)v->got_len, v->got);
  mrpc_log(s->base.env, level, "request refused", "peer",
           s->base.peer ? s->base.peer : "", "status", status, "why", v->what,
           "got", v->has_got ? got : NULL, NULL);
}

int mrpc_http_put_verdict(mrpc_http_server *s, uint64_t token) {
  mrpc_http_slot *slot;
  mrpc_buf *to = begin_answer(s, token, &slot);
  if (!to) return MRPC_OK;
  size_t mark = to->len;
  mrpc_http_write_verdict(to, slot, &s->verdict);
  tell(s);
  return end_answer(s, slot, to, mark);
}

int mrpc_http_break_off(mrpc_http_server *s) {
  mrpc_http_slot *slot = s->phase == MRPC_HTTP_BODY
                             ? mrpc_http_order_get(&s->order, s->token)
                             : mrpc_http_order_add(&s->order, &s->token);
  if (!slot) return mrpc_http_die(s);
  slot->closes = true;
  s->is_stopped = true;
  s->owes_continue = false;
  s->phase = MRPC_HTTP_IDLE;
  s->deadline = UINT64_MAX;
  s->base.error = s->verdict.what;
  int rc = mrpc_http_put_verdict(s, s->token);
  if (rc) return rc;
  return s->base.closing ? MRPC_EPROTO : MRPC_PARTIAL;
}

int mrpc_http_refuse(mrpc_http_server *s, int status, const char *what) {
  s->verdict = (mrpc_http_verdict){
      .status = status, .what = what, .fate = MRPC_HTTP_BREAK_OFF};
  return mrpc_http_break_off(s);
}
