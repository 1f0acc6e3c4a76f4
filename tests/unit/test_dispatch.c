/* SPDX-License-Identifier: MIT */
#include "rpc/dispatch.h"

#include "talk.h"

static void one(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_call_reply(call, "1", 1);
}

static void two(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_call_reply(call, "2", 1);
}

static bool finds(mrpc_dispatch *d, const char *name, mrpc_call_fn fn) {
  const mrpc_method *method = mrpc_dispatch_find(d, name, strlen(name));
  return fn ? method && method->start == fn : !method;
}

static void native(mrpc_dispatch *d) {
  char name[] = "one";
  ok(mrpc_dispatch_add(d, name, one, NULL) == MRPC_OK, "a method is added");
  name[0] = 'x';
  ok(finds(d, "one", one), "its name is a copy");
  ok(mrpc_dispatch_add(d, "one", two, NULL) == MRPC_EEXIST, "not twice");
  ok(finds(d, "one", one), "the first one stays");
  ok(mrpc_dispatch_add(d, "rpc.x", one, NULL) == MRPC_EINVAL,
     "rpc. is the host's");
  ok(mrpc_dispatch_add_host(d, "rpc.x", one, NULL) == MRPC_OK,
     "who may use it");
  ok(finds(d, "rpc.x", one), "and it is found");
  ok(mrpc_dispatch_add(d, "rpcx", one, NULL) == MRPC_OK, "rpcx isn't rpc.x");
  ok(mrpc_dispatch_add(d, "", one, NULL) == MRPC_OK, "an empty name is one");
  ok(finds(d, "", one) && finds(d, "on", NULL) && finds(d, "rpc.", NULL),
     "names are compared whole");
  ok(mrpc_dispatch_native(d)->count == 4, "native methods can be listed");
}

static void scripted(mrpc_env *env, mrpc_dispatch *d) {
  mrpc_method hides = {"one", 3, two, NULL}, host = {"rpc.x", 5, two, NULL},
              more = {"more", 4, two, NULL};
  mrpc_map map;
  mrpc_map_init(&map, &env->mem, 1);
  if (mrpc_map_set(&map, hides.name, hides.len, &hides) ||
      mrpc_map_set(&map, host.name, host.len, &host) ||
      mrpc_map_set(&map, more.name, more.len, &more))
    abort();
  ok(mrpc_dispatch_swap(d, &map) == NULL, "there was no scripted map");
  ok(finds(d, "more", two), "a scripted method is found");
  ok(finds(d, "one", two), "it hides a native one");
  ok(finds(d, "rpc.x", one), "but none of the host's");
  ok(mrpc_dispatch_add(d, "more", one, NULL) == MRPC_EEXIST,
     "its name is taken");
  ok(finds(d, "one", two) && finds(d, "one", two), "found twice on end");
  ok(mrpc_dispatch_swap(d, NULL) == &map, "the map is given back");
  ok(finds(d, "one", one) && finds(d, "more", NULL), "all as before");
  ok(finds(d, "one", one) && !mrpc_dispatch_swap(d, &map) &&
         finds(d, "one", two) && mrpc_dispatch_swap(d, NULL) == &map,
     "what was found last doesn't outlive its map");
  mrpc_map_clear(&map);
}

/* A call may outlive peer and dispatch; its answer goes nowhere. */
static void late(void) {
  talk t = {0};
  talk_begin(&t);
  talk_say(&t, REQ("wait", "[\"a\"]", "1") "\n");
  mrpc_peer_free(t.peer);
  ok(t.methods.cancelled == 1, "a lost peer cancels");
  mrpc_dispatch_free(t.dispatch);
  mrpc_env_free(t.env);
  ok(t.mem.live == 0, "all memory came back");
}

static void keep(mrpc_call *call, void *ud) {
  *(mrpc_call **)ud = call;
}

static void later(void) {
  talk t = {0};
  mrpc_call *kept = NULL;
  talk_begin(&t);
  mrpc_dispatch_add(t.dispatch, "keep", keep, &kept);
  talk_say(&t, REQ("keep", "[]", "1") "\n");
  mrpc_peer_free(t.peer);
  mrpc_dispatch_free(t.dispatch);
  ok(kept && mrpc_call_peer(kept) == NULL && mrpc_call_is_cancelled(kept),
     "the call knows that its caller has gone");
  ok(mrpc_call_reply(kept, "1", 1) == MRPC_OK,
     "it may be answered all the same");
  mrpc_env_free(t.env);
  ok(t.mem.live == 0, "all memory came back");
}

int main(void) {
  talk t = {0};
  if (mrpc_env_new(&(mrpc_env_config){.alloc = talk_alloc, .alloc_ud = &t},
                   &t.env) ||
      mrpc_dispatch_new(t.env, &t.dispatch))
    abort();
  native(t.dispatch);
  scripted(t.env, t.dispatch);
  mrpc_dispatch_free(t.dispatch);
  mrpc_env_free(t.env);
  ok(t.mem.live == 0, "all memory came back");
  late();
  later();
  return tap_finish();
}
