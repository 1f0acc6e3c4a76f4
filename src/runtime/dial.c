/* SPDX-License-Identifier: MIT
 *
 * Between the embedder, who tells of a connection's opening and end whenever
 * they come, and the script, which may have gone by then, stands a dialled: it
 * lives until the last of the embedder's callbacks. A connection that begins by
 * a handshake is handed over when that is through. */
#include "runtime/dial.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/ask.h"
#include "runtime/callback.h"
#include "runtime/embedded.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/peer.h"
#include "runtime/protect.h"

static const char anchor_key; /* in the registry: its address counts */

typedef struct dialled {
  mrpc_link link; /* in runtime->dialled */
  mrpc_env *env;
  mrpc_runtime *runtime; /* NULL: it has gone */
  mrpc_task *waiter;     /* parked until it is open; NULL: nobody waits */
  mrpc_peer *peer;       /* on its way to the waiter; NULL: it isn't */
  int on_close; /* the script's function: a reference in the registry */
} dialled;

/* Life. */

static void forget(dialled *d) {
  mrpc_list_remove(&d->link);
  if (d->runtime) luaL_unref(d->runtime->L, LUA_REGISTRYINDEX, d->on_close);
  mrpc_mem_free(&d->env->mem, d, sizeof *d);
}

void mrpc_dial_init(mrpc_runtime *rt) {
  mrpc_list_init(&rt->dialled);
}

void mrpc_dial_free(mrpc_runtime *rt) {
  while (!mrpc_list_is_empty(&rt->dialled)) {
    dialled *d = mrpc_list_of(rt->dialled.next, dialled, link);
    mrpc_list_remove(&d->link);
    d->runtime = NULL;
    d->waiter = NULL;
    if (d->peer) mrpc_peer_drop(d->peer);
    d->peer = NULL;
  }
}

/* What the embedder tells. */

/* stack: [] -> [peer] */
static void push_peer(lua_State *L, mrpc_peer *peer) {
  mrpc_lua_peer_push(L, peer);
  ((mrpc_lua_peer *)lua_touserdata(L, -1))->is_dialled = true;
}

/* Nobody else is to be told of its opening. stack: [dialled] -> [] */
static int mark(lua_State *L) {
  push_peer(L, ((const dialled *)lua_touserdata(L, 1))->peer);
  return 0;
}

/* stack: [dialled] -> []; the results go to the waiter */
static int push_result(lua_State *L) {
  const dialled *d = lua_touserdata(L, 1);
  const mrpc_dialer *dialer = &d->runtime->dialer;
  lua_State *to = mrpc_task_values(d->waiter);
  if (!lua_checkstack(to, 2)) return luaL_error(L, "not enough memory");
  if (d->peer) {
    push_peer(L, d->peer);
    lua_pushnil(L);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, dialer->error(dialer->ud));
  }
  lua_xmove(L, to, 2);
  return 0;
}

/* The waiter gets the peer, or the reason. */
static void hand_over(dialled *d) {
  mrpc_task *waiter = d->waiter;
  mrpc_peer *peer = d->peer;
  int n = 0;
  if (waiter && !mrpc_protect(d->runtime, push_result, d)) n = 2;
  d->waiter = NULL;
  d->peer = NULL;
  if (peer && !n) mrpc_peer_drop(peer);
  if (waiter) mrpc_task_wake_later(waiter, n);
}

static void on_open(mrpc_peer *peer, void *ud) {
  dialled *d = ud;
  bool waits = peer && d->waiter && mrpc_peer_is_opening(peer);
  d->peer = peer;
  if (waits && !mrpc_protect(d->runtime, mark, d)) return;
  hand_over(d);
  if (!peer) forget(d);
}

void mrpc_dial_ready(mrpc_runtime *rt, mrpc_peer *peer) {
  for (mrpc_link *l = rt->dialled.next; l != &rt->dialled; l = l->next) {
    dialled *d = mrpc_list_of(l, dialled, link);
    if (d->peer != peer) continue;
    hand_over(d);
    return;
  }
}

/* Runs the script's function with the reason. stack: [dialled] -> [] */
static int tell_end(lua_State *L) {
  const dialled *d = lua_touserdata(L, 1);
  const mrpc_dialer *dialer = &d->runtime->dialer;
  lua_rawgeti(L, LUA_REGISTRYINDEX, d->on_close);
  lua_pushstring(L, dialer->error(dialer->ud));
  mrpc_callback_run(L, 1, "the end of a connection couldn't be told");
  return 0;
}

