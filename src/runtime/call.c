/* SPDX-License-Identifier: MIT
 *
 * One call of a Lua method: params to arguments, a task, its result to the
 * answer. The arguments are pushed inside the task's coroutine, since pushing
 * may throw; the result is written outside of it, straight behind its
 * envelope, since that can't. */
#include "rpc/call.h"

#include <lauxlib.h>
#include <string.h>

#include "json/write.h"
#include "runtime/args.h"
#include "runtime/convert.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/peer.h"
#include "runtime/schedule.h"
#include "runtime/serial.h"
#include "runtime/text.h"

enum {
  WHY_BYTES = 160, /* of a message about params */
  SCRATCH_KEEP = 1 << 16
};

/* Lua's words, as its string library says them in a common error too. */
static const char no_memory[] = "not enough memory";

static int body(lua_State *L);
static int call_function(lua_State *L, int nargs);
static int run_function(lua_State *L, int status, lua_KContext ctx);
static int finish_body(lua_State *L, int status, lua_KContext ctx);
static void on_end(mrpc_task *task, lua_State *co, int status);

/* Starting. */

static int take_task(mrpc_lua_method *method, mrpc_call *call,
                     mrpc_task **out) {
  mrpc_file *owner = method->owner;
  int rc = mrpc_task_take(method->runtime, owner, on_end, method, out);
  if (rc) return rc;
  (*out)->call = call;
  if (owner->group)
    rc = mrpc_serial_enter(*out, mrpc_call_peer(call), owner->group);
  if (rc) mrpc_task_discard(*out);
  return rc;
}

/* There is no task for the call: `rc` says why. */
MRPC_COLD static void refuse(const mrpc_lua_method *method, mrpc_call *call,
                             int rc) {
  if (rc == MRPC_ESTATE) {
    mrpc_call_error(call, MRPC_SHUTTING_DOWN, "Shutting down", NULL);
    return;
  }
  mrpc_log(method->runtime->env, MRPC_LOG_ERROR, "no memory to start a method",
           "method", method->base.name, NULL);
  mrpc_call_error(call, MRPC_INTERNAL_ERROR, "Internal error", NULL);
}

/* Nobody is told of a notification's error. */
static void log_notification(const mrpc_lua_method *method, int64_t code,
                             const char *message) {
  char text[24];
  mrpc_text number = mrpc_text_in(text, sizeof text);
  if (code < 0) mrpc_text_add(&number, "-");
  mrpc_text_addu(&number, code < 0 ? 0 - (uint64_t)code : (uint64_t)code);
  mrpc_log(method->runtime->env, MRPC_LOG_INFO, "notification failed", "method",
           method->base.name, "code", text, "error", message, NULL);
}

static void refuse_params(const mrpc_lua_method *method, mrpc_call *call,
                          const char *why) {
  if (mrpc_call_is_notification(call))
    log_notification(method, MRPC_INVALID_PARAMS, why);
  mrpc_call_error(call, MRPC_INVALID_PARAMS, why, NULL);
}

void mrpc_lua_method_start(mrpc_call *call, void *ud) {
  mrpc_lua_method *method = ud;
  mrpc_args args;
  mrpc_task *task;
  char why[WHY_BYTES];
  uint32_t params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  if (mrpc_args_match(method, doc, params, &args, why, sizeof why)) {
    refuse_params(method, call, why);
    return;
  }
  int rc = take_task(method, call, &task);
  if (rc) {
    refuse(method, call, rc);
    return;
  }
  task->args = &args;
  task->limit_ns = method->runtime->handler_ns;
  lua_pushcfunction(task->co, body);
  mrpc_task_run(task, 0);
}

/* stack: [] -> [handler value...] -> as finish_body */
static int body(lua_State *L) {
  mrpc_task *task = mrpc_runtime_of(L)->current;
  const mrpc_lua_method *method = task->ud;
  const mrpc_args *args = task->args;
  lua_pushcfunction(L, mrpc_error_handler);
  lua_rawgeti(L, LUA_REGISTRYINDEX, method->function);
  int nargs = mrpc_args_push(L, args);
  if (mrpc_serial_must_wait(task)) return mrpc_serial_wait(L, run_function);
  return call_function(L, nargs);
}

