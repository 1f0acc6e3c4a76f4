/* SPDX-License-Identifier: MIT
 *
 * One end of a socket pair belongs to a stream, the other to the test, which
 * does what clients do. Each test ends with a loop that closes. */
#include "transport/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

typedef struct bench {
  uv_loop_t uv;
  mrpc_env *env;
  mrpc_loop *loop;
  mrpc_dispatch *dispatch;
  mrpc_conn *conn;
  int fd; /* the client's end */
  mrpc_call *waiting[4];
  int waits;
  int closes; /* on_close calls */
  int cancels;
} bench;

static void subtract(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_call_reply(call, "19", 2);
}

static void on_cancel(mrpc_call *call, void *ud) {
  (void)call;
  ((bench *)ud)->cancels++;
}

static void wait_call(mrpc_call *call, void *ud) {
  bench *b = ud;
  mrpc_call_on_cancel(call, on_cancel, b);
  b->waiting[b->waits++] = call;
}

static void big(mrpc_call *call, void *ud) {
  static char text[4 << 20];
  (void)ud;
  memset(text, 'x', sizeof text);
  text[0] = text[sizeof text - 1] = '"';
  mrpc_call_reply(call, text, sizeof text);
}

static void on_close(mrpc_conn *conn, void *ud) {
  bench *b = ud;
  b->closes++;
  b->conn = NULL;
  (void)conn;
}

static void open_stream(bench *b, const mrpc_limits *limits) {
  int fds[2];
  mrpc_framing *framing;
  mrpc_peer *peer;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) abort();
  fcntl(fds[1], F_SETFL, O_NONBLOCK);
  b->fd = fds[1];
  if (mrpc_conn_new(b->loop, false, &b->conn)) abort();
  uv_pipe_open(&b->conn->handle.pipe, fds[0]);
  b->conn->on_close = on_close;
  b->conn->ud = b;
  mrpc_peer_config config = {.env = b->env,
                             .dispatch = b->dispatch,
                             .limits = limits,
                             .on_wake = mrpc_conn_wake,
                             .ud = b->conn};
  if (mrpc_framing_line(b->env, limits, &framing)) abort();
  if (mrpc_peer_new(&config, framing, &peer)) abort();
  mrpc_conn_open(b->conn, peer);
}

static void begin(bench *b, const mrpc_limits *limits) {
  memset(b, 0, sizeof *b);
  uv_loop_init(&b->uv);
  if (mrpc_env_new(&(mrpc_env_config){0}, &b->env)) abort();
  if (mrpc_loop_new(b->env, &b->uv, &b->loop)) abort();
  if (mrpc_dispatch_new(b->env, &b->dispatch)) abort();
  mrpc_dispatch_add(b->dispatch, "subtract", subtract, NULL);
  mrpc_dispatch_add(b->dispatch, "wait", wait_call, b);
  mrpc_dispatch_add(b->dispatch, "big", big, NULL);
  open_stream(b, limits);
}

/* Turns of the loop until nothing more is done. */
static void turn(bench *b) {
  for (int i = 0; i < 3; i++) mrpc_loop_step(b->loop, 0);
}

static void finish(bench *b, const char *name) {
  if (b->conn) mrpc_conn_close(b->conn);
  if (b->fd >= 0) close(b->fd);
  mrpc_loop_free(b->loop);
  mrpc_dispatch_free(b->dispatch);
  ok(uv_loop_close(&b->uv) == 0, "%s: the loop closes", name);
  mrpc_env_free(b->env);
}

