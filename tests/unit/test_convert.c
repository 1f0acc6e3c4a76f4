/* SPDX-License-Identifier: MIT
 *
 * JSON to Lua values and back: what comes in goes out, what can't be written
 * is refused with the path to it. */
#include <lauxlib.h>
#include <stdlib.h>

#include "json/parse.h"
#include "runtime/convert.h"
#include "script.h"

typedef struct round {
  const mrpc_doc *doc;
  const char *code; /* Lua, instead of the document */
  mrpc_buf out;
  mrpc_encode_error error;
  int rc;
} round_trip;

/* stack: [round_trip] -> []; pushes a value and writes it. */
static int go_round(lua_State *L) {
  round_trip *r = lua_touserdata(L, 1);
  if (r->code) {
    if (luaL_loadstring(L, r->code)) return lua_error(L);
    lua_call(L, 0, 1);
  } else {
    mrpc_push_node(L, r->doc, 0);
  }
  int top = lua_gettop(L);
  r->rc = mrpc_encode(L, top, &r->out, "value", &r->error);
  if (lua_gettop(L) != top) r->rc = MRPC_EINVAL;
  return 0;
}

static int run_round(script *s, round_trip *r) {
  lua_State *L = s->runtime->L;
  mrpc_buf_init(&r->out, &s->talk.env->mem, 1 << 26);
  lua_pushcfunction(L, go_round);
  lua_pushlightuserdata(L, r);
  int status = lua_pcall(L, 1, 0, 0);
  if (status == LUA_OK) return r->rc;
  lua_pop(L, 1);
  return MRPC_ESCRIPT;
}

/* A text comes back as `want`. */
static void comes(script *s, const char *text, const char *want) {
  mrpc_doc doc;
  mrpc_doc_init(&doc, &s->talk.env->mem);
  round_trip r = {.doc = &doc};
  int rc = mrpc_json_parse(&doc, text, strlen(text), 1200);
  if (!rc) rc = run_round(s, &r);
  ok(rc == MRPC_OK, "%.60s is read and written", text);
  is_bytes(r.out.data, r.out.len, want, strlen(want), "and comes back");
  mrpc_buf_clear(&r.out);
  mrpc_doc_clear(&doc);
}

static void stays(script *s, const char *text) {
  comes(s, text, text);
}

/* What a chunk returns is written as `want`. */
static void writes(script *s, const char *code, const char *want) {
  round_trip r = {.code = code};
  int rc = run_round(s, &r);
  ok(rc == MRPC_OK, "%.20s...: no error", code);
  is_bytes(r.out.data, r.out.len, want, strlen(want), "and the right text");
  if (rc == MRPC_ETYPE) printf("# %s\n", r.error.text);
  mrpc_buf_clear(&r.out);
}

static void refuses(script *s, const char *code, const char *why) {
  round_trip r = {.code = code};
  int rc = run_round(s, &r);
  ok(rc == MRPC_ETYPE, "%.60s is refused", code);
  is_str(r.error.text, why, code);
  mrpc_buf_clear(&r.out);
}

static void test_values(script *s) {
  stays(s, "null");
  stays(s, "true");
  stays(s, "[false,null,[],{},[[]],{\"a\":{}}]");
  stays(s, "[1,-1,9223372036854775807,-9223372036854775808]");
  stays(s, "[9007199254740991,9007199254740992,9007199254740993]");
  stays(s, "[0.1,1e300,5e-324,-0.0,1.7976931348623157e308]");
  comes(s, "[1.0,1e2,-0,9223372036854775808]",
        "[1,100,-0.0,9.223372036854776e18]");
  stays(s, "[\"\",\"\xc3\xa9\",\"\\u0000\",\"\\n\\\"\\\\\"]");
  comes(s, "\"\\u00e9\\ud83d\\ude00\\/\"", "\"\xc3\xa9\xf0\x9f\x98\x80/\"");
  comes(s, "{\"a\":1,\"\\u0061\":2}", "{\"a\":2}");
  stays(s, "{\"a key that is longer than those that are kept\":1}");
  stays(s, "{\"\":1}");
}

/* Containers deeper than C could recur without a bound are refused. */
static void test_depth(script *s) {
  static char text[2101];
  for (int depth = 127; depth <= 129; depth++) {
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[2 * depth] = '\0';
    mrpc_doc doc;
    mrpc_doc_init(&doc, &s->talk.env->mem);
    round_trip r = {.doc = &doc};
    (void)mrpc_json_parse(&doc, text, strlen(text), 1200);
    int rc = run_round(s, &r);
    ok(rc == (depth <= 128 ? MRPC_OK : MRPC_ETYPE), "%d arrays deep", depth);
    mrpc_buf_clear(&r.out);
    mrpc_doc_clear(&doc);
  }
}

