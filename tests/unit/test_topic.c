/* SPDX-License-Identifier: MIT
 *
 * rpc.topic: who is in, who is sent what, who is dropped. */
#include "oom.h"
#include "runtime/runtime.h"
#include "stage.h"

enum { MANY = 1000 };

static const char news[] =
    "local topic = rpc.topic('news')\n"
    "local M = {}\n"
    "function M.follow() return topic:add(rpc.peer()) end\n"
    "function M.leave() return topic:remove(rpc.peer()) end\n"
    "function M.publish(...) return topic:publish('item', {...}) end\n"
    "function M.big() return topic:publish('item', {('x'):rep(3000)}) end\n"
    "function M.bare() return topic:publish('item') end\n"
    "function M.bad() return topic:publish('item', {a = {print}}) end\n"
    "function M.badname() return topic:publish(5) end\n"
    "function M.count() return topic:count() end\n"
    "function M.peers()\n"
    "  local ids = rpc.array()\n"
    "  for i, p in ipairs(topic:peers()) do ids[i] = p.id end\n"
    "  return ids\n"
    "end\n"
    "function M.same() return rawequal(topic, rpc.topic('news')) end\n"
    "function M.pass(stays)\n"
    "  local weak = setmetatable({}, {__mode = 'v'})\n"
    "  for i = 1, 100 do weak[i] = rpc.topic('room ' .. i) end\n"
    "  if stays then weak[7]:add(rpc.peer()) end\n"
    "  collectgarbage() collectgarbage()\n"
    "  local n = 0\n"
    "  for _ in pairs(weak) do n = n + 1 end\n"
    "  if stays then rpc.topic('room 7'):remove(rpc.peer()) end\n"
    "  return {n, rpc.topic('room 7'):count()}\n"
    "end\n"
    "function M.close() local p = rpc.peer() p:close()\n"
    "  return {topic:count(), pcall(topic.add, topic, p)} end\n"
    "function M.why(...)\n"
    "  local ok, e = pcall(topic[...], topic, select(2, ...))\n"
    "  return tostring(type(e) == 'table' and e.message or e)\n"
    "end\n"
    "rpc.on('disconnect', function(p)\n"
    "  topic:publish('gone', {p.id, topic:count()})\n"
    "end)\n"
    "return M\n";

static void begin(stage *s, const mrpc_env_config *memory) {
  fake_put(&s->f, "init.lua", news);
  if (stage_open(s, memory) == MRPC_OK &&
      mrpc_runtime_reload(s->runtime, true) == MRPC_OK)
    (void)stage_settle(s);
}

/* Another connection, which may have little room for output. */
static mrpc_peer *join(stage *s, uint32_t output) {
  static const char follow[] = "{\"jsonrpc\":\"2.0\",\"method\":\"follow\"}\n";
  mrpc_limits limits = {.output = output};
  mrpc_framing *framing;
  mrpc_peer *peer = NULL;
  mrpc_peer_config config = {
      .env = s->env, .dispatch = s->dispatch, .limits = &limits};
  if (mrpc_framing_line(s->env, NULL, &framing) == MRPC_OK)
    (void)mrpc_peer_new(&config, framing, &peer);
  if (peer) mrpc_peer_recv(peer, follow, sizeof follow - 1);
  return peer;
}

/* Takes what the peer has to send. */
static const char *take(mrpc_peer *peer) {
  static char text[1 << 14];
  const char *bytes;
  size_t len = mrpc_peer_output(peer, &bytes);
  if (len >= sizeof text) len = sizeof text - 1;
  memcpy(text, bytes, len);
  mrpc_peer_sent(peer, len);
  text[len] = '\0';
  return text;
}

static void test_members(void) {
  static stage s;
  begin(&s, NULL);
  is_str(stage_call(&s, "publish"), "0", "nobody is in");
  is_str(stage_call(&s, "follow"), "true", "one comes in");
  is_str(stage_call(&s, "follow"), "false", "once");
  is_str(stage_call(&s, "count"), "1", "is counted");
  is_str(stage_call(&s, "peers"), "[1]", "and listed");
  is_str(stage_call(&s, "same"), "true", "a name has one topic");
  mrpc_peer *other = join(&s, 0);
  is_str(stage_call(&s, "publish"), "2", "two hear");
  is_str(take(other),
         "{\"jsonrpc\":\"2.0\",\"method\":\"item\",\"params\":{}}\n",
         "the message");
  is_str(stage_call(&s, "bare"), "2", "params may be missing");
  is_str(take(other), "{\"jsonrpc\":\"2.0\",\"method\":\"item\"}\n", "then");
  fake_put(&s.f, "init.lua", news);
  ok(stage_load(&s, true)->ok, "reloads");
  is_str(stage_call(&s, "count"), "2", "and the topic stays");
  is_str(stage_call(&s, "leave"), "true", "one leaves");
  is_str(stage_call(&s, "leave"), "false", "once");
  is_str(stage_call(&s, "follow"), "true", "and comes back");
  is_str(stage_call(&s, "peers"), "[2,1]", "behind the others");
  mrpc_peer_free(other);
  is_str(stage_call(&s, "count"), "1", "who ends leaves");
  stage_pass(&s, 0.1);
  is_str(stage_heard(&s),
         "{\"jsonrpc\":\"2.0\",\"method\":\"gone\",\"params\":[2,1]}",
         "and the others hear of it");
  ok(!strncmp(stage_call(&s, "close"), "[0,false,{", 10),
     "who is closed leaves at once, and can't come back");
  stage_close(&s);
}

