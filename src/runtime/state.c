/* SPDX-License-Identifier: MIT
 *
 * The life of a runtime: its Lua state, and the memory that this may have. The
 * collector works in small steps, Lua's default: its generational mode is no
 * faster for calls, and its major collections stop everybody. */
#include <assert.h>

#include "runtime/api.h"
#include "runtime/dial.h"
#include "runtime/event.h"
#include "runtime/libs.h"
#include "runtime/limit.h"
#include "runtime/load.h"
#include "runtime/peer.h"
#include "runtime/protect.h"
#include "runtime/schedule.h"
#include "runtime/serial.h"

/* Lua's allocator: the environment's, counted and bounded. Above the limit
 * Lua collects garbage, tries again, and raises "not enough memory". Where no
 * protected call would catch that, in the code of C modules that prepares a
 * callback, the limit doesn't count. When `ptr` is NULL, `osize` is no size. */
static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize) {
  mrpc_runtime *rt = ud;
  if (!ptr) osize = 0;
  bool is_bounded = rt->slice || rt->protections;
  if (is_bounded && nsize > osize &&
      rt->memory + (nsize - osize) > rt->max_memory)
    return NULL;
  void *to = mrpc_mem_resize(&rt->env->mem, ptr, osize, nsize);
  if (to || nsize == 0) rt->memory += nsize - osize;
  return to;
}

static void init(mrpc_runtime *rt, const mrpc_runtime_config *config) {
  rt->env = config->env;
  rt->dispatch = config->dispatch;
  if (config->limits) rt->limits = *config->limits;
  mrpc_limits_init(&rt->limits);
  rt->dev = config->dev;
  rt->standing_hook = config->hook;
  rt->on_report = config->on_report;
  rt->on_exit = config->on_exit;
  rt->ud = config->ud;
  rt->heap = (mrpc_mem){allocate, rt};
  rt->free_thread = (mrpc_thread){rt, MRPC_THREAD_FREE};
  rt->waiting_thread = (mrpc_thread){rt, MRPC_THREAD_WAITING};
  rt->max_memory =
      rt->limits.memory == MRPC_UNLIMITED ? SIZE_MAX / 2 : rt->limits.memory;
  rt->handler_ns =
      rt->limits.handler < 0 ? 0 : (uint64_t)(rt->limits.handler * 1e9);
  mrpc_buf_init(&rt->scratch, &rt->heap, rt->limits.reply);
  mrpc_serial_init(rt);
  mrpc_events_init(rt);
  mrpc_lua_peers_init(rt);
  if (config->dialer) rt->dialer = *config->dialer;
  mrpc_dial_init(rt);
}

static int open_state(mrpc_runtime *rt) {
  rt->L = lua_newstate(allocate, rt);
  if (!rt->L) return MRPC_ENOMEM;
  *(mrpc_thread **)lua_getextraspace(rt->L) = &rt->free_thread;
  mrpc_limit_open(rt->L);
  return mrpc_protect(rt, mrpc_libs_open, NULL);
}

int mrpc_runtime_new(const mrpc_runtime_config *config, mrpc_runtime **out) {
  mrpc_runtime *rt = mrpc_mem_new(&config->env->mem, sizeof *rt);
  if (!rt) return MRPC_ENOMEM;
  init(rt, config);
  int rc = mrpc_tasks_init(rt);
  if (!rc) rc = open_state(rt);
  if (!rc) rc = mrpc_loader_new(rt, config, &rt->loader);
  if (rc) {
    mrpc_runtime_free(rt);
    return rc;
  }
  *out = rt;
  return MRPC_OK;
}

void mrpc_runtime_free(mrpc_runtime *rt) {
  if (!rt) return;
  mrpc_mem mem = rt->env->mem;
  assert(!rt->current);
  mrpc_tasks_free(rt);
  mrpc_lua_peers_free(rt);
  mrpc_dial_free(rt);
  if (rt->loader) mrpc_loader_free(rt->loader);
  mrpc_buf_clear(&rt->scratch);
  mrpc_serial_free(rt);
  if (rt->L) lua_close(rt->L);
  mrpc_json_close(rt);
  mrpc_mem_free(&mem, rt, sizeof *rt);
}