/* stack: [handler function argument...] -> as finish_body */
static int run_function(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  return call_function(L, lua_gettop(L) - 2);
}

/* stack: [handler function argument...] -> as finish_body */
static int call_function(lua_State *L, int nargs) {
  return finish_body(L, lua_pcallk(L, nargs, LUA_MULTRET, 1, 0, finish_body),
                     0);
}

/* `return nil, err`. stack: [handler nil err ...] -> [error value] */
MRPC_COLD static int fail_by_value(lua_State *L) {
  mrpc_error_object object;
  lua_settop(L, 3);
  if (mrpc_error_object_get(L, 3, &object))
    lua_settop(L, 3);
  else
    mrpc_failure_push(L);
  mrpc_runtime_of(L)->current->status = LUA_ERRRUN;
  return 1;
}

/* `return nil, err` is a failure, Lua's own way to tell of one.
 * stack: [handler value...] -> [result] or [] or [error value] */
static int finish_body(lua_State *L, int status, lua_KContext ctx) {
  (void)ctx;
  if (status != LUA_OK && status != LUA_YIELD) {
    mrpc_runtime_of(L)->current->status = status;
    return 1;
  }
  int top = lua_gettop(L);
  if (top <= 2 || !lua_isnil(L, 2) || lua_isnil(L, 3)) {
    if (top > 2) lua_settop(L, 2);
    return top >= 2;
  }
  return fail_by_value(L);
}

/* Errors. */

/* {"message": ..., "traceback": [...]}, for developers. */
static void write_details(mrpc_buf *buf, const mrpc_failure *failure) {
  const char *at = failure->traceback, *line_end;
  mrpc_buf_lit(buf, "{\"message\":");
  mrpc_json_write_text(buf, failure->text, failure->text_len);
  mrpc_buf_lit(buf, ",\"traceback\":[");
  for (; (line_end = strchr(at, '\n')); at = line_end + 1) {
    if (at != failure->traceback) mrpc_buf_addc(buf, ',');
    mrpc_json_write_text(buf, at, (size_t)(line_end - at));
  }
  mrpc_buf_lit(buf, "]}");
}

/* Answers with what is in the scratch buffer as data, if that went well. */
static void fail_with_scratch(mrpc_task *task, int64_t code,
                              const char *message, size_t len) {
  mrpc_buf *data = &task->runtime->scratch;
  bool is_whole = data->err == MRPC_OK && data->len > 0;
  mrpc_call_fail(task->call, code, message, len, is_whole ? data->data : NULL,
                 is_whole ? data->len : 0);
  mrpc_buf_truncate(data, 0);
  mrpc_buf_relax(data, SCRATCH_KEEP);
}

/* What the author must see and the peer need not. */
static void fail_inside(mrpc_task *task, int code, const char *message,
                        const mrpc_failure *failure) {
  const mrpc_lua_method *method = task->ud;
  mrpc_runtime *rt = task->runtime;
  mrpc_log(rt->env, MRPC_LOG_ERROR, "method failed", "method",
           method->base.name, "error", failure->text,
           *failure->traceback ? "traceback" : NULL, failure->traceback, NULL);
  mrpc_buf_truncate(&rt->scratch, 0);
  if (rt->dev) write_details(&rt->scratch, failure);
  fail_with_scratch(task, mrpc_dispatch_code(rt->dispatch, code), message,
                    strlen(message));
}

static void fail_with_text(mrpc_task *task, int code, const char *message,
                           const char *text) {
  mrpc_failure failure = {.text = text,
                          .text_len = strlen(text),
                          .message = text,
                          .file = "",
                          .traceback = ""};
  fail_inside(task, code, message, &failure);
}

static void fail_killed(mrpc_task *task) {
  if (task->kill_code == MRPC_SHUTTING_DOWN)
    mrpc_call_error(task->call, MRPC_SHUTTING_DOWN, "Shutting down", NULL);
  else if (task->kill_code == MRPC_SCRIPT_LIMIT)
    fail_with_text(task, MRPC_SCRIPT_LIMIT, "Script limit exceeded",
                   task->kill_why);
  else
    fail_with_text(task, MRPC_INTERNAL_ERROR, "Internal error", task->kill_why);
}