static void test_arguments(void) {
  static stage s;
  begin(&s, NULL);
  is_str(stage_call(&s, "bad"), "error -32603", "what can't be written");
  is_str(stage_call(&s, "badname"), "error -32603", "a method that is none");
  static const char *const calls[][2] = {
      {"[\"publish\"]",
       "bad argument #2 to '?' (string expected, got no value)"},
      {"[\"publish\",\"m\",5]",
       "bad argument #3 to '?' (params must be a table or nil, not a number)"},
      {"[\"add\",5]", "bad argument #2 to '?' (peer expected, got number)"},
      {"[\"remove\",{}]", "bad argument #2 to '?' (peer expected, got table)"},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"why\",\"params\":%s}",
             calls[i][0]);
    stage_say(&s, text);
    ok(strstr(stage_heard(&s), calls[i][1]), "%s: %s", calls[i][0], s.said);
  }
  stage_close(&s);
}

/* Peers may name as many topics as they like. */
static void test_names(void) {
  static stage s;
  begin(&s, NULL);
  is_str(stage_call(&s, "pass"), "[0,0]", "what nobody holds or is in goes");
  stage_say(&s,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pass\","
            "\"params\":[true]}");
  ok(strstr(stage_heard(&s), "[1,0]"), "who is in keeps it: %s", s.said);
  is_str(stage_call(&s, "pass"), "[0,0]", "until the last one leaves");
  stage_close(&s);
}

/* Each peer has 2,000 bytes of room, and one reads nothing. */
static void test_slow(void) {
  static stage s;
  begin(&s, NULL);
  mrpc_peer *slow = join(&s, 2000), *quick = join(&s, 2000);
  is_str(stage_call(&s, "big"), "2", "both are sent one that is too much");
  ok(strlen(take(quick)) > 3000, "one reads");
  is_str(stage_call(&s, "publish"), "1", "the other is dropped");
  ok(mrpc_peer_is_done(slow), "at once");
  is_str(stage_call(&s, "count"), "1", "and has left");
  ok(strstr(take(quick), "item"), "the one that reads notices nothing");
  mrpc_peer_free(slow);
  mrpc_peer_free(quick);
  stage_close(&s);
}

static void test_many(void) {
  static stage s;
  static mrpc_peer *peers[MANY];
  begin(&s, NULL);
  for (int i = 0; i < MANY; i++) peers[i] = join(&s, 0);
  uint64_t before = s.runtime->encodings;
  is_str(stage_call(&s, "publish"), "1000", "a thousand hear");
  ok(s.runtime->encodings - before == 1, "what was encoded once: %d times",
     (int)(s.runtime->encodings - before));
  int heard = 0;
  for (int i = 0; i < MANY; i++)
    heard += !strcmp(take(peers[i]),
                     "{\"jsonrpc\":\"2.0\",\"method\":\"item\","
                     "\"params\":{}}\n");
  ok(heard == MANY, "the same");
  for (int i = 0; i < MANY; i++) mrpc_peer_free(peers[i]);
  stage_pass(&s, 0.1);
  is_str(stage_call(&s, "count"), "0", "all have left");
  stage_close(&s);
}

static void run_all(oom *o) {
  static stage s;
  s = (stage){0};
  mrpc_env_config memory = {.alloc = oom_alloc, .alloc_ud = o};
  begin(&s, &memory);
  mrpc_peer *a = NULL, *b = NULL;
  if (s.peer) {
    a = join(&s, 0);
    b = join(&s, 100);
    stage_call(&s, "big");
    stage_call(&s, "publish");
    stage_call(&s, "peers");
    stage_pass(&s, 0.1);
  }
  mrpc_peer_free(a);
  mrpc_peer_free(b);
  stage_close(&s);
}

int main(void) {
  test_members();
  test_arguments();
  test_names();
  test_slow();
  test_many();
  oom_each("topics", run_all, false);
  oom_each("topics, all later ones too", run_all, true);
  return tap_finish();
}
