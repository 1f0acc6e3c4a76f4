/* SPDX-License-Identifier: MIT */
#include "runtime/event.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/api.h"
#include "runtime/error.h"
#include "runtime/peer.h"
#include "runtime/protect.h"

static const char *const names[MRPC_EVENTS] = {"connect", "disconnect",
                                               "reload", "shutdown"};

typedef struct hook {
  mrpc_link link; /* in runtime->hooks */
  mrpc_owned owned;
  mrpc_file *owner; /* it outlives the hook */
  int ref;          /* the function: a reference in the registry */
} hook;

void mrpc_events_init(mrpc_runtime *rt) {
  for (int i = 0; i < MRPC_EVENTS; i++) mrpc_list_init(&rt->hooks[i]);
}

/* Running. */

static void on_end(mrpc_task *task, lua_State *co, int status) {
  if (status != LUA_OK) mrpc_failure_log(task, co, "event handler failed");
}

/* One that the host's end waits for. */
static void on_last_end(mrpc_task *task, lua_State *co, int status) {
  mrpc_runtime *rt = task->runtime;
  on_end(task, co, status);
  if (--rt->end_tasks == 0 && rt->on_quiet) rt->on_quiet(rt->quiet_ud);
}

typedef struct start {
  const hook *hook;
  mrpc_peer *peer;
  mrpc_task *task;
} start;

/* Gives the task its function, its argument and its caller. The task's stack:
 * [body handler] -> [body handler function peer?]. stack: [start] -> [] */
static int prepare(lua_State *L) {
  const start *s = lua_touserdata(L, 1);
  mrpc_task *task = s->task;
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->hook->ref);
  if (s->peer) {
    mrpc_lua_peer_push(L, s->peer);
    lua_pushvalue(L, -1);
    task->caller = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  int n = s->peer ? 2 : 1;
  if (!lua_checkstack(task->co, n)) return luaL_error(L, "not enough memory");
  lua_xmove(L, task->co, n);
  return 0;
}

static int run(mrpc_runtime *rt, const hook *h, mrpc_event event,
               mrpc_peer *peer) {
  start s = {h, peer, NULL};
  bool is_last = event == MRPC_EVENT_DISCONNECT || event == MRPC_EVENT_SHUTDOWN;
  int rc = mrpc_task_new(rt, h->owner, is_last ? on_last_end : on_end, NULL,
                         &s.task);
  if (rc) return rc;
  rc = mrpc_protect(rt, prepare, &s);
  if (rc) {
    mrpc_task_discard(s.task);
    return rc;
  }
  s.task->limit_ns = rt->handler_ns;
  rt->end_tasks += is_last;
  if (event == MRPC_EVENT_CONNECT ||
      (event == MRPC_EVENT_SHUTDOWN && !rt->current))
    mrpc_task_start(s.task, peer ? 1 : 0);
  else
    mrpc_task_start_later(s.task, peer ? 1 : 0);
  return MRPC_OK;
}

/* Each hook goes to the end of the list before it runs, so that the walk
 * survives whatever it does to the others. Hooks of files that don't serve
 * yet are passed over. */
void mrpc_event_fire(mrpc_runtime *rt, mrpc_event event, mrpc_peer *peer) {
  mrpc_link *all = &rt->hooks[event], done;
  mrpc_list_init(&done);
  while (!mrpc_list_is_empty(all)) {
    hook *h = mrpc_list_of(all->next, hook, link);
    mrpc_list_remove(&h->link);
    mrpc_list_insert(&done, &h->link);
    if (!h->owner->generation) continue;
    int rc = run(rt, h, event, peer);
    if (rc && rc != MRPC_ESTATE)
      mrpc_log(rt->env, MRPC_LOG_ERROR, "event handler can't run", "event",
               names[event], "error", mrpc_strerror(rc), NULL);
  }
  mrpc_list_insert(&done, all);
  mrpc_list_remove(&done);
}

/* The host's end. */

void mrpc_runtime_shutdown(mrpc_runtime *rt, mrpc_runtime_fn on_quiet,
                           void *ud) {
  bool is_first = !rt->is_shut;
  rt->is_shut = true;
  rt->on_quiet = on_quiet;
  rt->quiet_ud = ud;
  if (is_first) mrpc_event_fire(rt, MRPC_EVENT_SHUTDOWN, NULL);
}

bool mrpc_runtime_is_quiet(const mrpc_runtime *rt) {
  return rt->end_tasks == 0;
}

/* What scripts see. */

static void on_close(mrpc_owned *owned) {
  hook *h = mrpc_list_of(owned, hook, owned);
  mrpc_runtime *rt = h->owner->runtime;
  mrpc_list_remove(&h->link);
  luaL_unref(rt->L, LUA_REGISTRYINDEX, h->ref);
  mrpc_mem_free(&rt->heap, h, sizeof *h);
}

static int check_event(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  for (int i = 0; i < MRPC_EVENTS; i++)
    if (!strcmp(name, names[i])) return i;
  const char *why = lua_pushfstring(
      L,
      "there is no event '%s', only connect, disconnect, reload and shutdown",
      name);
  return luaL_argerror(L, 1, why);
}

/* rpc.on(event, fn), while a file loads. stack: [event function] -> [] */
static int on(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  const mrpc_task *by = rt->current;
  int event = check_event(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  if (!by || !mrpc_file_is_loading(by->owner))
    return luaL_error(L,
                      "rpc.on is for the top level of a file: call it while "
                      "the file is loaded");
  int ref = luaL_ref(L, LUA_REGISTRYINDEX);
  hook *h = mrpc_mem_new(&rt->heap, sizeof *h);
  if (!h) {
    luaL_unref(L, LUA_REGISTRYINDEX, ref);
    return luaL_error(L, "not enough memory");
  }
  h->owner = by->owner;
  h->ref = ref;
  h->owned.on_close = on_close;
  (void)mrpc_file_own(h->owner, &h->owned); /* it is loading */
  mrpc_list_insert(&rt->hooks[event], &h->link);
  return 0;
}

void mrpc_event_open(lua_State *L) {
  lua_pushcfunction(L, on);
  lua_setfield(L, -2, "on");
}