/* It comes from elsewhere, and nobody caught it: the author must see that, and
 * developers where, if it has no data of its own. */
static void tell_foreign(mrpc_task *task, const mrpc_failure *failure,
                         bool is_told) {
  const mrpc_lua_method *method = task->ud;
  mrpc_runtime *rt = task->runtime;
  mrpc_log(rt->env, is_told ? MRPC_LOG_DEBUG : MRPC_LOG_WARN, "method failed",
           "method", method->base.name, "file", method->owner->path, "error",
           failure->text, *failure->traceback ? "traceback" : NULL,
           failure->traceback, NULL);
  if (rt->dev && !rt->scratch.len) write_details(&rt->scratch, failure);
}

/* An error that was meant for the peer. Its data is on top. */
static void fail_object(mrpc_task *task, lua_State *co,
                        const mrpc_error_object *object) {
  mrpc_encode_error fault;
  mrpc_failure failure;
  mrpc_buf *data = &task->runtime->scratch;
  mrpc_buf_truncate(data, 0);
  if (!lua_isnil(co, -1)) {
    int rc = mrpc_encode(co, -1, data, "data", &fault);
    if (rc == MRPC_ETYPE) {
      fail_with_text(task, MRPC_INTERNAL_ERROR, "Internal error", fault.text);
      return;
    }
  }
  if (mrpc_foreign_get(co, -2, &failure))
    tell_foreign(task, &failure, mrpc_foreign_is_told(co, -2));
  else if (mrpc_call_is_notification(task->call))
    log_notification(task->ud, object->code, object->message);
  fail_with_scratch(task, object->code, object->message, object->message_len);
}

MRPC_COLD static void fail(mrpc_task *task, lua_State *co, int status) {
  mrpc_error_object object;
  mrpc_failure failure;
  if (task->killed) {
    fail_killed(task);
  } else if (task->cancelled) {
    mrpc_call_error(task->call, MRPC_REQUEST_CANCELLED, "Request cancelled",
                    NULL);
  } else if (mrpc_error_object_get(co, -1, &object)) {
    fail_object(task, co, &object);
  } else {
    mrpc_failure_get(co, -1, &failure);
    if (status == LUA_ERRMEM || !strcmp(failure.message, no_memory))
      fail_inside(task, MRPC_SCRIPT_LIMIT, "Script limit exceeded", &failure);
    else
      fail_inside(task, MRPC_INTERNAL_ERROR, "Internal error", &failure);
  }
}

/* Answering. */

MRPC_COLD static void log_unsent(const mrpc_task *task, int rc) {
  const mrpc_lua_method *method = task->ud;
  const mrpc_runtime *rt = task->runtime;
  char text[80];
  mrpc_text why = mrpc_text_in(text, sizeof text);
  if (rc == MRPC_ELIMIT) {
    mrpc_text_add(&why, "it exceeds limits.reply, ");
    mrpc_text_addu(&why, rt->limits.reply);
    mrpc_text_add(&why, " bytes");
  } else {
    mrpc_text_add(&why, mrpc_strerror(rc));
  }
  mrpc_log(rt->env, MRPC_LOG_ERROR, "result not sent", "method",
           method->base.name, "error", text, NULL);
}

static void reply(mrpc_task *task, lua_State *co) {
  mrpc_encode_error fault;
  mrpc_buf *buf = mrpc_call_open_result(task->call);
  int rc = mrpc_encode(co, 1, buf, "result", &fault);
  if (rc == MRPC_ETYPE) {
    mrpc_call_undo_result(task->call);
    fail_with_text(task, MRPC_INTERNAL_ERROR, "Internal error", fault.text);
    return;
  }
  if (rc && !buf->err) buf->err = rc;
  rc = mrpc_call_close_result(task->call);
  if (rc == MRPC_OK) return;
  log_unsent(task, rc);
}

static void on_end(mrpc_task *task, lua_State *co, int status) {
  if (task->caller) mrpc_lua_caller_end(task);
  if (status != LUA_OK)
    fail(task, co, status);
  else if (mrpc_call_is_notification(task->call))
    mrpc_call_reply(task->call, "", 0);
  else
    reply(task, co);
  if (task->queue) mrpc_serial_leave(task);
}
