/* SPDX-License-Identifier: MIT
 *
 * The life of one HTTP connection: how it begins, idles, drains and ends. */
#include "http/server.h"

enum { SLOTS_MAX = 65536 }; /* requests that wait, whatever in_flight says */

static uint64_t deadline(const mrpc_framing *f) {
  const mrpc_http_server *s = (const mrpc_http_server *)f;
  if (s->is_stopped) return UINT64_MAX;
  return s->deadline < s->idle_at ? s->deadline : s->idle_at;
}

/* Activity sets a flag instead of moving a deadline, so that a request costs
 * no look at the clock; four looks that find the flag unset are idle_time. */
static void look_idle(mrpc_http_server *s, uint64_t now) {
  bool is_busy = s->is_active || s->base.is_at_work || s->order.count ||
                 s->phase != MRPC_HTTP_IDLE;
  s->is_active = false;
  s->idle_count = is_busy ? 0 : s->idle_count + 1;
  s->idle_at =
      now > UINT64_MAX - s->idle_step ? UINT64_MAX : now + s->idle_step;
  if (s->idle_count < 4) return;
  s->is_stopped = s->base.closing = true;
}

static void tick(mrpc_framing *f, uint64_t now) {
  mrpc_http_server *s = (mrpc_http_server *)f;
  if (s->is_stopped) return;
  if (now >= s->deadline)
    mrpc_http_refuse(s, 408, "the request took too long to arrive");
  else if (now >= s->idle_at)
    look_idle(s, now);
}

static void drain(mrpc_framing *f) {
  mrpc_http_server *s = (mrpc_http_server *)f;
  s->rules.is_draining = true;
  if (s->phase != MRPC_HTTP_IDLE || s->order.count) return;
  s->is_stopped = f->closing = true;
}

static const mrpc_header_field *headers(const mrpc_framing *f) {
  mrpc_http_server *s = (mrpc_http_server *)f;
  mrpc_text block = {mrpc_piece_bytes(&s->head), s->head.len};
  if (s->phase == MRPC_HTTP_HEAD || block.len == 0) return NULL;
  return mrpc_http_fields_get(&s->fields, &f->env->mem, block);
}

static bool can_push(const mrpc_framing *f) {
  (void)f;
  return false;
}

static void free_server(mrpc_framing *f) {
  if (!f) return;
  mrpc_http_server *s = (mrpc_http_server *)f;
  if (f->next) f->next->vt->free(f->next);
  mrpc_piece_clear(&s->head);
  mrpc_piece_clear(&s->body);
  mrpc_http_fields_clear(&s->fields, &f->env->mem);
  mrpc_http_order_clear(&s->order);
  mrpc_buf_clear(&s->last);
  mrpc_buf_clear(&f->out);
  mrpc_mem_free(&f->env->mem, s, sizeof *s);
}

static const mrpc_framing_vt table = {
    .name = "http",
    .keeps_notes = true,
    .recv = mrpc_http_recv,
    .eof = mrpc_http_eof,
    .put = mrpc_http_put,
    .none = mrpc_http_none,
    .can_push = can_push,
    .deadline = deadline,
    .tick = tick,
    .drain = drain,
    .headers = headers,
    .free = free_server,
};

static void set_limits(mrpc_http_server *s, const mrpc_limits *given) {
  mrpc_limits limits = given ? *given : (mrpc_limits){0};
  mrpc_limits_init(&limits);
  s->header_max = limits.header;
  s->rules.message_max = limits.message;
  s->header_time = limits.header_time;
  s->body_time = limits.body_time;
  uint32_t most = limits.in_flight < SLOTS_MAX ? limits.in_flight : SLOTS_MAX;
  s->most_slots = most + 64; /* calls that want no answer wait here, too */
  double quarter = limits.idle_time / 4;
  s->idle_at = mrpc_env_after(s->base.env, quarter);
  s->idle_step =
      s->idle_at == UINT64_MAX ? UINT64_MAX : (uint64_t)(quarter * 1e9);
}

static bool is_valid(const mrpc_http_config *config) {
  int status = config->notification_status;
  return *config->path == '/' &&
         (status == 200 || status == 202 || status == 204);
}

static void init(mrpc_http_server *s, mrpc_env *env) {
  s->base.vt = &table;
  s->base.env = env;
  mrpc_buf_init(&s->base.out, &env->mem, SIZE_MAX);
  s->rules.config = &s->config;
  set_limits(s, s->config.limits);
  llhttp_init(&s->parser, HTTP_REQUEST, &mrpc_http_settings);
  s->parser.data = s;
  mrpc_http_order_init(&s->order, &env->mem);
  mrpc_piece_init(&s->head, &env->mem);
  mrpc_piece_init(&s->body, &env->mem);
  mrpc_buf_init(&s->last, &env->mem, MRPC_HTTP_LAST_MAX);
  s->deadline = UINT64_MAX;
}

int mrpc_framing_http(mrpc_env *env, const mrpc_http_config *config,
                      mrpc_framing **out) {
  mrpc_http_config all = config ? *config : (mrpc_http_config){0};
  if (!all.path) all.path = "/";
  if (!all.notification_status) all.notification_status = 204;
  if (!is_valid(&all)) return MRPC_EINVAL;
  mrpc_http_server *s = mrpc_mem_new(&env->mem, sizeof *s);
  if (!s) return MRPC_ENOMEM;
  s->config = all;
  init(s, env);
  *out = &s->base;
  return MRPC_OK;
}
