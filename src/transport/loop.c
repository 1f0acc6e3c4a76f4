/* SPDX-License-Identifier: MIT
 *
 * A prepare and a check handle mark the two places of a turn where answers
 * can have piled up that no read sends: after the timers and after the poll.
 * Neither keeps the loop alive. */
#include "transport/loop.h"

#include <stdio.h>
#include <uv.h>

#include "transport/clock.h"
#include "transport/stream.h"

/* The part of a loop that only this file sees. */
typedef struct own_loop {
  mrpc_loop base;
  uv_loop_t *made; /* when it is ours */
  uv_prepare_t prepare;
  uv_check_t check;
  mrpc_clock *clock;
} own_loop;

struct mrpc_bell {
  uv_async_t async;
  mrpc_loop *loop;
  mrpc_bell_fn fn;
  void *ud;
};

static void settle_all(own_loop *own) {
  mrpc_loop_flush(&own->base);
  mrpc_clock_arm(own->clock);
}

static void on_prepare(uv_prepare_t *handle) {
  settle_all(handle->data);
}

/* The clock is armed here too, for a loop whose last handle went idle in the
 * poll: a deadline shall keep it alive. */
static void on_check(uv_check_t *handle) {
  settle_all(handle->data);
}

static void on_closed(uv_handle_t *handle) {
  own_loop *own = handle->data;
  own->base.handles--;
}

static void start_marks(own_loop *own) {
  uv_loop_t *uv = own->base.uv;
  uv_prepare_init(uv, &own->prepare);
  uv_check_init(uv, &own->check);
  own->prepare.data = own->check.data = own;
  own->base.handles += 2;
  uv_prepare_start(&own->prepare, on_prepare);
  uv_check_start(&own->check, on_check);
  uv_unref((uv_handle_t *)&own->prepare);
  uv_unref((uv_handle_t *)&own->check);
}

static void free_memory(own_loop *own) {
  const mrpc_mem *mem = &own->base.env->mem;
  mrpc_mem_free(mem, own->made, sizeof *own->made);
  mrpc_mem_free(mem, own->base.room, MRPC_ROOM);
  mrpc_mem_free(mem, own, sizeof *own);
}

static int make_uv(own_loop *own) {
  own->made = mrpc_mem_new(&own->base.env->mem, sizeof *own->made);
  if (!own->made) return MRPC_ENOMEM;
  int status = uv_loop_init(own->made);
  if (status == UV_ENOMEM) return MRPC_ENOMEM;
  if (status) {
    mrpc_log(own->base.env, MRPC_LOG_ERROR, "can't make an event loop", "error",
             uv_strerror(status), NULL);
    return MRPC_EIO;
  }
  own->base.uv = own->made;
  own->base.owns_uv = true;
  return MRPC_OK;
}

int mrpc_loop_new(mrpc_env *env, struct uv_loop_s *uv, mrpc_loop **out) {
  own_loop *own = mrpc_mem_new(&env->mem, sizeof *own);
  if (!own) return MRPC_ENOMEM;
  own->base.env = env;
  own->base.uv = uv;
  own->base.max_streams = UINT32_MAX;
  own->base.max_name = "limit";
  mrpc_list_init(&own->base.streams);
  mrpc_list_init(&own->base.woken);
  own->base.room = mrpc_mem_resize(&env->mem, NULL, 0, MRPC_ROOM);
  int rc = own->base.room ? MRPC_OK : MRPC_ENOMEM;
  if (!rc && !uv) rc = make_uv(own);
  if (!rc) rc = mrpc_clock_new(&own->base, &own->clock);
  if (rc) {
    if (own->base.owns_uv) uv_loop_close(own->made);
    free_memory(own);
    return rc;
  }
  start_marks(own);
  *out = &own->base;
  return MRPC_OK;
}

