/* SPDX-License-Identifier: MIT
 *
 * What loads keep, and loads without memory. */
#include "oom.h"
#include "runtime/loader.h"
#include "solo.h"

/* What a load seeks in vain is bounded, as is what it costs to keep it. */
static void test_seeking(void) {
  begin();
  put("a.lua", "for i = 1, 5000 do pcall(require, 'x' .. i) end");
  ok(stage_load(&S, false)->ok, "5,000 names that aren't there");
  ok(S.runtime->loader->tree.map.count < 2000, "a part of them is noted");
  put("a.lua", "return nil");
  stage_load(&S, false);
  ok(S.runtime->loader->tree.map.count == 1, "and forgotten with the file");
  stage_close(&S);
}

static size_t measure(oom *o) {
  lua_gc(S.runtime->L, LUA_GCCOLLECT);
  lua_gc(S.runtime->L, LUA_GCCOLLECT);
  return o->live;
}

static void test_soak(void) {
  oom o = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
  S = (stage){0};
  if (stage_open(&S, &config)) abort();
  put("a.lua",
      "local l = require '_l' rpc.every(1, print) return { f = print }");
  put("b.lua", "return function() return require '_d' end");
  put("_l.lua", "return 1");
  put("_d.lua", "return 1");
  size_t early = 0;
  for (int i = 0; i < 400; i++) {
    put("_l.lua", i % 2 ? "return 1" : "return 2");
    put("c.lua", i % 4 ? "return {}" : "rpc.spawn(rpc.sleep, 9) error 'no'");
    if (i % 8 == 0) put("n.lua", "return nil");
    if (i % 8 == 4) fake_remove(&S.f, "n.lua");
    stage_load(&S, i % 3 == 0);
    stage_call(&S, "b");
    if (i == 79) early = measure(&o);
  }
  size_t late = measure(&o);
  ok(late == early, "400 loads leave nothing behind: %zu, %zu", early, late);
  stage_close(&S);
  ok(o.live == 0, "and all is freed");
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  S = (stage){0};
  put("_lib.lua", "return { v = 1 }");
  put("a.lua",
      "local l = require '_lib' rpc.every(1, print)\n"
      "return { v = function() return l.v end, t = { u = print } }");
  put("b.lua", "error('no')");
  if (stage_open(&S, &config) == MRPC_OK) {
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
    put("b.lua", "rpc.method('b', print) rpc.sleep(1) require 'a'");
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
    put("_lib.lua", "return { v = 2 }");
    mrpc_runtime_reload(S.runtime, false);
    stage_settle(&S);
  }
  stage_close(&S);
}

int main(void) {
  test_seeking();
  test_soak();
  oom_each("load", scenario, false);
  oom_each("load, all from one on", scenario, true);
  return tap_finish();
}
