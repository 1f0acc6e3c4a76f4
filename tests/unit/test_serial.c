/* SPDX-License-Identifier: MIT
 *
 * rpc.serial: calls that take turns. */
#include "oom.h"
#include "stage.h"

static const char serial[] =
    "rpc.serial()\n"
    "local M, log = {}, {}\n"
    "function M.work(name, seconds)\n"
    "  log[#log + 1] = '+' .. name\n"
    "  if seconds then rpc.sleep(seconds) end\n"
    "  log[#log + 1] = '-' .. name\n"
    "  return name\n"
    "end\n"
    "function M.ask() return rpc.peer():call('what', {}) end\n"
    "function M.log() return table.concat(log, ' ') end\n"
    "return M\n";
static const char shared[] =
    "rpc.serial('name')\n"
    "return function(seconds) rpc.sleep(seconds) return 'a' end\n";
static const char late[] = "return function() rpc.serial() end\n";

static const char *hear(stage *s, const char *text) {
  if (text) stage_say(s, text);
  return stage_heard(s);
}

#define CALL(method, params, id)                                      \
  "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params \
  ",\"id\":" id "}"
#define RES(result, id) \
  "{\"jsonrpc\":\"2.0\",\"result\":" result ",\"id\":" id "}"
#define CANCEL(id)                                                             \
  "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":" id \
  "}}"
#define CANCELLED(id)                                                      \
  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32800,\"message\":\"Request " \
  "cancelled\"},\"id\":" id "}"

static void begin(stage *s, const mrpc_env_config *memory) {
  fake_put(&s->f, "init.lua", serial);
  fake_put(&s->f, "a.lua", shared);
  fake_put(&s->f, "b.lua", shared);
  fake_put(&s->f, "late.lua", late);
  if (stage_open(s, memory) == MRPC_OK &&
      mrpc_runtime_reload(s->runtime, true) == MRPC_OK)
    (void)stage_settle(s);
}

static void test_turns(void) {
  static stage s;
  begin(&s, NULL);
  is_str(hear(&s, CALL("work", "[\"a\",1]", "1")), "", "the first waits");
  is_str(hear(&s, CALL("work", "[\"b\"]", "2")), "", "the second queues");
  hear(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"work\",\"params\":[\"c\"]}");
  is_str(hear(&s, CALL("work", "[\"d\",1]", "3")), "", "so do others");
  stage_pass(&s, 1);
  is_str(hear(&s, NULL), RES("\"a\"", "1") "\n" RES("\"b\"", "2"),
         "who has waited lets go");
  is_str(hear(&s, CALL("log", "[]", "4")), "", "whatever the method");
  stage_pass(&s, 1);
  is_str(hear(&s, NULL),
         RES("\"d\"", "3") "\n" RES("\"+a -a +b -b +c -c +d -d\"", "4"),
         "one after another, in the order sent");
  is_str(
      hear(&s, CALL("late", "[]", "5")),
      "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"Internal "
      "error\"},\"id\":5}",
      "not from a method");
  stage_close(&s);
}

static void test_cancel(void) {
  static stage s;
  begin(&s, NULL);
  hear(&s, CALL("work", "[\"a\",1]", "1"));
  hear(&s, CALL("work", "[\"b\"]", "2"));
  hear(&s, CALL("work", "[\"c\"]", "3"));
  hear(&s, CANCEL("2"));
  stage_pass(&s, 0.1);
  is_str(hear(&s, NULL), CANCELLED("2"), "one that queues is cancelled");
  hear(&s, CANCEL("1"));
  stage_pass(&s, 0.1);
  is_str(hear(&s, NULL), CANCELLED("1") "\n" RES("\"c\"", "3"),
         "the one that runs lets the next go");
  is_str(hear(&s, CALL("log", "[]", "4")), RES("\"+a +c -c\"", "4"),
         "what was cancelled never began");
  hear(&s, CALL("work", "[\"a\",1]", "5"));
  hear(&s, CALL("work", "[\"b\",1]", "6"));
  mrpc_peer_drop(s.peer);
  stage_pass(&s, 3);
  ok(mrpc_peer_is_done(s.peer), "a queue dies with its peer");
  stage_close(&s);
}

static void test_groups(void) {
  static stage s;
  begin(&s, NULL);
  hear(&s, CALL("a", "[1]", "1"));
  hear(&s, CALL("b", "[0]", "2"));
  is_str(hear(&s, CALL("work", "[\"w\"]", "3")), RES("\"w\"", "3"),
         "other files have other queues");
  stage_pass(&s, 0.5);
  is_str(hear(&s, NULL), "", "a name is shared");
  stage_pass(&s, 0.6);
  is_str(hear(&s, NULL), RES("\"a\"", "1") "\n" RES("\"a\"", "2"), "in turn");
  hear(&s, CALL("work", "[\"w\",1]", "4"));
  fake_put(&s.f, "init.lua", serial);
  ok(stage_load(&s, true)->ok, "the file is loaded again");
  is_str(hear(&s, CALL("log", "[]", "5")), "", "its queue stays");
  stage_pass(&s, 1);
  is_str(hear(&s, NULL), RES("\"w\"", "4") "\n" RES("\"\"", "5"),
         "with calls of both");
  stage_close(&s);
}

static void test_calls_out(void) {
  static stage s;
  begin(&s, NULL);
  is_str(hear(&s, CALL("ask", "[]", "1")), CALL("what", "{}", "1"),
         "a serial call asks back");
  hear(&s, CALL("work", "[\"w\"]", "2"));
  is_str(hear(&s, RES("7", "1")), RES("7", "1"), "the answer doesn't queue");
  stage_pass(&s, 0.1);
  is_str(hear(&s, NULL), RES("\"w\"", "2"), "then the next has its turn");
  hear(&s, CALL("ask", "[]", "3"));
  hear(&s, CALL("work", "[\"inner\"]", "4"));
  stage_pass(&s, 61);
  const char *said = hear(&s, NULL);
  ok(strstr(said, "-32051") && strstr(said, RES("\"inner\"", "4")),
     "one that waits for its own queue times out: %s", said);
  stage_close(&s);
}

static void run_all(oom *o) {
  static stage s;
  s = (stage){0};
  mrpc_env_config memory = {.alloc = oom_alloc, .alloc_ud = o};
  begin(&s, &memory);
  if (s.peer) {
    for (int i = 0; i < 3; i++) hear(&s, CALL("work", "[\"a\",1]", "1"));
    stage_pass(&s, 1);
    hear(&s, CANCEL("1"));
    stage_pass(&s, 3);
    hear(&s, CALL("a", "[1]", "1"));
    hear(&s, CALL("b", "[1]", "1"));
  }
  stage_close(&s);
}

int main(void) {
  test_turns();
  test_cancel();
  test_groups();
  test_calls_out();
  oom_each("serial calls", run_all, false);
  oom_each("serial calls, all later ones too", run_all, true);
  return tap_finish();
}
