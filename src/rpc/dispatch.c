/* SPDX-License-Identifier: MIT
 *
 * Two maps, asked one after the other. A scripted method hides a native one of
 * its name, but for the host's own: `rpc.` names are looked up among the
 * native ones only (JSON-RPC 2.0 §4.3 reserves them). */
#include "rpc/dispatch.h"

#include "rpc/pool.h"

#define RESERVED "rpc."
enum { RESERVED_LEN = sizeof RESERVED - 1 };

static bool is_reserved(const char *name, size_t len) {
  return len >= RESERVED_LEN && memcmp(name, RESERVED, RESERVED_LEN) == 0;
}

int mrpc_dispatch_new(mrpc_env *env, mrpc_dispatch **out) {
  mrpc_dispatch *dispatch = mrpc_mem_new(&env->mem, sizeof *dispatch);
  if (!dispatch) return MRPC_ENOMEM;
  dispatch->env = env;
  dispatch->users = 1;
  mrpc_map_init(&dispatch->native, &env->mem, env->seed);
  mrpc_map_init(&dispatch->empty, &env->mem, env->seed);
  dispatch->scripted = &dispatch->empty;
  mrpc_buf_init(&dispatch->scratch, &env->mem, SIZE_MAX);
  *out = dispatch;
  return MRPC_OK;
}

static void free_native(mrpc_dispatch *dispatch) {
  uint32_t at = 0;
  mrpc_method *method;
  while ((method = mrpc_map_next(&dispatch->native, &at)))
    mrpc_mem_free(&dispatch->env->mem, method,
                  sizeof *method + method->len + 1);
  mrpc_map_clear(&dispatch->native);
}

void mrpc_dispatch_free(mrpc_dispatch *dispatch) {
  if (!dispatch) return;
  free_native(dispatch);
  (void)mrpc_dispatch_swap(dispatch, NULL);
  mrpc_dispatch_release(dispatch);
}

void mrpc_dispatch_release(mrpc_dispatch *dispatch) {
  if (--dispatch->users) return;
  mrpc_pool_clear(dispatch);
  mrpc_buf_clear(&dispatch->scratch);
  mrpc_mem_free(&dispatch->env->mem, dispatch, sizeof *dispatch);
}

/* The method and its name in one piece. */
static mrpc_method *new_method(mrpc_dispatch *dispatch, const char *name,
                               mrpc_call_fn fn, void *ud) {
  size_t len = strlen(name);
  mrpc_method *method =
      mrpc_mem_new(&dispatch->env->mem, sizeof *method + len + 1);
  if (!method) return NULL;
  char *copy = (char *)(method + 1);
  memcpy(copy, name, len);
  *method = (mrpc_method){.name = copy, .len = len, .start = fn, .ud = ud};
  return method;
}

int mrpc_dispatch_add_host(mrpc_dispatch *dispatch, const char *name,
                           mrpc_call_fn fn, void *ud) {
  mrpc_method *method = new_method(dispatch, name, fn, ud);
  if (!method) return MRPC_ENOMEM;
  int rc = mrpc_map_set(&dispatch->native, method->name, method->len, method);
  if (rc)
    mrpc_mem_free(&dispatch->env->mem, method,
                  sizeof *method + method->len + 1);
  return rc;
}

int mrpc_dispatch_add(mrpc_dispatch *dispatch, const char *name,
                      mrpc_call_fn fn, void *ud) {
  size_t len = strlen(name);
  if (is_reserved(name, len)) return MRPC_EINVAL;
  if (mrpc_map_get(dispatch->scripted, name, len)) return MRPC_EEXIST;
  return mrpc_dispatch_add_host(dispatch, name, fn, ud);
}

static const mrpc_method *look_up(const mrpc_dispatch *dispatch,
                                  const char *name, size_t len) {
  const mrpc_method *method = NULL;
  if (!is_reserved(name, len))
    method = mrpc_map_get(dispatch->scripted, name, len);
  return method ? method : mrpc_map_get(&dispatch->native, name, len);
}

/* Callers call the same method many times on end. */
const mrpc_method *mrpc_dispatch_find(mrpc_dispatch *dispatch, const char *name,
                                      size_t len) {
  const mrpc_method *last = dispatch->last;
  if (last && last->len == len && memcmp(last->name, name, len) == 0)
    return last;
  const mrpc_method *method = look_up(dispatch, name, len);
  if (method) dispatch->last = method;
  return method;
}

void mrpc_dispatch_set_codes(mrpc_dispatch *dispatch,
                             const mrpc_error_codes *codes) {
  dispatch->codes = *codes;
}

void mrpc_dispatch_set_default(mrpc_dispatch *dispatch, mrpc_call_fn fn,
                               void *ud) {
  dispatch->fallback = (mrpc_method){.name = "", .start = fn, .ud = ud};
}

const mrpc_method *mrpc_dispatch_default(const mrpc_dispatch *dispatch,
                                         const char *name, size_t len) {
  bool is_none = !dispatch->fallback.start || is_reserved(name, len);
  return is_none ? NULL : &dispatch->fallback;
}

void mrpc_dispatch_watch(mrpc_dispatch *dispatch, const mrpc_peer_watch *watch,
                         void *ud) {
  dispatch->watch = watch ? *watch : (mrpc_peer_watch){0};
  dispatch->watch_ud = ud;
}

static int find_code(const mrpc_error_codes *codes, int code) {
  switch (code) {
    case MRPC_BUSY: return codes->busy;
    case MRPC_TIMED_OUT: return codes->timed_out;
    case MRPC_REPLY_TOO_LARGE: return codes->reply_too_large;
    case MRPC_SCRIPT_LIMIT: return codes->script_limit;
    case MRPC_SHUTTING_DOWN: return codes->shutting_down;
    case MRPC_NOT_AUTHORISED: return codes->not_authorised;
    case MRPC_RATE_LIMITED: return codes->rate_limited;
    case MRPC_PEER_GONE: return codes->peer_gone;
    default: return 0;
  }
}

int mrpc_dispatch_code(const mrpc_dispatch *dispatch, int code) {
  int found = find_code(&dispatch->codes, code);
  return found ? found : code;
}

const mrpc_map *mrpc_dispatch_swap(mrpc_dispatch *dispatch,
                                   const mrpc_map *scripted) {
  const mrpc_map *old = dispatch->scripted;
  dispatch->scripted = scripted ? scripted : &dispatch->empty;
  dispatch->last = NULL;
  return old == &dispatch->empty ? NULL : old;
}

const mrpc_map *mrpc_dispatch_native(const mrpc_dispatch *dispatch) {
  return &dispatch->native;
}

const mrpc_map *mrpc_dispatch_scripted(const mrpc_dispatch *dispatch) {
  return dispatch->scripted;
}
