/* SPDX-License-Identifier: MIT
 *
 * The other side as scripts see it: its object, calls to it, its end. */
#include "script.h"

#define TELLS(text) "\"result\":" text
#define GONE "\"error\":{\"code\":-32057,\"message\":\"The peer went away\"}"
#define LATE "\"error\":{\"code\":-32051,\"message\":\"Timed out\"}"
#define HIDDEN "\"error\":{\"code\":-32603,\"message\":\"Internal error\"}"

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

static void test_end(void) {
  static script s;
  ok(script_open(&s, asks) == MRPC_OK, "opens");
  script_is(&s, "closing", "[]", TELLS("[true,false,-32057]"));
  ok(mrpc_peer_is_done(s.talk.peer), "a closed peer is done");
  ok(script_end(&s), "all memory came back");
}

int main(void) {
  test_fields();
  test_calls();
  test_arguments();
  test_end();
  return tap_finish();
}
