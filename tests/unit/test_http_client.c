/* SPDX-License-Identifier: MIT
 *
 * HTTP, client side: src/http/client.c. Three requests wait for answers. */

#include "feed.h"
#include "oom.h"

#define TYPE "Content-Type: application/json\r\n"
#define OK(body, len) \
  "HTTP/1.1 200 OK\r\n" TYPE "Content-Length: " len "\r\n\r\n" body

static const mrpc_limits limits = {
    .message = 40, .header = 250, .header_time = 2, .body_time = 5};

static int make(mrpc_env *env, mrpc_framing **out) {
  int rc = mrpc_framing_http_client(env, &limits, "h:1", "/x", out);
  for (int i = 0; i < 3 && !rc; i++) rc = (*out)->vt->push(*out, "{}", 2);
  return rc;
}

static void hide(feed *t, const char *bytes, size_t len) {
  (void)t;
  (void)bytes;
  (void)len;
}

static feed client(void) {
  return (feed){.make = make, .show = hide};
}

static void test_requests(void) {
  feed t = client();
  feed_open(&t);
  const char *want =
      "POST /x HTTP/1.1\r\nHost: h:1\r\nUser-Agent: moonrpc/" MRPC_VERSION
      "\r\nAccept: application/json\r\n" TYPE "Content-Length: 2\r\n\r\n{}";
  size_t len = strlen(want);
  is_bytes(t.f->out.data, len, want, len, "a request");
  ok(t.f->out.len == 3 * len, "three of them");
  ok(t.f->vt->can_push(t.f), "more are welcome");
  free(feed_close(&t));
}

static void test_answers(void) {
  feed t = client();
  feed_is(&t, OK("{1}", "3") OK("[2]", "3"), "message {1}\nmessage [2]\n",
          "two answers");
  feed_is(&t,
          "HTTP/1.1 200 OK\r\n" TYPE
          "Transfer-Encoding: chunked\r\n\r\n"
          "1\r\n{\r\n2\r\n1}\r\n0\r\n\r\n" OK("[2]", "3"),
          "message {1}\nmessage [2]\n", "a chunked one");
  feed_is(&t,
          "HTTP/1.1 204 No Content\r\n\r\n"
          "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" OK("[2]", "3"),
          "message [2]\n", "nothing is no message");
  feed_is(&t, OK("", "0") OK("[2]", "3"), "message [2]\n", "an empty 200");
  feed_is(&t,
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
          "Link: x\r\n\r\n" OK("{1}", "3"),
          "message {1}\n", "9110 15.2: interim answers");
  feed_is(&t, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n [2]",
          "message  [2]\n", "what looks like JSON needs no type");
  feed_is(&t, "HTTP/1.1 200 OK\r\n" TYPE "Content-Length: 1\r\n\r\n7",
          "message 7\n", "what has the type needs no look");
  feed_is(&t, "HTTP/1.1 500 Oops\r\n" TYPE "Content-Length: 3\r\n\r\n{1}",
          "message {1}\n", "JSON with another status");
  feed_is(&t, "HTTP/1.0 200 OK\r\n" TYPE "\r\n{1}", "message {1}\nclosing\n",
          "9112 6.3: a body up to the end of the connection");
  feed_is(&t,
          "HTTP/1.1 200 OK\r\nConnection: close\r\n" TYPE
          "Content-Length: 3\r\n\r\n{1}rubbish",
          "message {1}\nclosing\n", "9112 9.6: close");
  feed_is(&t, "", "", "nothing at all");
}

static void test_failures(void) {
  feed t = client();
#define FAILS(bytes, why, name) \
  feed_is(&t, bytes, "proto: " why "\nclosing\n", name)
  FAILS("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n",
        "the server refused the request", "a page with a status");
  FAILS("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        "the server refused the request", "a status alone");
  FAILS(
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n"
      "\r\n<b>",
      "the answer isn't JSON", "a page");
  FAILS(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
      "Connection: upgrade\r\n\r\n",
      "the server changed the protocol", "9110 15.2.2: 101");
  FAILS(
      "HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\n"
      "{2345678901234567890123456789012345678901}",
      "the answer is over limits.message", "a long answer");
  FAILS("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{", "the answer broke off",
        "half an answer");
  FAILS("HTTP/1.1 200 OK\r\nConte", "the answer broke off", "half a header");
  FAILS("SSH-2.0-OpenSSH_9.2\r\n", "Expected HTTP/", "another protocol");
  t.make = make;
  feed_is(&t, OK("{1}", "3") OK("{1}", "3") OK("{1}", "3") OK("{1}", "3"),
          "message {1}\nmessage {1}\nmessage {1}\n"
          "proto: the server sent what nobody asked for\nclosing\n",
          "one answer too many");
  feed_open(&t);
  feed_piece(&t, "HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", 39);
  char why[MRPC_REASON_SIZE];
  t.f->vt->explain(t.f, why, sizeof why);
  is_str(why, "the server refused the request, status 404: x", "it explains");
  ok(!t.f->vt->can_push(t.f), "nothing can be pushed any more");
  free(feed_close(&t));
}

static void test_deadlines(void) {
  feed t = client();
  feed_open(&t);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "waiting has no deadline of ours");
  feed_piece(&t, "H", 1);
  ok(t.f->vt->deadline(t.f) == 2000000000, "half a header has");
  feed_piece(&t, "TTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 38);
  ok(t.f->vt->deadline(t.f) == 5000000000, "half an answer, too");
  t.f->vt->tick(t.f, 5000000000);
  ok(t.f->closing, "and its end closes");
  free(feed_close(&t));
}

static void test_arguments(void) {
  mrpc_env *env;
  mrpc_framing *f;
  mrpc_env_new(&(mrpc_env_config){0}, &env);
  ok(mrpc_framing_http_client(env, NULL, "h\r\nX: y", "/", &f) == MRPC_EINVAL,
     "a host with a line end");
  ok(mrpc_framing_http_client(env, NULL, "h", "/ HTTP/1.1", &f) == MRPC_EINVAL,
     "a path with a space");
  ok(mrpc_framing_http_client(env, NULL, "h", "x", &f) == MRPC_EINVAL,
     "a path without a slash");
  mrpc_env_free(env);
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  size_t consumed;
  if (mrpc_env_new(&config, &env)) return;
  if (!make(env, &f)) {
    const char *bytes = OK("{1}", "3");
    for (; *bytes; bytes++) f->vt->recv(f, bytes, 1, &consumed, &msg);
  }
  if (f) f->vt->free(f);
  mrpc_env_free(env);
}

int main(void) {
  test_requests();
  test_answers();
  test_failures();
  test_deadlines();
  test_arguments();
  oom_each("client", scenario, false);
  oom_each("client", scenario, true);
  return tap_finish();
}
