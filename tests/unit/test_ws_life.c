/* SPDX-License-Identifier: MIT
 *
 * What keeps a WebSocket alive and what it costs: pings, deadlines, memory,
 * and each allocation that fails. src/http/websocket.c. */
#include "frames.h"
#include "oom.h"

static void test_ping(void) {
  feed t;
  open_at(&t);
  pass(&t, 29);
  ok(t.f->out.len == 0, "silence for 29 s");
  pass(&t, 31);
  ok(t.f->out.len == 2, "a ping after 30");
  pass(&t, 39);
  ok(!t.f->closing, "it waits for a pong");
  pass(&t, 41);
  ok(t.f->closing && t.f->is_dead, "10 s at most");
  is_str(t.f->error, "it didn't answer a ping", "why");
  says(&t, "< ping \nclosing\n", "5.5.2: a keep-alive ping");

  open_at(&t);
  pass(&t, 31);
  frame(&in, PONG, "");
  play(&t);
  pass(&t, 69);
  ok(!t.f->closing && t.f->out.len == 2, "a pong is life for 30 s");
  frame(&in, TEXT, "[1]");
  play(&t);
  pass(&t, 99);
  ok(t.f->out.len == 2, "so is a message, which isn't timed to the second");
  t.f->is_unread = true;
  pass(&t, 500);
  ok(!t.f->closing && t.f->out.len == 2, "where nobody reads nobody asks");
  says(&t, "message [1]\n< ping \n", "all that it said");
}

static int make_silent(mrpc_env *env, mrpc_framing **out) {
  static const mrpc_websocket_config how = {.ping = -1};
  return make_with(env, &how, out);
}

static void test_time(void) {
  feed t = websocket();
  t.make = make_silent;
  feed_open(&t);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "without pings it waits for ever");
  frame(&in, TEXT - MORE, "[1");
  play(&t);
  ok(t.f->vt->deadline(t.f) == seconds(5), "but not for half a message");
  pass(&t, 3);
  frame(&in, CONT - MORE, ",2");
  play(&t);
  pass(&t, 6);
  says(&t, "< close 1008 a message took too long to arrive\nclosing\n",
       "7.4.1: 1008");
  open_at(&t);
  feed_piece(&t, "\x81", 1);
  ok(t.f->vt->deadline(t.f) == seconds(5), "nor for half a frame");
  free(feed_close(&t));
  t.make = make_silent;
  feed_open(&t);
  frame(&in, PING, "hi");
  feed_piece(&t, in.at, 3);
  ok(t.f->vt->deadline(t.f) == seconds(5), "be it a ping's");
  feed_piece(&t, in.at + 3, in.len - 3);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "which may come in pieces");
  free(in.at);
  in = (feed_text){0};
  says(&t, "< pong hi\n", "and is answered");
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  static char text[5000];
  feed_text bytes = {0};
  if (mrpc_env_new(&config, &env)) return;
  int rc = make(env, &f);
  memset(text, 'a', sizeof text);
  frame_n(&bytes, TEXT, text, sizeof text);
  frame(&bytes, TEXT - MORE, "[");
  frame(&bytes, PING, "x");
  frame(&bytes, CONT, "]");
  frame(&bytes, TEXT, "\xff");
  for (size_t at = 0, used; !rc && at < bytes.len && !f->closing; at += used) {
    rc = f->vt->recv(f, bytes.at + at, bytes.len - at, &used, &msg);
    if (rc == MRPC_OK) f->vt->put(f, 0, msg.bytes, msg.len, 0);
    if (rc == MRPC_ENOMEM) break;
    rc = MRPC_OK;
    if (at + used > bytes.len) break;
  }
  if (f) {
    f->vt->close(f, "over");
    f->vt->free(f);
  }
  free(bytes.at);
  mrpc_env_free(env);
}

/* What an idle connection holds, wslay's own memory aside. */
static void test_memory(void) {
  oom o = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  size_t used, before;
  mrpc_env_new(&config, &env);
  before = o.live;
  make(env, &f);
  size_t calls = o.count;
  for (int i = 0; i < 100; i++) {
    frame(&in, TEXT, "[1,2,3]");
    f->vt->recv(f, in.at, in.len, &used, &msg);
    f->vt->put(f, msg.token, msg.bytes, msg.len, MRPC_OUTCOME_ANSWERED);
    mrpc_buf_truncate(&f->out, 0);
    free(in.at);
    in = (feed_text){0};
  }
  ok(o.count - calls == 2, "messages allocate nothing but two buffers");
  printf("# idle: %zu bytes\n", o.live - before);
  ok(o.live - before < 1024, "an idle one costs less than 1 KiB");
  f->vt->free(f);
  mrpc_env_free(env);
}

int main(void) {
  test_ping();
  test_time();
  test_memory();
  oom_each("websocket", scenario, false);
  oom_each("websocket", scenario, true);
  return tap_finish();
}
