/* SPDX-License-Identifier: MIT
 *
 * rpc.on: which functions run when, with what, and how they end. */
#include "oom.h"
#include "stage.h"

static const char hooks[] =
    "local log = require '_log'\n"
    "rpc.on('connect', function(peer)\n"
    "  peer.data.since = 'connect'\n"
    "  log.note('connect', peer.id, rawequal(peer, rpc.peer()))\n"
    "  peer:notify('hello', {})\n"
    "end)\n"
    "rpc.on('disconnect', function(peer)\n"
    "  log.note('disconnect', peer.id, peer:closed(), peer.data.since,\n"
    "    pcall(peer.notify, peer, 'bye'))\n"
    "end)\n"
    "rpc.on('reload', function(...) log.note('reload', select('#', ...)) end)\n"
    "rpc.on('shutdown', function() rpc.sleep(1) log.note('shutdown') end)\n"
    "return {log = function() return log.take() end,\n"
    "  late = function() rpc.on('connect', print) end}\n";

static const char log_file[] =
    "local log, lines = {}, rpc.state('log')\n"
    "function log.note(...)\n"
    "  local t = table.pack(...)\n"
    "  for i = 1, t.n do t[i] = tostring(t[i]) end\n"
    "  lines[#lines + 1] = table.concat(t, ' ')\n"
    "end\n"
    "function log.take()\n"
    "  local text = table.concat(lines, '; ')\n"
    "  for i = #lines, 1, -1 do lines[i] = nil end\n"
    "  return text\n"
    "end\n"
    "return log\n";

static void begin(stage *s, const char *init) {
  fake_put(&s->f, "init.lua", init);
  fake_put(&s->f, "_log.lua", log_file);
  ok(stage_open(s, NULL) == MRPC_OK, "opens");
  ok(stage_load(s, true)->ok, "loads: %s",
     stage_faults(mrpc_runtime_report(s->runtime)));
}

/* Another connection of the same stage. */
static mrpc_peer *connect(stage *s) {
  mrpc_framing *framing;
  mrpc_peer *peer;
  mrpc_peer_config config = {
      .env = s->env, .dispatch = s->dispatch, .transport = "test"};
  if (mrpc_framing_line(s->env, NULL, &framing)) abort();
  if (mrpc_peer_new(&config, framing, &peer)) abort();
  return peer;
}

