/* SPDX-License-Identifier: MIT
 *
 * What a script says to a peer: calls and notifications, how far a call is,
 * and the end.
 *
 * A task waits for one thing at a time, so what a call out needs stands in the
 * task itself. The core holds the other end by the call's id: an answer wakes
 * the task, and whatever else ends the wait gives the call up, so that no
 * answer finds a task that has gone. */
#include "runtime/ask.h"

#include <lauxlib.h>
#include <string.h>

#include "rpc/envelope.h"
#include "runtime/api.h"
#include "runtime/convert.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/protect.h"
#include "runtime/topic.h"

enum { SCRATCH_KEEP = 1 << 16 };

static const char no_memory[] = "not enough memory";
static const char bad_name[] = "a method's name must be valid UTF-8";

void mrpc_ask_push_reason(lua_State *L, const mrpc_peer *peer) {
  char why[MRPC_REASON_SIZE] = "";
  if (peer) mrpc_peer_reason(peer, why, sizeof why);
  lua_pushstring(L, why);
}

/* Never returns. */
static int raise_gone(lua_State *L, const mrpc_peer *peer) {
  mrpc_ask_push_reason(L, peer);
  return mrpc_error_raise_gone(L, lua_tostring(L, -1));
}

/* Arguments. */

mrpc_lua_peer *mrpc_lua_peer_check_usable(lua_State *L, int index) {
  mrpc_lua_peer *p = mrpc_lua_peer_get(L, index);
  if (p->is_http)
    luaL_error(L,
               "http can't carry calls to the caller; use a WebSocket, TCP, a "
               "Unix socket or stdio");
  if (mrpc_lua_peer_is_closed(p)) raise_gone(L, p->peer);
  return p;
}

const char *mrpc_message_check(lua_State *L, int index) {
  size_t len;
  luaL_checktype(L, index, LUA_TSTRING);
  const char *method = lua_tolstring(L, index, &len);
  luaL_argcheck(L, strlen(method) == len, index,
                "a method's name can't hold a zero byte");
  int type = lua_type(L, index + 1);
  if (type > LUA_TNIL && type != LUA_TTABLE)
    luaL_argerror(L, index + 1,
                  lua_pushfstring(L, "params must be a table or nil, not a %s",
                                  luaL_typename(L, index + 1)));
  return method;
}

/* The timeout in the options at `index`, in seconds. */
static double check_options(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return mrpc_runtime_of(L)->limits.wait;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "timeout") != 0)
      luaL_argerror(L, index,
                    lua_pushfstring(L, "there is no option '%s', only timeout",
                                    *key ? key : luaL_typename(L, -2)));
  }
  if (lua_getfield(L, index, "timeout") == LUA_TNIL)
    return mrpc_runtime_of(L)->limits.wait;
  bool is_number = lua_type(L, -1) == LUA_TNUMBER;
  double seconds = lua_tonumber(L, -1);
  luaL_argcheck(L, is_number && seconds >= 0, index,
                "timeout must be a number of seconds that isn't negative");
  lua_pop(L, 1);
  return seconds > 0 ? seconds : 1e-9; /* 0 would be the default */
}

/* The empty scratch buffer. */
static mrpc_buf *take_scratch(lua_State *L) {
  mrpc_buf *buf = &mrpc_runtime_of(L)->scratch;
  mrpc_buf_truncate(buf, 0);
  mrpc_buf_relax(buf, SCRATCH_KEEP);
  return buf;
}

/* Writes the value at `index`; raises what is wrong with it. */
static void write_value(lua_State *L, int index, mrpc_buf *buf,
                        const char *root) {
  mrpc_encode_error fault;
  int rc = mrpc_encode(L, index, buf, root, &fault);
  if (rc == MRPC_ETYPE) luaL_error(L, "%s", fault.text);
  if (!rc) rc = buf->err;
  if (rc == MRPC_ELIMIT) luaL_error(L, "%s: larger than limits.reply", root);
  if (rc) luaL_error(L, "%s", no_memory);
}

static void end_text(lua_State *L, mrpc_buf *buf, char last) {
  mrpc_buf_addc(buf, last);
  if (buf->err) luaL_error(L, "%s", no_memory);
}