static void test_writing(script *s) {
  writes(s, "return {}", "{}");
  writes(s, "return rpc.array()", "[]");
  writes(s, "return rpc.array {}", "[]");
  writes(s, "return rpc.object {}", "{}");
  writes(s, "return {1, 2, 3}", "[1,2,3]");
  writes(s, "return {[2] = 'b', [1] = 'a'}", "[\"a\",\"b\"]");
  writes(s, "local t = {} for i = 9, 1, -1 do t[i] = i end return t",
         "[1,2,3,4,5,6,7,8,9]");
  writes(s, "local t = {1, 2, 3, 4} t[5] = 5 t[6] = 6 t[7] = 7 return t",
         "[1,2,3,4,5,6,7]");
  writes(s, "local t = {x = 1} t.x = nil t[1] = 1 return t", "[1]");
  writes(s, "local t = {1, 2, 3} t[3] = nil return t", "[1,2]");
  writes(s, "return setmetatable({}, {__index = {a = 1}})", "{}");
  writes(s, "return setmetatable({1}, {__len = error, __pairs = error})",
         "[1]");
  writes(s, "local t = {1} return {t, t}", "[[1],[1]]");
  writes(s, "return rpc.null", "null");
  writes(s, "return {2^53, 1e15, 1/3}",
         "[9007199254740992,1000000000000000,0.3333333333333333]");
  writes(s, "return rpc.json.decode('{\"a\":[1,{}]}')", "{\"a\":[1,{}]}");
}

static void test_refusals(script *s) {
  refuses(s, "return 0/0", "value: not a finite number");
  refuses(s, "return {users = {{}, {}, {score = -1/0}}}",
          "value.users[3].score: not a finite number");
  refuses(s, "return {a = {print}}", "value.a[1]: a function");
  refuses(s, "return {io.stdout}", "value[1]: a userdata");
  refuses(s, "return {coroutine.create(print)}", "value[1]: a coroutine");
  refuses(s, "return {1, 2, x = 3}",
          "value: a table with string keys and others");
  refuses(s, "return {x = 3, [1.5] = 2}",
          "value: a table with string keys and others");
  refuses(s, "return {a = {[1] = 1, [3] = 3}}",
          "value.a: an array with gaps or odd keys");
  refuses(s, "return {[0] = 1, 2}", "value: an array with gaps or odd keys");
  refuses(s, "return {[1.5] = 1}", "value: an array with gaps or odd keys");
  refuses(s, "return {[1 << 40] = 1}", "value: an array with gaps or odd keys");
  refuses(s, "return rpc.array {a = 1}",
          "value: an array with gaps or odd keys");
  refuses(s, "return rpc.object {1}", "value: a key that is no string");
  refuses(s, "return {[true] = 1}", "value: a key that is no string");
  refuses(s, "return {[rpc.null] = 1}", "value: a key that is no string");
  refuses(s, "return {[print] = 1}", "value: a key that is no string");
  refuses(s, "return {{a = 1}, {a = 1, [true] = 1}}",
          "value[2]: a table with string keys and others");
  refuses(s, "return {{a = 1}, {b = 1, a = print}}", "value[2].a: a function");
  refuses(s, "return {name = '\\xff'}", "value.name: not valid UTF-8");
  refuses(s, "return {['\\xff'] = 1}", "value: a key that isn't valid UTF-8");
}

static void test_cycle(script *s) {
  round_trip r = {.code = "local t = {} t.a = {t} return t"};
  ok(run_round(s, &r) == MRPC_ETYPE, "a cycle is refused");
  ok(!strncmp(r.error.text, "value.a[1].a[1].a[1]", 20), "its path begins");
  ok(strstr(r.error.text, "...") != NULL, "is cut in its middle");
  ok(strstr(r.error.text, ": nested too deeply (or in itself)") != NULL,
     "and tells why");
  mrpc_buf_clear(&r.out);
}

/* More keys than the cache has places, twice; and bytes that its hash doesn't
 * look at. */
static void test_keys(script *s) {
  static const char code[] =
      "local function check(n, make)\n"
      "  local list = rpc.array {}\n"
      "  for round = 1, 2 do\n"
      "    for i = 1, n do list[#list + 1] = {[make(i)] = i} end\n"
      "  end\n"
      "  local back = rpc.json.decode(rpc.json.encode(list))\n"
      "  for j, object in ipairs(back) do\n"
      "    local i = (j - 1) % n + 1\n"
      "    local key, value = next(object)\n"
      "    if key ~= make(i) or value ~= i then return {j, key, value} end\n"
      "  end\n"
      "  return true\n"
      "end\n"
      "return {check(3000, function(i) return 'key' .. i end),\n"
      "  check(200, function(i) return 'abcdefgh' .. i .. 'ijklmnopqr' end),\n"
      "  check(60, function(i) return ('k'):rep(i) end)}\n";
  writes(s, code, "[true,true,true]");
}

/* The first time a name is written as any string is, then it is copied: both
 * must look the same, whatever its length and what is in it, and no name may
 * be taken for one that had its place in memory before. */
