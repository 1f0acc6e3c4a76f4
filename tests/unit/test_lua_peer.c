/* SPDX-License-Identifier: MIT
 *
 * The other side as scripts see it: its object, calls to it, its end. */
#include "script.h"

#define TELLS(text) "\"result\":" text
#define GONE "\"error\":{\"code\":-32057,\"message\":\"The peer went away\"}"

static const char asks[] =
    "local M, kept = {}, nil\n"
    "function M.fields()\n"
    "  local p = rpc.peer()\n"
    "  return {p.id, p.transport, p.address, p:closed(), p.headers == nil,\n"
    "    type(p.data), p.nothing == nil, tostring(p)}\n"
    "end\n"
    "function M.same()\n"
    "  local p = rpc.peer()\n"
    "  rpc.sleep(1)\n"
    "  local inner = coroutine.wrap(function() return rpc.peer() end)()\n"
    "  local task = rpc.spawn(function() rpc.sleep(1) return rpc.peer() end)\n"
    "  local before = kept\n"
    "  kept = p\n"
    "  return {rawequal(p, rpc.peer()), rawequal(p, inner),\n"
    "    rawequal(p, task:wait()), before == nil or rawequal(before, p)}\n"
    "end\n"
    "function M.data(v)\n"
    "  local d = rpc.peer().data\n"
    "  d.n = (d.n or 0) + 1\n"
    "  return d.n\n"
    "end\n"
    "function M.set(k, v) rpc.peer()[k] = v end\n"
    "function M.ask(method, params, timeout)\n"
    "  return rpc.peer():call(method, params, {timeout = timeout})\n"
    "end\n"
    "function M.tell(method, params) rpc.peer():notify(method, params) end\n"
    "function M.caught(...)\n"
    "  local ok, e = pcall(function(...) rpc.peer():call(...) end, ...)\n"
    "  return {ok, type(e) == 'table' and e or tostring(e)}\n"
    "end\n"
    "function M.timer()\n"
    "  local p = rpc.peer()\n"
    "  rpc.after(1, function()\n"
    "    print(rpc.peer(), p:call('from timer'))\n"
    "  end)\n"
    "end\n"
    "function M.closing()\n"
    "  local p = rpc.peer()\n"
    "  p:close('enough')\n"
    "  p:close()\n"
    "  local ok, e = pcall(p.call, p, 'x')\n"
    "  return {p:closed(), ok, e.code}\n"
    "end\n"
    "return M\n";