static void close_stranger(uv_handle_t *handle, void *ud) {
  (void)ud;
  if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

/* Handles that others left on a loop of ours are closed for them. */
static void close_uv(uv_loop_t *uv) {
  while (uv_loop_close(uv) == UV_EBUSY) {
    uv_walk(uv, close_stranger, NULL);
    uv_run(uv, UV_RUN_DEFAULT);
  }
}

void mrpc_loop_free(mrpc_loop *loop) {
  if (!loop) return;
  own_loop *own = (own_loop *)loop;
  loop->closing = true;
  mrpc_clock_free(own->clock);
  uv_close((uv_handle_t *)&own->prepare, on_closed);
  uv_close((uv_handle_t *)&own->check, on_closed);
  while (loop->handles) uv_run(loop->uv, UV_RUN_ONCE);
  if (loop->owns_uv) close_uv(loop->uv);
  free_memory(own);
}

void mrpc_loop_arm(mrpc_loop *loop) {
  mrpc_clock_arm(((own_loop *)loop)->clock);
}

void mrpc_loop_run(mrpc_loop *loop) {
  loop->stopped = false;
  do {
    mrpc_loop_arm(loop);
    uv_run(loop->uv, UV_RUN_DEFAULT);
  } while (!loop->stopped && mrpc_timer_next(loop->env) != UINT64_MAX);
}

void mrpc_loop_stop(mrpc_loop *loop) {
  loop->stopped = true;
  uv_stop(loop->uv);
}

void mrpc_loop_step(mrpc_loop *loop, uint64_t budget_us) {
  uint64_t before;
  loop->until = budget_us ? uv_hrtime() + budget_us * 1000 : 0;
  loop->first = loop->work;
  do {
    before = loop->work;
    uv_run(loop->uv, UV_RUN_NOWAIT);
  } while (loop->work != before && uv_hrtime() < loop->until);
  loop->until = 0;
}

void mrpc_loop_flush(mrpc_loop *loop) {
  while (!mrpc_list_is_empty(&loop->woken)) {
    mrpc_conn *stream = mrpc_list_of(loop->woken.next, mrpc_conn, woken);
    mrpc_list_remove(&stream->woken);
    mrpc_conn_settle(stream);
  }
}

int mrpc_loop_fail(mrpc_loop *loop, const char *subject, int status) {
  snprintf(loop->error, sizeof loop->error, "%s: %s", subject,
           uv_strerror(status));
  if (status == UV_EADDRINUSE) return MRPC_EEXIST;
  return status == UV_ENOMEM ? MRPC_ENOMEM : MRPC_EIO;
}

static void on_ring(uv_async_t *async) {
  mrpc_bell *bell = async->data;
  bell->fn(bell->ud);
}

int mrpc_bell_new(mrpc_loop *loop, mrpc_bell_fn fn, void *ud, mrpc_bell **out) {
  mrpc_bell *bell = mrpc_mem_new(&loop->env->mem, sizeof *bell);
  if (!bell) return MRPC_ENOMEM;
  *bell = (mrpc_bell){.loop = loop, .fn = fn, .ud = ud};
  int status = uv_async_init(loop->uv, &bell->async, on_ring);
  if (status) {
    mrpc_mem_free(&loop->env->mem, bell, sizeof *bell);
    return mrpc_loop_fail(loop, "wake-up", status);
  }
  bell->async.data = bell;
  uv_unref((uv_handle_t *)&bell->async);
  loop->handles++;
  *out = bell;
  return MRPC_OK;
}

void mrpc_bell_ring(mrpc_bell *bell) {
  uv_async_send(&bell->async);
}

static void on_bell_closed(uv_handle_t *handle) {
  mrpc_bell *bell = handle->data;
  mrpc_loop *loop = bell->loop;
  loop->handles--;
  mrpc_mem_free(&loop->env->mem, bell, sizeof *bell);
}

void mrpc_bell_free(mrpc_bell *bell) {
  if (bell) uv_close((uv_handle_t *)&bell->async, on_bell_closed);
}