static void test_connections(void) {
  static stage s;
  begin(&s, hooks);
  is_str(stage_call(&s, "log"), "\"\"",
         "peers that were there before see nothing");
  mrpc_peer *peer = connect(&s);
  stage_pass(&s, 0.1);
  const char *bytes;
  size_t len = mrpc_peer_output(peer, &bytes);
  is_bytes(bytes, len,
           "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{}}\n", 47,
           "it is greeted");
  is_str(stage_call(&s, "log"), "\"connect 2 true\"", "a peer connects");
  mrpc_peer_drop(peer);
  is_str(stage_call(&s, "log"), "\"\"", "its end is told of in the next turn");
  mrpc_peer_free(peer);
  stage_pass(&s, 0.1);
  is_str(stage_call(&s, "log"),
         "\"disconnect 2 true connect false The peer went away\"",
         "with its data, and without a way to reach it");
  peer = connect(&s);
  static const char asks[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"log\"}\n";
  mrpc_peer_recv(peer, asks, sizeof asks - 1);
  len = mrpc_peer_output(peer, &bytes);
  static const char said[] =
      "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{}}\n"
      "{\"jsonrpc\":\"2.0\",\"result\":\"connect 3 true\",\"id\":1}\n";
  is_bytes(bytes, len, said, sizeof said - 1,
           "connect comes before the first message");
  mrpc_peer_free(peer);
  stage_close(&s);
}

static void test_reload(void) {
  static stage s;
  begin(&s, hooks);
  is_str(stage_call(&s, "log"), "\"\"", "the first load is no reload");
  fake_put(&s.f, "init.lua", hooks);
  fake_put(&s.f, "other.lua",
           "rpc.on('reload', function()\n"
           "  require('_log').note('other') end)\n");
  ok(stage_load(&s, true)->ok, "loads again");
  stage_pass(&s, 0.1);
  is_str(stage_call(&s, "log"), "\"reload 0; other\"",
         "the new files' functions run, the old ones' don't");
  fake_put(&s.f, "other.lua", "rpc.on('reload', function() end) error('x')");
  ok(!stage_load(&s, false)->ok, "a load that fails");
  stage_pass(&s, 0.1);
  is_str(stage_call(&s, "log"), "\"\"", "is no reload");
  fake_remove(&s.f, "other.lua");
  ok(stage_load(&s, false)->ok, "a file goes");
  stage_pass(&s, 0.1);
  is_str(stage_call(&s, "log"), "\"reload 0\"", "with its functions");
  is_str(stage_call(&s, "late"), "error -32603", "not from a method");
  stage_close(&s);
}

static unsigned quiets;

static void on_quiet(void *ud) {
  (void)ud;
  quiets++;
}

static void test_shutdown(void) {
  static stage s;
  begin(&s, hooks);
  ok(mrpc_runtime_is_quiet(s.runtime), "nothing runs");
  mrpc_runtime_shutdown(s.runtime, on_quiet, NULL);
  mrpc_runtime_shutdown(s.runtime, on_quiet, NULL);
  ok(!mrpc_runtime_is_quiet(s.runtime) && quiets == 0, "shutdown begins");
  stage_pass(&s, 1.5);
  ok(mrpc_runtime_is_quiet(s.runtime) && quiets == 1, "and ends once");
  is_str(stage_call(&s, "log"), "\"shutdown\"", "having run");
  stage_close(&s);
}

static void test_faults(void) {
  static stage s;
  fake_put(&s.f, "init.lua", "rpc.on('connected', print)\n");
  ok(stage_open(&s, NULL) == MRPC_OK, "opens");
  is_str(stage_faults(stage_load(&s, true)),
         "init.lua:1: bad argument #1 to 'on' (there is no event 'connected', "
         "only connect, disconnect, reload and shutdown)",
         "an event that isn't");
  fake_put(&s.f, "init.lua", "rpc.on('connect')\n");
  is_str(stage_faults(stage_load(&s, true)),
         "init.lua:1: bad argument #2 to 'on' (function expected, got no "
         "value)",
         "no function");
  fake_put(&s.f, "init.lua", "rpc.on('connect', function() error('no') end)\n");
  ok(stage_load(&s, true)->ok, "a function that fails");
  mrpc_peer *peer = connect(&s);
  stage_pass(&s, 0.1);
  const char *bytes;
  ok(!mrpc_peer_is_done(peer) && mrpc_peer_output(peer, &bytes) == 0,
     "does the peer no harm");
  mrpc_peer_free(peer);
  stage_close(&s);
}

static void run_all(oom *o) {
  static stage s;
  s = (stage){0};
  mrpc_env_config memory = {.alloc = oom_alloc, .alloc_ud = o};
  fake_put(&s.f, "init.lua", hooks);
  fake_put(&s.f, "_log.lua", log_file);
  if (stage_open(&s, &memory) == MRPC_OK &&
      mrpc_runtime_reload(s.runtime, true) == MRPC_OK &&
      stage_settle(&s) == 0) {
    mrpc_framing *framing;
    mrpc_peer *peer = NULL;
    mrpc_peer_config config = {.env = s.env, .dispatch = s.dispatch};
    if (mrpc_framing_line(s.env, NULL, &framing) == MRPC_OK)
      (void)mrpc_peer_new(&config, framing, &peer);
    stage_pass(&s, 0.1);
    if (peer) mrpc_peer_drop(peer);
    stage_pass(&s, 0.1);
    mrpc_peer_free(peer);
    mrpc_runtime_shutdown(s.runtime, NULL, NULL);
    stage_pass(&s, 2);
  }
  stage_close(&s);
}

int main(void) {
  test_connections();
  test_reload();
  test_shutdown();
  test_faults();
  oom_each("events", run_all, false);
  oom_each("events, all later ones too", run_all, true);
  return tap_finish();
}