static void test_fields(void) {
  static script s;
  s.talk.config.transport = "tcp";
  s.talk.config.address = "1.2.3.4:5";
  ok(script_open(&s, asks) == MRPC_OK, "opens");
  script_is(&s, "fields", "[]",
            TELLS("[1,\"tcp\",\"1.2.3.4:5\",false,true,\"table\",true,"
                  "\"rpc.peer 1 (tcp 1.2.3.4:5)\"]"));
  script_is(&s, "same", "[]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, TELLS("[true,true,true,true]"));
  script_is(&s, "same", "[]", "");
  script_then(&s, 1, "");
  script_then(&s, 1, TELLS("[true,true,true,true]"));
  script_is(&s, "data", "[]", TELLS("1"));
  script_is(&s, "data", "[]", TELLS("2"));
  script_is(&s, "set", "[\"data\",{\"n\":6}]", TELLS("null"));
  script_is(&s, "data", "[]", TELLS("7"));
  script_is(&s, "set", "[\"data\",1]", HIDDEN);
  script_is(&s, "set", "[\"id\",1]", HIDDEN);
  ok(script_end(&s), "all memory came back");
}

static void say(script *s, const char *text, const char *want,
                const char *name) {
  talk_say(&s->talk, text);
  const char *got = talk_take(&s->talk);
  tap_bytes(got, strlen(got), want, strlen(want), __FILE__, __LINE__, name);
}

static void test_calls(void) {
  static script s;
  ok(script_open(&s, asks) == MRPC_OK, "opens");
  say(&s, REQ("ask", "[\"sum\",[1,2]]", "\"a\"") "\n",
      REQ("sum", "[1,2]", "1") "\n", "a call goes out");
  say(&s, RES("3", "1") "\n", RES("3", "\"a\"") "\n", "its answer comes in");
  say(&s, REQ("ask", "[\"sum\"]", "2") "\n",
      "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"id\":2}\n", "without params");
  say(&s, RES("null", "2") "\n", RES("null", "2") "\n", "null is nil");
  say(&s, REQ("ask", "[\"fail\",{}]", "3") "\n", REQ("fail", "{}", "3") "\n",
      "a call that will fail");
  say(&s,
      "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":7,\"message\":\"no\",\"data\":"
      "[null]},\"id\":3}\n",
      "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":7,\"message\":\"no\",\"data\":"
      "[null]},\"id\":3}\n",
      "the same error for the caller");
  say(&s, REQ("ask", "[\"slow\",{},0.5]", "4") "\n",
      REQ("slow", "{}", "4") "\n", "one with a timeout");
  talk_pass(&s.talk, 0.6);
  const char *got = talk_take(&s.talk);
  ok(strstr(got, "\"code\":-32051"), "times out: %s", got);
  ok(strstr(got, NOTE("$/cancelRequest", "{\"id\":4}")),
     "the other side knows");
  say(&s, NOTE("tell", "[\"news\",[1]]") "\n", NOTE("news", "[1]") "\n",
      "a notification");
  script_is(&s, "timer", "[]", TELLS("null"));
  talk_pass(&s.talk, 1);
  ok(strstr(talk_take(&s.talk), "from timer"), "a timer calls a kept peer");
  say(&s, RES("5", "5") "\n", "", "and is answered");
  ok(strstr(script_log(&s), "nil\t5"), "and is of no call itself: %s", s.log);
  ok(script_end(&s), "all memory came back");
}

static void test_arguments(void) {
  static script s;
  ok(script_open(&s, asks) == MRPC_OK, "opens");
#define SAYS(params, text) \
  script_is(&s, "caught", params, TELLS("[false,\"init.lua:28: " text "\"]"))
  SAYS("[]", "bad argument #1 to 'call' (string expected, got no value)");
  SAYS("[5]", "bad argument #1 to 'call' (string expected, got number)");
  SAYS("[\"a\\u0000b\"]",
       "bad argument #1 to 'call' (a method's name can't hold a zero byte)");
  SAYS("[\"m\",5]",
       "bad argument #2 to 'call' (params must be a table or nil, not a "
       "number)");
  SAYS("[\"m\",[],5]",
       "bad argument #3 to 'call' (table expected, got number)");
  SAYS("[\"m\",[],{\"timout\":5}]",
       "bad argument #3 to 'call' (there is no option 'timout', only timeout)");
  SAYS("[\"m\",[],{\"timeout\":-1}]",
       "bad argument #3 to 'call' (timeout must be a number of seconds that "
       "isn't negative)");
  ok(script_end(&s), "all memory came back");
}

/* Calls where waits are odd. */
static const char odd[] =
    "local M, kept = {}, rpc.state('kept')\n"
    "function M.keep() kept.peer = rpc.peer() end\n"
    "if kept.peer then\n"
    "  kept.early = kept.peer:call('at load')\n"
    "  if kept.spawn then\n"
    "    rpc.spawn(function()\n"
    "      local x <close> = setmetatable({}, {__close = function()\n"
    "        print('replaced')\n"
    "      end})\n"
    "      kept.peer:call('in background')\n"
    "    end)\n"
    "  end\n"
    "end\n"
    "function M.spawn() kept.spawn = true end\n"
    "function M.early() return kept.early end\n"
    "function M.inside()\n"
    "  local p = rpc.peer()\n"
    "  local co = coroutine.wrap(function()\n"
    "    coroutine.yield(p:call('a'))\n"
    "    local t = setmetatable({}, {__index = function() return p:call('b') "
    "end})\n"
    "    return t.x\n"
    "  end)\n"
    "  return {co(), co()}\n"
    "end\n"
    "function M.in_sort()\n"
    "  local p = rpc.peer()\n"
    "  local ok, e = pcall(table.sort, {2, 1}, function() p:call('c') end)\n"
    "  return e\n"
    "end\n"
    "function M.await()\n"
    "  local p = rpc.peer()\n"
    "  return rpc.await(function(resume) resume(p:call('d')) end)\n"
    "end\n"
    "function M.first_asked_late()\n"
    "  local x <close> = setmetatable({}, {__close = function()\n"
    "    local p = rpc.peer()\n"
    "    print(p:closed(), p.id, p.transport, pcall(p.notify, p, 'x'))\n"
    "  end})\n"
    "  rpc.sleep(100)\n"
    "end\n"
    "function M.wild() return pcall(rpc.peer().call, {}, 'x') end\n"
    "function M.traced()\n"
    "  rpc.peer():call('e', {f = print})\n"
    "end\n"
    "return M\n";

static void test_odd_places(void) {
  static script s;
  ok(script_open(&s, odd) == MRPC_OK, "opens");
  say(&s, REQ("inside", "[]", "1") "\n",
      "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1}\n",
      "in a coroutine of the script's");
  say(&s, RES("1", "1") "\n",
      "{\"jsonrpc\":\"2.0\",\"method\":\"b\",\"id\":2}\n",
      "in a metamethod inside it");
  say(&s, RES("2", "2") "\n", RES("[1,2]", "1") "\n", "answered");
  say(&s, REQ("in_sort", "[]", "1") "\n",
      RES("\"init.lua:27: can't wait here: a C function stands between\"",
          "1") "\n",
      "not below a C function, and nothing is sent then");
  say(&s, REQ("await", "[]", "1") "\n",
      "{\"jsonrpc\":\"2.0\",\"method\":\"d\",\"id\":3}\n",
      "in the start of an await");
  say(&s, RES("3", "3") "\n", RES("3", "1") "\n", "answered");
  say(&s, REQ("wild", "[]", "1") "\n", RES("false", "1") "\n", "not a peer");
  script_log(&s);
  say(&s, REQ("traced", "[]", "1") "\n",
      ERR("-32603", "Internal error", "1") "\n", "what can't be written");
  ok(strstr(script_log(&s), "init.lua:43: params.f: a function") &&
         strstr(s.log, "init.lua:43: in "),
     "has the author's line: %s", s.log);
  ok(script_end(&s), "all memory came back");
}

static void test_loads(void) {
  static script s;
  ok(script_open(&s, odd) == MRPC_OK, "opens");
  say(&s, REQ("keep", "[]", "1") "\n", RES("null", "1") "\n", "a peer is kept");
  say(&s, REQ("spawn", "[]", "1") "\n", RES("null", "1") "\n", "for later");
  mrpc_runtime_reload(s.runtime, true);
  talk_run(&s.talk);
  is_str(talk_take(&s.talk),
         "{\"jsonrpc\":\"2.0\",\"method\":\"at load\",\"id\":1}\n",
         "a file calls it while it loads");
  say(&s, RES("\"hi\"", "1") "\n",
      "{\"jsonrpc\":\"2.0\",\"method\":\"in background\",\"id\":2}\n",
      "and goes on with the answer");
  script_is(&s, "early", "[]", TELLS("\"hi\""));
  fake_put(&s.fake, "init.lua", "return {}\n");
  script_log(&s);
  mrpc_runtime_reload(s.runtime, true);
  talk_run(&s.talk);
  is_str(talk_take(&s.talk), NOTE("$/cancelRequest", "{\"id\":2}") "\n",
         "what its tasks call is given up when it is replaced");
  ok(strstr(script_log(&s), "replaced"), "after their <close>");
  ok(script_end(&s), "all memory came back");
}

static void test_late(void) {
  static script s;
  ok(script_open(&s, odd) == MRPC_OK, "opens");
  say(&s, REQ("first_asked_late", "[]", "1") "\n", "", "a call waits");
  script_log(&s);
  mrpc_peer_drop(s.talk.peer);
  talk_run(&s.talk);
  ok(strstr(script_log(&s), "true\t0\t\tfalse\tThe peer went away"),
     "a peer that was never asked for has gone: %s", s.log);
  ok(script_end(&s), "all memory came back");
  s = (script){.talk.config.transport = "tcp"};
  ok(script_open(&s, odd) == MRPC_OK, "opens");
  say(&s, REQ("keep", "[]", "1") "\n", RES("null", "1") "\n", "one asks");
  say(&s, REQ("first_asked_late", "[]", "1") "\n", "", "another waits");
  script_log(&s);
  mrpc_peer_drop(s.talk.peer);
  talk_run(&s.talk);
  ok(strstr(script_log(&s), "true\t1\ttcp\tfalse\tThe peer went away"),
     "one that was is the same: %s", s.log);
  ok(script_end(&s), "all memory came back");
}

static void test_end(void) {
  static script s;
  ok(script_open(&s, asks) == MRPC_OK, "opens");
  script_is(&s, "closing", "[]", TELLS("[true,false,-32057]"));
  ok(mrpc_peer_is_done(s.talk.peer), "a closed peer is done");
  ok(script_end(&s), "all memory came back");
}

/* What the other side says can't be followed any more. */
static void test_broken(void) {
  static script s;
  ok(script_open(&s, asks) == MRPC_OK, "opens");
  script_is(&s, "data", "[]", TELLS("1"));
  talk_say(&s.talk, REQ("caught", "[\"x\"]", "7") "\n");
  talk_take(&s.talk);
  talk_say(&s.talk, "GET / HTTP/1.1\n");
  talk_run(&s.talk);
  const char *got = talk_take(&s.talk);
  ok(strstr(got, "The peer went away: an HTTP request") != NULL,
     "a call tells what ended it: %s", got);
  ok(script_end(&s), "all memory came back");
}

/* HTTP, and all that needs memory of its own. */
static const char web[] =
    "local kept\n"
    "return {\n"
    "  visit = function(n)\n"
    "    local p, h = rpc.peer(), rpc.peer().headers\n"
    "    local before = kept\n"
    "    kept = p\n"
    "    local ok, e = pcall(p.call, p, 'x')\n"
    "    local task = rpc.spawn(function()\n"
    "      rpc.sleep(1)\n"
    "      return rawequal(rpc.peer(), p) and not p:closed()\n"
    "    end)\n"
    "    return {h['x-a'], task:wait(), before and before:closed() or false,\n"
    "      rpc.progress({1}), e:match('^http can')}\n"
    "  end,\n"
    "  work = function(params)\n"
    "    local told = rpc.progress({percentage = 50})\n"
    "    rpc.sleep(1)\n"
    "    return {told, rpc.progress(1)}\n"
    "  end}\n";

static int open_http(mrpc_env *env, const mrpc_limits *limits,
                     mrpc_framing **out) {
  static const mrpc_http_config settings = {.path = "/"};
  mrpc_http_config config = settings;
  config.limits = limits;
  return mrpc_framing_http(env, &config, out);
}

#define VISIT                                                    \
  "POST / HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\nX-a: 2\r\n"   \
  "Content-Type: application/json\r\nContent-Length: 41\r\n\r\n" \
  "{\"jsonrpc\":\"2.0\",\"method\":\"visit\",\"id\":1}"

static void test_http(void) {
  static script s;
  s.talk.framing = open_http;
  ok(script_open(&s, web) == MRPC_OK, "opens");
  for (int i = 0; i < 2; i++) {
    talk_say(&s.talk, VISIT);
    talk_pass(&s.talk, 1);
    const char *got = talk_take(&s.talk);
    const char *want = i ? "[\"1, 2\",true,true,false,\"http can\"]"
                         : "[\"1, 2\",true,false,false,\"http can\"]";
    ok(strstr(got, want), "an object lives for one call: %s", got);
  }
  ok(script_end(&s), "all memory came back");
}

static void run_http(oom *o) {
  static script s;
  s = (script){.quiet = true, .talk.framing = open_http};
  s.talk.mem = *o;
  if (script_open(&s, web) == MRPC_OK) {
    talk_say(&s.talk, VISIT);
    talk_pass(&s.talk, 2);
    talk_say(&s.talk, VISIT);
    mrpc_peer_drop(s.talk.peer);
    talk_pass(&s.talk, 2);
  }
  (void)script_end(&s);
  *o = s.talk.mem;
}

static void run_progress(oom *o) {
  static script s;
  s = (script){.quiet = true};
  s.talk.mem = *o;
  if (script_open(&s, web) == MRPC_OK) {
    talk_say(&s.talk, REQ("work", "{\"workDoneToken\":\"t\"}", "1") "\n");
    talk_pass(&s.talk, 2);
    talk_say(&s.talk,
             REQ("work", "{\"_meta\":{\"progressToken\":1}}", "2") "\n");
    talk_pass(&s.talk, 2);
  }
  (void)script_end(&s);
  *o = s.talk.mem;
}

int main(void) {
  test_fields();
  test_calls();
  test_arguments();
  test_odd_places();
  test_loads();
  test_late();
  test_end();
  test_broken();
  test_http();
  oom_each("peers of HTTP", run_http, false);
  oom_each("peers of HTTP, all later ones too", run_http, true);
  oom_each("progress", run_progress, false);
  oom_each("progress, all later ones too", run_progress, true);
  return tap_finish();
}