/* The params at 3, NULL when there are none. */
static const char *write_params(lua_State *L) {
  if (lua_isnoneornil(L, 3)) return NULL;
  mrpc_buf *buf = take_scratch(L);
  write_value(L, 3, buf, "params");
  end_text(L, buf, '\0');
  return buf->data;
}

const mrpc_buf *mrpc_message_write(lua_State *L, int index) {
  size_t len;
  const char *method = lua_tolstring(L, index, &len);
  mrpc_buf *buf = take_scratch(L);
  int rc = mrpc_envelope_open_call(buf, method, len);
  if (rc == MRPC_ETYPE) luaL_argerror(L, index, bad_name);
  if (!lua_isnoneornil(L, index + 1)) {
    mrpc_buf_lit(buf, ",\"params\":");
    write_value(L, index + 1, buf, "params");
  }
  end_text(L, buf, '}');
  return buf;
}

/* It could not be sent. Never returns. */
static int raise_unsent(lua_State *L, const mrpc_peer *peer, int rc) {
  const mrpc_runtime *rt = mrpc_runtime_of(L);
  switch (rc) {
    case MRPC_ESTATE:
    case MRPC_ECLOSED: return raise_gone(L, peer);
    case MRPC_ELIMIT:
      return mrpc_error_raise(L, mrpc_dispatch_code(rt->dispatch, MRPC_BUSY),
                              "The peer is too slow: too much waits for it");
    case MRPC_ETYPE: return luaL_argerror(L, 2, bad_name);
    default: return luaL_error(L, "%s", no_memory);
  }
}

/* Calls. */

enum { ASK_ARGS = 4 };

typedef struct arrival {
  mrpc_task *task;
  const mrpc_peer *peer;
  const mrpc_doc *doc;
  uint32_t node;
} arrival;

/* stack: [arrival] -> []; the value goes to the task */
static int push_answer(lua_State *L) {
  const arrival *a = lua_touserdata(L, 1);
  lua_State *to = mrpc_task_values(a->task);
  if (a->doc)
    mrpc_push_node(L, a->doc, a->node);
  else
    lua_pushnil(L);
  if (a->task->is_refused) mrpc_foreign_mark(L);
  if (!lua_checkstack(to, 1)) return luaL_error(L, "%s", no_memory);
  lua_xmove(L, to, 1);
  return 0;
}

/* The peer won't be there any more when the task goes on. Without memory the
 * reason isn't told. stack: [arrival] -> []; the reason goes to the task */
static int push_reason(lua_State *L) {
  const arrival *a = lua_touserdata(L, 1);
  lua_State *to = mrpc_task_values(a->task);
  mrpc_ask_push_reason(L, a->peer);
  if (!lua_checkstack(to, 1)) return luaL_error(L, "%s", no_memory);
  lua_xmove(L, to, 1);
  return 0;
}

/* An answer comes from the loop, and its task goes on within the same read; a
 * failure may come from inside Lua code that closes a peer. */
static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  mrpc_task *task = ud;
  mrpc_runtime *rt = task->runtime;
  task->outcome = answer->result;
  task->is_refused = answer->is_error;
  arrival a = {.task = task, .peer = peer};
  if (answer->result) {
    bool has_reason = answer->result == MRPC_ECLOSED &&
                      mrpc_protect(rt, push_reason, &a) == MRPC_OK;
    mrpc_task_wake_later(task, has_reason);
    return;
  }
  a.doc = mrpc_peer_answer_doc(peer, &a.node);
  if (mrpc_protect(rt, push_answer, &a)) task->outcome = MRPC_ENOMEM;
  int nvalues = task->outcome ? 0 : 1;
  if (rt->current || task->sliced)
    mrpc_task_wake_later(task, nvalues);
  else
    mrpc_task_wake(task, nvalues);
}

/* The wait has ended otherwise. A peer that has ended has failed the call
 * before, so it is there. */
static void give_up(mrpc_task *task, void *ud) {
  mrpc_peer_cancel(ud, task->asked);
}

