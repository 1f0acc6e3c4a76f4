/* SPDX-License-Identifier: MIT
 *
 * Calls of Lua methods: params to arguments, results, and every way to fail. */
#include "script.h"

#define UNFIT(why) \
  "\"error\":{\"code\":-32602,\"message\":\"Invalid params: " why "\"}"

static const char text[] =
    "local M = {}\n"
    "function M.subtract(minuend, subtrahend) return minuend - subtrahend end\n"
    "function M.echo(params) return params end\n"
    "function M.count(...) return select('#', ...) end\n"
    "function M.none() end\n"
    "function M.two() return 1, 2 end\n"
    "function M.kind(a) return math.type(a) or type(a) end\n"
    "M.floor = math.floor\n"
    "function M.fail() error('bad') end\n"
    "function M.plain() error('bad', 0) end\n"
    "function M.meant() rpc.error(5, 'meant', {why = 'so'}) end\n"
    "function M.table() error {code = 6, message = 'table'} end\n"
    "function M.returned() return nil, rpc.error.new(7, 'returned') end\n"
    "function M.returned_text() return nil, 'text' end\n"
    "function M.odd() error {code = 'x', message = 1} end\n"
    "function M.odd_data() rpc.error(1, 'x', {print}) end\n"
    "function M.nothing() error() end\n"
    "function M.unprintable()\n"
    "  error(setmetatable({}, {__tostring = function() error('no') end}))\n"
    "end\n"
    "function M.overflow() return 1 + M.overflow() end\n"
    "function M.deep()\n"
    "  local function f(n) if n == 0 then error('d') end f(n - 1) end\n"
    "  f(500)\n"
    "end\n"
    "function M.deaf() local f f = function() pcall(f) error('x') end f() end\n"
    "function M.in_coroutine()\n"
    "  coroutine.wrap(function() error('inside') end)()\n"
    "end\n"
    "function M.closing()\n"
    "  local a <close> = setmetatable({}, {__close = function() error('c') "
    "end})\n"
    "  error('first')\n"
    "end\n"
    "function M.unwritable() return {users = {{}, {score = 0/0}}} end\n"
    "function M.greedy()\n"
    "  local t = {} while true do t[#t + 1] = {} end\n"
    "end\n"
    "function M.bomb() return ('x'):rep(2^30) end\n"
    "function M.exit() os.exit() end\n"
    "function M.ask_exit() rpc.exit() end\n"
    "function M.print() print('a', 1, nil) end\n"
    "function M.log() rpc.log.warn('look', {n = 1}) rpc.log.debug('all') end\n"
    "function M.warn() warn('careful') end\n"
    "function M.state()\n"
    "  local s = rpc.state('s') s.n = (s.n or 0) + 1 return s.n\n"
    "end\n"
    "function M.modules()\n"
    "  local c = require 'cjson'\n"
    "  return c.null == rpc.null and c.encode {1} == '[1]' and\n"
    "    require 'rpc' == rpc and require 'cjson.safe'.decode('{') == nil\n"
    "end\n"
    "return M\n";

static void test_params(script *s) {
  script_is(s, "subtract", "[42,23]", "\"result\":19");
  script_is(s, "subtract", "{\"subtrahend\":23,\"minuend\":42}",
            "\"result\":19");
  script_is(s, "subtract", "{\"minuend\":42,\"subtrahe\\u006ed\":2}",
            "\"result\":40");
  script_is(s, "subtract", "{\"minuend\":1,\"minuend\":42,\"subtrahend\":2}",
            "\"result\":40");
  script_is(s, "subtract", "[1,2,3]", UNFIT("the method takes 2, not 3"));
  script_is(s, "none", "[1]", UNFIT("the method takes none, not 1"));
  script_is(s, "subtract", "{\"other\":1}",
            UNFIT("no parameter is called 'other'"));
  script_is(s, "count", "{\"a\":1}",
            UNFIT("the method takes them by position only"));
  script_is(s, "count", "[null,1,null]", "\"result\":3");
  script_is(s, "count", "[]", "\"result\":0");
  script_is(s, "kind", "[null]", "\"result\":\"nil\"");
  script_is(s, "kind", "[1]", "\"result\":\"integer\"");
  script_is(s, "kind", "[-0]", "\"result\":\"float\"");
  script_is(s, "kind", "[9223372036854775807]", "\"result\":\"integer\"");
  script_is(s, "kind", "[[]]", "\"result\":\"table\"");
  script_is(s, "floor", "[3.5]", "\"result\":3");
  script_is(s, "echo", "[1,[],{},null]", "\"result\":[1,[],{},null]");
  script_is(s, "echo", "null", "\"result\":null");
  script_is(s, "two", "[]", "\"result\":1");
  script_is(s, "none", "[]", "\"result\":null");
}

/* A call, and what the log must then hold. */
static void fails(script *s, const char *method, const char *want,
                  const char *logged) {
  script_log(s);
  script_is(s, method, "[]", want);
  const char *log = script_log(s);
  ok(strstr(log, logged) != NULL, "%s is logged", method);
  if (!strstr(log, logged)) printf("# %s", log);
}

