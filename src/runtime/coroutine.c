/* SPDX-License-Identifier: MIT
 *
 * A coroutine that the script resumed comes back in one of four ways. By
 * returning or by a plain yield: its values are passed on, as Lua does. By an
 * error: passed on too. Or its task has left the state RUNNING meanwhile: then
 * somebody inside waits for the host, so the resumer yields in turn, out to
 * the host, marks the coroutine so that nobody else can resume it, and goes on
 * with it when the task is woken. And a killed task closes every coroutine on
 * its way out. */
#include "runtime/coroutine.h"

#include <lauxlib.h>

#include "runtime/limit.h"
#include "runtime/protect.h"
#include "runtime/task.h"

/* What a resumer does with the outcome; its continuation's context. */
enum { RESUME, WRAP };

static int go_on(lua_State *L, lua_State *co, int nargs, int style);

static mrpc_thread *thread_of(lua_State *L) {
  return *(mrpc_thread **)lua_getextraspace(L);
}

static void mark(lua_State *co, mrpc_thread *thread) {
  *(mrpc_thread **)lua_getextraspace(co) = thread;
}

static lua_State *check_coroutine(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  return co;
}

/* Resuming. */

/* Runs pending __close metamethods of `co` under the eyes of the limits. */
static int close_coroutine(lua_State *L, lua_State *co) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  rt->running = co;
  int status = lua_resetthread(co);
  rt->running = L;
  if (rt->alarmed) mrpc_limit_arm(L);
  return status;
}

/* stack: [error] -> [false error] */
static int fail_resume(lua_State *L) {
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

/* As Lua's own: closes the coroutine and adds the place to a message. */
static int fail_wrap(lua_State *L, lua_State *co) {
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_pop(L, 1);
    status = close_coroutine(L, co);
    lua_xmove(co, L, 1);
  }
  if (mrpc_is_killed(L)) return mrpc_limit_throw(L);
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int fail(lua_State *L, lua_State *co, int style) {
  return style == RESUME ? fail_resume(L) : fail_wrap(L, co);
}

static int pass_results(lua_State *L, lua_State *co, int n, int style) {
  if (!lua_checkstack(L, n + 1)) {
    lua_pop(co, n);
    lua_pushliteral(L, "too many results to resume");
    return fail(L, co, style);
  }
  if (style == RESUME) lua_pushboolean(L, 1);
  lua_xmove(co, L, n);
  return style == RESUME ? n + 1 : n;
}

/* The task was woken: on with the coroutine that waits, or waits inside. */
static int resume_again(lua_State *L, int status, lua_KContext ctx) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  int index = ctx == RESUME ? 1 : lua_upvalueindex(1);
  lua_State *co = lua_tothread(L, index);
  (void)status;
  mark(co, &rt->free_thread);
  int nargs = rt->current->leaf == co ? rt->current->nvalues : 0;
  return go_on(L, co, nargs, (int)ctx);
}

static int go_on(lua_State *L, lua_State *co, int nargs, int style) {
  mrpc_runtime *rt = mrpc_runtime_of(L);
  mrpc_task *task = rt->current;
  uint32_t pin = lua_isyieldable(L) ? 0 : 1;
  int n;
  rt->pins += pin;
  rt->running = co;
  int status = lua_resume(co, L, nargs, &n);
  rt->running = L;
  rt->pins -= pin;
  if (rt->alarmed) mrpc_limit_arm(L);
  if (status != LUA_OK && mrpc_is_killed(L)) {
    bool is_mute = task && task->mute == co;
    if (lua_status(co) != LUA_OK && !is_mute) close_coroutine(L, co);
    return mrpc_limit_throw(L);
  }
  if (status == LUA_YIELD && task && task->state != MRPC_TASK_RUNNING) {
    mark(co, &rt->waiting_thread);
    return lua_yieldk(L, 0, style, resume_again);
  }
  if (status == LUA_OK || status == LUA_YIELD)
    return pass_results(L, co, n, style);
  lua_xmove(co, L, 1);
  return fail(L, co, style);
}