/* stack: [peer method params options answer or reason] -> [answer] */
static int finish_call(lua_State *L, int status, lua_KContext ctx) {
  const mrpc_task *task = mrpc_runtime_of(L)->current;
  (void)status;
  (void)ctx;
  switch (task->outcome) {
    case MRPC_OK: break;
    case MRPC_ETIMEOUT:
      return mrpc_error_raise(
          L, mrpc_dispatch_code(task->runtime->dispatch, MRPC_TIMED_OUT),
          "Timed out");
    case MRPC_ECLOSED:
      return mrpc_error_raise_gone(L, luaL_optstring(L, ASK_ARGS + 1, ""));
    default: return luaL_error(L, "%s", no_memory);
  }
  if (task->is_refused) return lua_error(L);
  if (lua_islightuserdata(L, -1)) lua_pushnil(L);
  return 1;
}

typedef int (*ask_fn)(mrpc_peer *peer, const char *method, const char *params,
                      double timeout, mrpc_answer_fn fn, void *ud, int64_t *id);

/* stack: [peer method params? options?] -> [result] */
static int ask(lua_State *L, ask_fn fn) {
  const mrpc_lua_peer *p = mrpc_lua_peer_check_usable(L, 1);
  const char *method = mrpc_message_check(L, 2);
  double seconds = check_options(L, 4);
  mrpc_task *task = mrpc_task_check_wait(L);
  const char *params = write_params(L);
  int rc = fn(p->peer, method, params, seconds, on_answer, task, &task->asked);
  if (rc) return raise_unsent(L, p->peer, rc);
  lua_settop(L, ASK_ARGS);
  return mrpc_task_park(L, give_up, p->peer, finish_call, 0);
}

/* peer:call(method, params, options).
 * stack: [peer method params? options?] -> [result] */
static int call(lua_State *L) {
  return ask(L, mrpc_peer_call);
}

int mrpc_ask_tell(lua_State *L) {
  return ask(L, mrpc_peer_tell);
}

/* peer:notify(method, params). stack: [peer method params?] -> [] */
static int notify(lua_State *L) {
  const mrpc_lua_peer *p = mrpc_lua_peer_check_usable(L, 1);
  const char *method = mrpc_message_check(L, 2);
  int rc = mrpc_peer_notify(p->peer, method, write_params(L));
  return rc ? raise_unsent(L, p->peer, rc) : 0;
}

/* The end. */

/* peer:close(reason): fine at any time. stack: [peer reason?] -> [] */
static int close_peer(lua_State *L) {
  mrpc_lua_peer *p = mrpc_lua_peer_get(L, 1);
  const char *reason = luaL_optstring(L, 2, NULL);
  if (reason) write_value(L, 2, take_scratch(L), "reason"); /* is it UTF-8? */
  if (mrpc_lua_peer_is_closed(p)) return 0;
  p->is_closed = true;
  mrpc_topic_leave(p);
  mrpc_peer_close(p->is_http ? mrpc_call_peer(p->call) : p->peer, reason);
  return 0;
}

static int closed(lua_State *L) {
  lua_pushboolean(L, mrpc_lua_peer_is_closed(mrpc_lua_peer_get(L, 1)));
  return 1;
}

void mrpc_ask_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"call", call},
                                     {"notify", notify},
                                     {"close", close_peer},
                                     {"closed", closed},
                                     {NULL, NULL}};
  luaL_setfuncs(L, methods, 0);
}

/* Progress. */

/* rpc.progress(value): did the caller ask, and was it told?
 * stack: [value] -> [boolean] */
static int progress(lua_State *L) {
  const mrpc_task *task = mrpc_runtime_of(L)->current;
  luaL_checkany(L, 1);
  mrpc_buf *text = take_scratch(L);
  write_value(L, 1, text, "value");
  int rc = MRPC_ENOTFOUND;
  mrpc_call *call = !task ? NULL : task->call ? task->call : task->helps;
  if (call) rc = mrpc_call_progress(call, text->data, text->len);
  if (rc == MRPC_ENOMEM) return luaL_error(L, "%s", no_memory);
  luaL_argcheck(L, rc != MRPC_EINVAL, 1,
                "of notifications/progress it must be a number or an object");
  lua_pushboolean(L, rc == MRPC_OK);
  return 1;
}

void mrpc_progress_open(lua_State *L) {
  lua_pushcfunction(L, progress);
  lua_setfield(L, -2, "progress");
}