/* At the host's end all connections go, which is no news. */
static void on_close(mrpc_peer *peer, void *ud) {
  dialled *d = ud;
  (void)peer;
  bool was_open = !d->peer;
  d->peer = NULL;
  hand_over(d);
  bool is_news = d->runtime && !d->runtime->is_shut && was_open;
  if (is_news) (void)mrpc_protect(d->runtime, tell_end, d);
  forget(d);
}

/* The chunk of a Lua file that stands in the program. stack: [] -> [chunk] */
static void push_embedded(lua_State *L, const char *name, const char *chunk) {
  const mrpc_embedded *file = mrpc_embedded_files;
  while (strcmp(file->name, name) != 0) file++;
  if (luaL_loadbufferx(L, file->text, file->len, chunk, "t")) lua_error(L);
}

/* What lua/connect.lua calls. */

/* The wait has ended before the connection was there. */
static void give_up(mrpc_task *task, void *ud) {
  dialled *d = ud;
  mrpc_peer *peer = d->peer;
  (void)task;
  d->waiter = NULL;
  d->peer = NULL;
  if (peer) mrpc_peer_close(peer, NULL);
}

/* stack: [url seconds header peer reason] or [url seconds header]
 * -> [peer reason] */
static int finish_open(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  if (lua_gettop(L) == 5) return 2;
  lua_pushnil(L);
  lua_pushliteral(L, "no connection in time");
  return 2;
}

/* open(url, seconds, on_close, header): the peer, or nil, why not, and whether
 * the address is to blame. `on_close` is called with the reason, which may be
 * "". stack: [url seconds function header?] -> [peer reason is_bad] */
static int open_link(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  const char *url = luaL_checkstring(L, 1);
  double seconds = luaL_checknumber(L, 2);
  const char *header = luaL_optstring(L, 4, "");
  lua_settop(L, 4);
  lua_insert(L, 3);
  mrpc_task *task = mrpc_task_check_wait(L);
  mrpc_callback_pack(L, 4);
  int ref = luaL_ref(L, LUA_REGISTRYINDEX); /* nothing throws from here on */
  dialled *d = mrpc_mem_new(&rt->env->mem, sizeof *d);
  int rc = MRPC_ENOMEM;
  if (d) {
    *d = (dialled){
        .env = rt->env, .runtime = rt, .waiter = task, .on_close = ref};
    mrpc_list_insert(&rt->dialled, &d->link);
    rc = mrpc_task_start_timer(task, seconds, true);
    if (!rc)
      rc = rt->dialer.connect(rt->dialer.ud, url, header, on_open, on_close, d);
    if (!rc) return mrpc_task_park(L, give_up, d, finish_open, 0);
    forget(d);
  } else {
    luaL_unref(L, LUA_REGISTRYINDEX, ref);
  }
  mrpc_timer_stop(&rt->env->timers, &task->timer);
  if (rc == MRPC_ENOMEM) return luaL_error(L, "not enough memory");
  lua_pushnil(L);
  lua_pushstring(L, rt->dialer.error(rt->dialer.ud));
  lua_pushboolean(L, rc == MRPC_ESYNTAX);
  return 3;
}

/* usable(peer): can it be called now? Then a call that fails was sent. An HTTP
 * connection that owes the answer to a call that was given up can't.
 * stack: [peer] -> [boolean] */
static int usable(lua_State *L) {
  const mrpc_lua_peer *p = mrpc_lua_peer_get(L, 1);
  lua_pushboolean(L, !mrpc_lua_peer_is_closed(p) &&
                         mrpc_peer_can_call(p->peer) &&
                         !mrpc_peer_is_moot(p->peer));
  return 1;
}

/* reason(peer): why it can't be called any more, as far as that is known; "".
 * stack: [peer] -> [text] */
static int reason(lua_State *L) {
  mrpc_ask_push_reason(L, mrpc_lua_peer_check(L, 1));
  return 1;
}

/* part(name): the chunk of another file of rpc.connect's.
 * stack: [name] -> [chunk] */
static int part(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  push_embedded(L, name, lua_pushfstring(L, "=rpc.%s", name));
  return 1;
}