static void say(bench *b, const char *text) {
  if (write(b->fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
}

/* What the client receives now; -1 at the end of the stream, -2 at an error. */
static ssize_t hear(bench *b, char *text, size_t size) {
  ssize_t n = read(b->fd, text, size - 1);
  text[n > 0 ? n : 0] = '\0';
  if (n == 0) return -1;
  return n < 0 ? (errno == EAGAIN ? 0 : -2) : n;
}

#define CALL(method, id) \
  "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"id\":" id "}\n"
#define ANSWER(id) "{\"jsonrpc\":\"2.0\",\"result\":19,\"id\":" id "}\n"

static void test_answers(void) {
  bench b;
  char text[1000];
  begin(&b, NULL);
  say(&b, CALL("subtract", "1") CALL("subtract", "2"));
  turn(&b);
  hear(&b, text, sizeof text);
  is_str(text, ANSWER("1") ANSWER("2"), "answers to what one read gave");
  say(&b, "{\"jsonrpc\":\"2.0\",\"meth");
  turn(&b);
  ok(hear(&b, text, sizeof text) == 0, "half a message has no answer");
  say(&b, "od\":\"subtract\",\"id\":3}\n");
  turn(&b);
  hear(&b, text, sizeof text);
  is_str(text, ANSWER("3"), "the whole has one");
  finish(&b, "answers");
  ok(b.closes == 1, "on_close is called once");
}

static void test_later(void) {
  bench b;
  char text[1000];
  begin(&b, NULL);
  say(&b, CALL("wait", "1") CALL("wait", "2"));
  turn(&b);
  ok(b.waits == 2 && hear(&b, text, sizeof text) == 0, "two calls wait");
  mrpc_call_reply(b.waiting[1], "2", 1);
  ok(hear(&b, text, sizeof text) == 0, "an answer leaves with the turn");
  mrpc_call_reply(b.waiting[0], "1", 1);
  turn(&b);
  hear(&b, text, sizeof text);
  is_str(text,
         "{\"jsonrpc\":\"2.0\",\"result\":2,\"id\":2}\n"
         "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}\n",
         "all that were given meanwhile leave together");
  finish(&b, "later");
}

static void test_half_close(void) {
  bench b;
  char text[1000];
  begin(&b, NULL);
  say(&b, CALL("wait", "1") "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\","
                            "\"id\":2}");
  shutdown(b.fd, SHUT_WR);
  turn(&b);
  hear(&b, text, sizeof text);
  is_str(text, ANSWER("2"), "a last line without its end is answered");
  ok(b.conn && b.cancels == 0, "the call that waits lives");
  mrpc_call_reply(b.waiting[0], "1", 1);
  turn(&b);
  hear(&b, text, sizeof text);
  is_str(text, "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}\n", "and answers");
  ok(hear(&b, text, sizeof text) == -1, "then the stream ends");
  ok(!b.conn, "and has closed");
  finish(&b, "half-close");
}

static void test_death(void) {
  bench b;
  char text[64];
  begin(&b, NULL);
  say(&b, CALL("wait", "1"));
  turn(&b);
  mrpc_conn_close(b.conn);
  ok(b.cancels == 1, "closing cancels the calls");
  turn(&b);
  ok(hear(&b, text, sizeof text) == -1, "the client sees the end");
  mrpc_call_reply(b.waiting[0], "1", 1);
  finish(&b, "closed");

  begin(&b, NULL);
  say(&b, CALL("wait", "1"));
  turn(&b);
  close(b.fd);
  b.fd = -1;
  turn(&b);
  mrpc_call_reply(b.waiting[0], "1", 1);
  turn(&b);
  ok(!b.conn, "a write that fails closes");
  finish(&b, "write fails");
}

/* A peer that doesn't read: what it asks for waits, its requests too. */
static void test_slow_reader(void) {
  bench b;
  char text[65536];
  size_t got = 0;
  mrpc_limits limits = {.output = 1 << 20};
  begin(&b, &limits);
  say(&b, CALL("big", "1") CALL("big", "2"));
  turn(&b);
  ok(b.conn->writing > 0, "the socket is full");
  ok(!b.conn->reading, "reading has stopped");
  say(&b, CALL("subtract", "3"));
  turn(&b);
  for (int idle = 0; idle < 100;) {
    ssize_t n = hear(&b, text, sizeof text);
    if (n > 0) got += (size_t)n;
    idle = n > 0 ? 0 : idle + 1;
    turn(&b);
  }
  size_t frame = strlen(ANSWER("1")) - 2;
  ok(got == 2 * ((4 << 20) + frame) + strlen(ANSWER("3")),
     "all of it comes in the end: %zu bytes", got);
  ok(b.conn && b.conn->reading, "and reading goes on");
  finish(&b, "slow reader");
}

/* After a refusal what the client still sends is thrown away, and the stream
 * ends when it does. */
static void test_linger(void) {
  bench b;
  char text[1000];
  begin(&b, NULL);
  say(&b, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  turn(&b);
  ok(b.conn && b.conn->lingering, "the stream lingers");
  say(&b, CALL("subtract", "1"));
  turn(&b);
  ssize_t n = hear(&b, text, sizeof text);
  while (n > 0) n = hear(&b, text, sizeof text);
  ok(n == -1, "the client sees the end, not a reset");
  ok(b.conn != NULL, "it is still there");
  close(b.fd);
  b.fd = -1;
  turn(&b);
  ok(!b.conn, "until the client has closed");
  finish(&b, "linger");
}

static void test_drain(void) {
  bench b;
  char text[1000];
  begin(&b, NULL);
  mrpc_conn_drain(b.conn);
  turn(&b);
  ok(!b.conn && hear(&b, text, sizeof text) == -1, "an idle stream ends");
  finish(&b, "drain, idle");

  begin(&b, NULL);
  say(&b, CALL("wait", "1"));
  turn(&b);
  mrpc_conn_drain(b.conn);
  turn(&b);
  ok(b.conn != NULL, "a call in flight keeps the stream");
  mrpc_call_reply(b.waiting[0], "1", 1);
  turn(&b);
  hear(&b, text, sizeof text);
  is_str(text, "{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}\n", "it answers");
  ok(!b.conn, "then the stream ends");
  finish(&b, "drain, busy");
}

/* Reads wait when a step's time is over, but one is always made. */
static void test_budget(void) {
  bench b;
  char text[1000];
  begin(&b, NULL);
  say(&b, CALL("subtract", "1"));
  turn(&b);
  say(&b, CALL("subtract", "2"));
  mrpc_loop_step(b.loop, 1);
  hear(&b, text, sizeof text);
  is_str(text, ANSWER("1") ANSWER("2"), "the shortest step reads once");
  finish(&b, "budget");
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  test_answers();
  test_later();
  test_half_close();
  test_death();
  test_slow_reader();
  test_linger();
  test_drain();
  test_budget();
  return tap_finish();
}