static int start(lua_State *L, lua_State *co, int nargs, int style) {
  if (thread_of(co)->kind != MRPC_THREAD_FREE) {
    lua_pushliteral(L, "cannot resume non-suspended coroutine");
    return fail(L, co, style);
  }
  if (!lua_checkstack(co, nargs)) {
    lua_pushliteral(L, "too many arguments to resume");
    return fail(L, co, style);
  }
  lua_xmove(L, co, nargs);
  return go_on(L, co, nargs, style);
}

static int co_resume(lua_State *L) {
  lua_State *co = check_coroutine(L);
  return start(L, co, lua_gettop(L) - 1, RESUME);
}

static int call_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  return start(L, co, lua_gettop(L), WRAP);
}

/* The rest of the library. */

static int co_create(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  return 1;
}

static int co_wrap(lua_State *L) {
  co_create(L);
  lua_pushcclosure(L, call_wrapped, 1);
  return 1;
}

/* Not co_yield, which formatters take for C++. */
static int yield_values(lua_State *L) {
  if (thread_of(L)->kind == MRPC_THREAD_TASK)
    return luaL_error(L,
                      "attempt to yield from outside a coroutine "
                      "(rpc.await waits for a callback)");
  return lua_yield(L, lua_gettop(L));
}

static const char *status_of(lua_State *L, lua_State *co) {
  lua_Debug ar;
  if (L == co) return "running";
  if (thread_of(co)->kind != MRPC_THREAD_FREE) return "normal";
  int status = lua_status(co);
  if (status == LUA_YIELD) return "suspended";
  if (status != LUA_OK) return "dead";
  if (lua_getstack(co, 0, &ar)) return "normal";
  return lua_gettop(co) == 0 ? "dead" : "suspended";
}

static int co_status(lua_State *L) {
  lua_pushstring(L, status_of(L, check_coroutine(L)));
  return 1;
}

static int co_isyieldable(lua_State *L) {
  lua_State *co = lua_isnone(L, 1) ? L : check_coroutine(L);
  bool is_script = thread_of(co)->kind == MRPC_THREAD_FREE;
  lua_pushboolean(L, is_script && lua_isyieldable(co));
  return 1;
}

/* A task's own coroutine is a script's main program. */
static int co_running(lua_State *L) {
  int is_main = lua_pushthread(L);
  lua_pushboolean(L, is_main || thread_of(L)->kind == MRPC_THREAD_TASK);
  return 2;
}

static int co_close(lua_State *L) {
  lua_State *co = check_coroutine(L);
  const char *status = status_of(L, co);
  if (*status != 's' && *status != 'd')
    return luaL_error(L, "cannot close a %s coroutine", status);
  int result = close_coroutine(L, co);
  if (mrpc_is_killed(L)) return mrpc_limit_throw(L);
  lua_pushboolean(L, result == LUA_OK);
  if (result == LUA_OK) return 1;
  lua_xmove(co, L, 1);
  return 2;
}

/* Lua makes these texts where nothing protects it, and a failing allocation
 * would end the process. A string that exists is found, not made. */
static void anchor_texts(lua_State *L) {
  static const char *const texts[] = {
      "cannot resume non-suspended coroutine", "cannot resume dead coroutine",
      "C stack overflow", "error in error handling"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    lua_pushstring(L, texts[i]);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &texts[i]);
  }
}

void mrpc_coroutine_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"create", co_create},
                                       {"resume", co_resume},
                                       {"running", co_running},
                                       {"status", co_status},
                                       {"wrap", co_wrap},
                                       {"yield", yield_values},
                                       {"isyieldable", co_isyieldable},
                                       {"close", co_close},
                                       {NULL, NULL}};
  anchor_texts(L);
  luaL_newlib(L, functions);
  lua_pushvalue(L, -1);
  lua_setglobal(L, "coroutine");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_insert(L, -2);
  lua_setfield(L, -2, "coroutine");
  lua_pop(L, 1);
}