/* The codes of a timeout and of a peer that has gone, and limits.wait.
 * stack: [] -> [timed_out gone wait] */
static int constants(lua_State *L) {
  const mrpc_runtime *rt = mrpc_runtime_of(L);
  lua_pushinteger(L, mrpc_dispatch_code(rt->dispatch, MRPC_TIMED_OUT));
  lua_pushinteger(L, mrpc_dispatch_code(rt->dispatch, MRPC_PEER_GONE));
  lua_pushnumber(L, rt->limits.wait);
  return 3;
}

/* Errors that no script made; `is_told`: the log knows of what is behind them.
 * stack: [reason is_told ... error object] -> [] */
static int raise_told(lua_State *L) {
  if (lua_toboolean(L, 2)) mrpc_foreign_set_told(L);
  return lua_error(L);
}

/* raise_late(reason, is_told), whose reason may be nil.
 * stack: [reason is_told] -> [] */
static int raise_late(lua_State *L) {
  const mrpc_runtime *rt = mrpc_runtime_of(L);
  const char *why = luaL_optstring(L, 1, "");
  lua_settop(L, 2);
  lua_pushfstring(L, "Timed out%s%s", *why ? ": " : "", why);
  mrpc_error_push(L, mrpc_dispatch_code(rt->dispatch, MRPC_TIMED_OUT),
                  lua_tostring(L, 3));
  return raise_told(L);
}

/* raise_gone(reason, is_told). stack: [reason is_told] -> [] */
static int raise_gone(lua_State *L) {
  lua_settop(L, 2);
  mrpc_error_push_gone(L, luaL_optstring(L, 1, ""));
  return raise_told(L);
}

/* Anchors: what belongs to a file, and hears of its end. */

typedef struct anchor {
  mrpc_owned owned;
  mrpc_runtime *runtime;
  int fn; /* called at the end; a reference in the registry */
} anchor;

/* stack: [anchor] -> [] */
static int tell_anchor(lua_State *L) {
  const anchor *a = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, a->fn);
  mrpc_callback_run(L, 0, "a client couldn't be closed");
  return 0;
}

static void lift(anchor *a) {
  mrpc_owned_remove(&a->owned);
  luaL_unref(a->runtime->L, LUA_REGISTRYINDEX, a->fn);
  a->fn = LUA_NOREF;
}

static void on_retire(mrpc_owned *owned) {
  anchor *a = mrpc_list_of(owned, anchor, owned);
  (void)mrpc_protect(a->runtime, tell_anchor, a);
  lift(a);
}

/* stack: [anchor] -> [] */
static int lift_anchor(lua_State *L) {
  lift(lua_touserdata(L, 1));
  return 0;
}

/* own(fn): an anchor in the file whose code runs. `fn`, which belongs to no
 * file, is called when that is replaced; not when the anchor is collected.
 * stack: [function] -> [anchor] */
static int own(lua_State *L) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  anchor *a = lua_newuserdatauv(L, sizeof *a, 0);
  *a = (anchor){.runtime = rt, .fn = LUA_NOREF};
  a->owned.on_close = on_retire;
  mrpc_list_init(&a->owned.link);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &anchor_key);
  lua_setmetatable(L, -2);
  lua_insert(L, 1);
  a->fn = luaL_ref(L, LUA_REGISTRYINDEX);
  if (!rt->current || rt->closing ||
      mrpc_file_own(rt->current->owner, &a->owned))
    return luaL_error(L, "no loaded file is there to own a connection");
  return 1;
}

void mrpc_dial_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", open_link},
                                       {"usable", usable},
                                       {"reason", reason},
                                       {"constants", constants},
                                       {"own", own},
                                       {"tell", mrpc_ask_tell},
                                       {"part", part},
                                       {"raise_late", raise_late},
                                       {"raise_gone", raise_gone},
                                       {NULL, NULL}};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, lift_anchor);
  lua_setfield(L, -2, "__gc");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &anchor_key);
  push_embedded(L, "connect", "=rpc.connect");
  lua_pushvalue(L, -2);
  luaL_newlib(L, functions);
  lua_pushboolean(L, mrpc_runtime_of(L)->dialer.connect != NULL);
  lua_setfield(L, -2, "is_granted");
  lua_call(L, 2, 0);
}