static void test_names(script *s) {
  static const char code[] =
      "local json = rpc.json\n"
      "for length = 0, 60 do\n"
      "  for _, part in ipairs {'', 'x', '\"', '\\1', '\xc3\xa9'} do\n"
      "    local name = part .. ('n'):rep(length)\n"
      "    local member = json.encode(name) .. ':true'\n"
      "    local one, two = {[name] = true}, {[name] = true, ['-'] = 1}\n"
      "    local both = json.encode(two)\n"
      "    if json.encode {one, two, one, two} ~= '[{' .. member .. '},' .. "
      "both"
      "\n      .. ',{' .. member .. '},' .. both .. ']'\n"
      "      or not both:find(member, 1, true) then return name end\n"
      "  end\n"
      "end\n"
      "for i = 1, 5000 do\n"
      "  local name = 'name' .. i\n"
      "  if json.encode {[name] = i} ~= '{\"' .. name .. '\":' .. i .. '}' "
      "then\n"
      "    return name\n"
      "  end\n"
      "  if i % 50 == 0 then collectgarbage() end\n"
      "end\n"
      "return true\n";
  writes(s, code, "true");
}

static void test_json(script *s) {
  static const char bad[] =
      "local ok, e = pcall(rpc.json.decode, '[1,\\n 2,]') return e";
  writes(s, "return rpc.json.encode({a = {1}})", "\"{\\\"a\\\":[1]}\"");
  round_trip r = {.code = bad};
  (void)run_round(s, &r);
  ok(r.out.len > 30 &&
         !strncmp(r.out.data, "\"invalid JSON at line 2, col", 28),
     "a fault is told with line and column");
  printf("# %.*s\n", (int)r.out.len, r.out.data);
  mrpc_buf_clear(&r.out);
  writes(s, "local ok, e = pcall(rpc.json.encode, {a = print}) return e",
         "\"value.a: a function\"");
  writes(s, "return select('#', rpc.json.decode('null'))", "1");
  writes(s, "return (pcall(rpc.json.decode))", "false");
}

/* The files that others measure with: written and read again, they are the
 * same. */
static void test_files(script *s) {
  static const char *const names[] = {"twitter", "citm_catalog", "canada"};
  static const char code[] =
      "local file = io.open('../shared/corpora/json/nativejson/%s.json')\n"
      "if not file then return 'absent' end\n"
      "local function same(a, b)\n"
      "  if type(a) ~= 'table' then\n"
      "    return a == b and math.type(a) == math.type(b)\n"
      "  end\n"
      "  for k, v in pairs(a) do if not same(v, b[k]) then return false end "
      "end\n"
      "  for k in pairs(b) do if a[k] == nil then return false end end\n"
      "  return getmetatable(a) == getmetatable(b)\n"
      "end\n"
      "local value = rpc.json.decode(file:read('a'))\n"
      "return same(value, rpc.json.decode(rpc.json.encode(value)))\n";
  for (size_t i = 0; i < 3; i++) {
    char chunk[sizeof code + 32];
    snprintf(chunk, sizeof chunk, code, names[i]);
    round_trip r = {.code = chunk};
    (void)run_round(s, &r);
    bool is_absent = r.out.len == 8;
    ok(is_absent || (r.out.len == 4 && !memcmp(r.out.data, "true", 4)),
       "%s.json%s", names[i], is_absent ? " # SKIP not here" : "");
    mrpc_buf_clear(&r.out);
  }
}

static void test_oom(oom *o) {
  static const char text[] =
      "[{\"name\":\"x\",\"list\":[1,2.5,\"\\u00e9\",null]},{\"name\":\"y\"}]";
  static script s;
  mrpc_doc doc;
  s = (script){.talk.mem = *o, .quiet = true};
  if (script_open(&s, "") == MRPC_OK) {
    mrpc_doc_init(&doc, &s.talk.env->mem);
    round_trip r = {.doc = &doc};
    if (mrpc_json_parse(&doc, text, strlen(text), 128) == MRPC_OK) {
      int rc = run_round(&s, &r);
      if (rc == MRPC_OK && r.out.len != strlen(text) - 4) s.talk.mem.live++;
      mrpc_buf_clear(&r.out);
    }
    mrpc_doc_clear(&doc);
  }
  script_end(&s);
  *o = s.talk.mem;
}

int main(void) {
  static script s;
  ok(script_open(&s, "") == MRPC_OK, "opens");
  test_values(&s);
  test_depth(&s);
  test_writing(&s);
  test_refusals(&s);
  test_cycle(&s);
  test_keys(&s);
  test_names(&s);
  test_json(&s);
  test_files(&s);
  ok(script_end(&s), "no leak");
  oom_each("conversion", test_oom, false);
  oom_each("conversion, no memory any more", test_oom, true);
  return tap_finish();
}