static void test_errors(script *s) {
  fails(s, "fail", HIDDEN, "method=fail error=init.lua:9: bad");
  fails(s, "fail", HIDDEN, "traceback=init.lua:9: in ");
  fails(s, "plain", HIDDEN, "error=bad traceback=init.lua:10: in ");
  fails(
      s, "meant",
      "\"error\":{\"code\":5,\"message\":\"meant\",\"data\":{\"why\":\"so\"}}",
      "");
  ok(*script_log(s) == '\0' || s->log_len == 0, "what is meant isn't logged");
  fails(s, "table", "\"error\":{\"code\":6,\"message\":\"table\"}", "");
  fails(s, "returned", "\"error\":{\"code\":7,\"message\":\"returned\"}", "");
  fails(s, "returned_text", HIDDEN, "error=text");
  fails(s, "odd", HIDDEN, "an error object needs an integer code");
  fails(s, "odd_data", HIDDEN, "error=data[1]: a function");
  fails(s, "nothing", HIDDEN, "error=nil");
  fails(s, "unprintable", HIDDEN, "a table value whose __tostring fails");
  fails(s, "overflow", HIDDEN, "stack overflow");
  fails(s, "overflow", HIDDEN, "... (thousands of levels)\n");
  fails(s, "deep", HIDDEN, "... (482 levels)\n");
  fails(s, "deaf", HIDDEN, "method failed");
  fails(s, "in_coroutine", HIDDEN, "inside");
  fails(s, "closing", HIDDEN, "error=init.lua:");
  fails(s, "unwritable", HIDDEN, "result.users[2].score: not a finite number");
  fails(s, "greedy", STRUCK, "not enough memory");
  fails(s, "bomb", STRUCK, "not enough memory");
  fails(s, "exit", HIDDEN, "os.exit isn't available");
  fails(s, "ask_exit", HIDDEN, "rpc.exit isn't granted");
}

static void test_library(script *s) {
  fails(s, "print", "\"result\":null", "a\t1\tnil at=init.lua:");
  fails(s, "log", "\"result\":null", "look n=1 at=init.lua:");
  fails(s, "log", "\"result\":null", "\nall at=init.lua:");
  fails(s, "warn", "\"result\":null", "careful\n");
  script_is(s, "state", "[]", "\"result\":1");
  script_is(s, "state", "[]", "\"result\":2");
  script_is(s, "modules", "[]", "\"result\":true");
}

/* In dev mode the caller sees what the log sees. */
static void test_dev(void) {
  static script s;
  s.config.dev = true;
  ok(script_open(&s, text) == MRPC_OK, "opens in dev mode");
  const char *got = script_call(&s, "fail", "[]");
  ok(strstr(got,
            "\"data\":{\"message\":\"init.lua:9: bad\",\"traceback\":"
            "[\"init.lua:9: in ") != NULL,
     "data tells message and traceback");
  got = script_call(&s, "unwritable", "[]");
  ok(strstr(got, "\"data\":{\"message\":\"result.users[2].score: ") != NULL,
     "data tells the path");
  ok(script_end(&s), "no leak in dev mode");
}

static const char *const failing[] = {
    "fail",    "meant",       "returned_text", "odd",     "odd_data",
    "nothing", "unprintable", "in_coroutine",  "closing", "unwritable"};

/* These take long, or much memory, so they come now and then. */
static const char *const dear[] = {"overflow", "greedy", "bomb", "deep"};

static size_t fail_often(script *s, int times) {
  for (int i = 0; i < times; i++) {
    script_call(s, failing[i % 10], "[]");
    if (i < 4 || i % 25000 == 0)
      script_call(s, dear[(i < 4 ? i : i / 25000) % 4], "[]");
  }
  lua_gc(s->runtime->L, LUA_GCCOLLECT);
  lua_gc(s->runtime->L, LUA_GCCOLLECT);
  return s->talk.mem.live;
}

#ifdef NDEBUG
enum { FEW = 10000, MANY = 1000000 };
#else
enum { FEW = 4000, MANY = 20000 };
#endif

static void test_memory(script *s) {
  s->quiet = true;
  size_t early = fail_often(s, FEW), late = fail_often(s, MANY);
  ok(early == late, "%d failures leave as little behind as %d", MANY, FEW);
  if (early != late) printf("# %zu, then %zu bytes\n", early, late);
  s->quiet = false;
}

static unsigned unanswered;

static void test_oom(oom *o) {
  static const char *const calls[] = {"subtract", "echo",       "fail",
                                      "meant",    "closing",    "count",
                                      "print",    "unwritable", "state"};
  static script s;
  s = (script){.talk.mem = *o, .quiet = true, .config.dev = true};
  if (script_open(&s, text) == MRPC_OK)
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
      const char *got =
          script_call(&s, calls[i], "[\"some longer text\",{\"a\":[]}]");
      if (!*got && mrpc_peer_wants_read(s.talk.peer)) unanswered++;
    }
  script_end(&s);
  *o = s.talk.mem;
}

int main(void) {
  static script s;
  s.config.limits = &(mrpc_limits){.memory = 128 << 20};
  ok(script_open(&s, text) == MRPC_OK, "opens");
  test_params(&s);
  test_errors(&s);
  test_library(&s);
  test_memory(&s);
  ok(script_end(&s), "no leak");
  test_dev();
  oom_each("calls", test_oom, false);
  oom_each("calls, no memory any more", test_oom, true);
  ok(unanswered == 0, "every call was answered, with its result or an error");
  return tap_finish();
}
