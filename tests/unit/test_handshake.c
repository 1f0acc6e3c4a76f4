/* SPDX-License-Identifier: MIT
 *
 * WebSocket's handshake from both sides, by RFC 6455's sections:
 * src/http/handshake.c, sha1.c, wsclient.c, and how server.c hands over. */
#include "http/handshake.h"

#include <limits.h>
#include <unistd.h>

#include "http/sha1.h"
#include "oom.h"
#include "ws.h"

#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define GET "GET /rpc HTTP/1.1\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define NONCE "Sec-WebSocket-Key: " KEY "\r\n"
#define HOST "Host: localhost\r\n"
#define ASK GET HOST UPGRADE VERSION NONCE
#define AGREED                                    \
  "HTTP/1.1 101 Switching Protocols\r\n"          \
  "Upgrade: websocket\r\nConnection: Upgrade\r\n" \
  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static const char *const protocols[] = {"jsonrpc", "json", NULL};
static const char *const origins[] = {"https://app.example.com", NULL};
static const mrpc_http_config config = {.limits = &limits,
                                        .path = "/rpc",
                                        .bound = "127.0.0.1",
                                        .origins = origins,
                                        .websocket.protocols = protocols};

static int make_server(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_http(env, &config, out);
}

static feed server(void) {
  return (feed){.make = make_server, .answer = echo};
}

static void test_digests(void) {
  char text[30];
  mrpc_base64((const uint8_t *)"foobar", 6, text);
  is_str(text, "Zm9vYmFy", "RFC 4648 10: base64");
  mrpc_base64((const uint8_t *)"fooba", 5, text);
  is_str(text, "Zm9vYmE=", "with a rest of two");
  mrpc_base64((const uint8_t *)"foob", 4, text);
  is_str(text, "Zm9vYg==", "with a rest of one");
  mrpc_ws_accept(KEY, text);
  is_str(text, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "1.3: the answer to a key");
}

/* A frame behind the handshake, in the same bytes. */
static void test_upgrade(void) {
  feed t = server();
  feed_text bytes = {0};
  feed_adds(&bytes, ASK "\r\n");
  frame(&bytes, TEXT, "[1]");
  feed_is_n(&t, bytes.at, bytes.len,
            "message [1]\nclosed: (silence)\nout " AGREED
            "\r\n\x81\x03[1]\nclosing\n",
            "4.2.2: an upgrade, and a message at its heels");
  free(bytes.at);
#define AGREES(request, fields, name) \
  feed_is(&t, request "\r\n",         \
          "closed: (silence)\nout " AGREED fields "\r\n\nclosing\n", name)
  AGREES(GET HOST
         "upgrade: h2c, WebSocket\r\n"
         "connection: keep-alive, UPGRADE\r\n" VERSION NONCE,
         "", "4.2.1: lists, whatever the case");
  AGREES(GET HOST
         "Upgrade: websocket\r\nConnection: keep-alive\r\n"
         "Connection: Upgrade\r\n" VERSION NONCE,
         "", "a list over two lines");
  AGREES(ASK "Sec-WebSocket-Protocol: x, json ,jsonrpc\r\n",
         "Sec-WebSocket-Protocol: json\r\n",
         "the client's first that we speak");
  AGREES(ASK
         "Sec-WebSocket-Protocol: x\r\n"
         "Sec-WebSocket-Protocol: jsonrpc\r\n",
         "Sec-WebSocket-Protocol: jsonrpc\r\n", "from its second line");
  AGREES(ASK "Sec-WebSocket-Protocol: JSON, jso\r\n", "", "or none");
  AGREES(ASK "Sec-WebSocket-Extensions: permessage-deflate\r\n", "",
         "9.1: no extension is agreed to");
  AGREES(ASK "Origin: https://app.example.com\r\n", "", "an allowed Origin");
  AGREES(ASK "Origin: http://localhost\r\n", "", "its own Origin");
}

/* Where the answer says the status, and the connection lives or not. */
static void refuses(const char *bytes, const char *status, const char *what) {
  feed t = server();
  char *got = feed_play(t, bytes, strlen(bytes), strlen(bytes), 1);
  const char *out = strstr(got, "out HTTP/1.1 ");
  ok(out && !strncmp(out + 13, status, 3) && strstr(out, what), "%s: %s",
     status, what);
  if (!out || !strstr(out, what)) printf("# %s\n", got);
  free(got);
}

static void test_refusals(void) {
  refuses(GET HOST UPGRADE NONCE "\r\n", "426",
          "Sec-WebSocket-Version: 13\r\n");
  refuses(GET HOST UPGRADE NONCE "Sec-WebSocket-Version: 8\r\n\r\n", "426",
          "must be 13, got 8");
  refuses(GET HOST UPGRADE VERSION "\r\n", "400", "16 bytes in base64, got");
  refuses(GET HOST UPGRADE VERSION "Sec-WebSocket-Key: abc\r\n\r\n", "400",
          "got abc");
  refuses(GET HOST UPGRADE VERSION
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n\r\n",
          "400", "16 bytes in base64");
  refuses(ASK NONCE "\r\n", "400", "may stand there once");
  refuses(GET HOST "Upgrade: websocket\r\n" VERSION NONCE "\r\n", "400",
          "Connection must name Upgrade");
  refuses(ASK "Origin: https://evil.example\r\n\r\n", "403", "Origin");
  refuses(ASK "Origin: null\r\n\r\n", "403", "Origin");
  refuses(GET "Host: evil.example\r\n" UPGRADE VERSION NONCE "\r\n", "403",
          "Host");
  refuses("GET /no HTTP/1.1\r\n" HOST UPGRADE VERSION NONCE "\r\n", "404",
          "no endpoint");
  refuses("GET /rpc HTTP/1.0\r\n" HOST UPGRADE VERSION NONCE "\r\n", "400",
          "HTTP/1.1");
  refuses(ASK "Content-Length: 2\r\n\r\nhi", "400", "no body");
  refuses(ASK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", "no body");
  refuses(GET HOST "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "405",
          "POST");
}

static int make_off(mrpc_env *env, mrpc_framing **out) {
  mrpc_http_config off = config;
  off.websocket.off = true;
  return mrpc_framing_http(env, &off, out);
}

/* Where WebSocket is off HTTP goes on. */
static void test_off(void) {
  static const char both[] = ASK
      "\r\n"
      "POST /rpc HTTP/1.1\r\n" HOST
      "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n[1]";
  feed t = {.make = make_off, .answer = echo};
  char *got = feed_play(t, both, sizeof both - 1, sizeof both, 1);
  const char *refusal = strstr(got, "HTTP/1.1 405 ");
  ok(refusal && strstr(refusal, "the method must be POST"),
     "an upgrade that isn't taken is a GET");
  ok(strstr(got, "message [1]\n") && strstr(got, "HTTP/1.1 200 OK"),
     "the connection goes on as HTTP");
  free(got);
}

static void keep(feed *t, const mrpc_message *msg, int rc) {
  (void)t;
  (void)msg;
  (void)rc;
}

static void test_places(void) {
  feed t = server();
#define POST                           \
  "POST /rpc HTTP/1.1\r\n" HOST        \
  "Content-Type: application/json\r\n" \
  "Content-Length: 3\r\n" UPGRADE "\r\n[1]"
  feed_is(&t, POST,
          "message [1]\nout HTTP/1.1 200 OK\r\n"
          "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n[1]\n"
          "closing\n",
          "RFC 9110 7.8: a POST that would upgrade is a POST");
  t.answer = keep;
  char *got = feed_play(t, POST ASK "\r\n", strlen(POST ASK "\r\n"), 0, 9999);
  ok(!strstr(got, "101"), "an upgrade behind what isn't answered is refused");
  free(got);
  t = server();
  feed_open(&t);
  t.f->vt->drain(t.f);
  ok(t.f->closing, "a draining connection that is idle closes");
  free(feed_close(&t));
}

static void test_headers(void) {
  feed t = server();
  feed_open(&t);
  feed_piece(&t, ASK "Cookie: a=b\r\n\r\n", strlen(ASK "Cookie: a=b\r\n\r\n"));
  const mrpc_header_field *field = t.f->vt->headers(t.f);
  while (field && field->name && strcmp(field->name, "cookie") != 0) field++;
  ok(field && field->name, "the handshake's fields are kept");
  if (field && field->name) is_str(field->value, "a=b", "with their values");
  is_str(t.f->vt->transport, "ws", "the transport has another name");
  free(feed_close(&t));
}

/* The client's side. */

static int make_opening(mrpc_env *env, mrpc_framing **out) {
  int rc = mrpc_framing_ws_client(env, &limits, "h:1", "/rpc", protocols, out);
  return rc ? rc : (*out)->vt->push(*out, "{}", 2);
}

/* What a server answers to the key that stands in the request. */
static void accept_of(const mrpc_framing *f, char *out) {
  const char *key = memmem(f->out.data, f->out.len, "Sec-WebSocket-Key: ", 19);
  mrpc_ws_accept(key + 19, out);
}

static void answer_with(feed *t, const char *before, const char *after) {
  char accept[MRPC_WS_ACCEPT_SIZE];
  feed_text bytes = {0};
  accept_of(t->f, accept);
  feed_adds(&bytes, before);
  feed_adds(&bytes, "Sec-WebSocket-Accept: ");
  feed_adds(&bytes, accept);
  feed_adds(&bytes, "\r\n");
  feed_adds(&bytes, after);
  feed_piece(t, bytes.at, bytes.len);
  free(bytes.at);
}

#define SWITCH "HTTP/1.1 101 Switching Protocols\r\n"

static void test_client(void) {
  feed t = {.make = make_opening, .answer = echo};
  feed_open(&t);
  size_t len = t.f->out.len;
  static const char begin[] = "GET /rpc HTTP/1.1\r\nHost: h:1\r\n";
  ok(!memcmp(t.f->out.data, begin, sizeof begin - 1), "4.1: a request");
  ok(memmem(t.f->out.data, len, "Sec-WebSocket-Protocol: jsonrpc, json\r\n",
            39) != NULL,
     "with its subprotocols");
  ok(!memcmp(t.f->out.data + len - 4, "\r\n\r\n", 4) && t.f->held == 8,
     "what is pushed is held");
  answer_with(&t, SWITCH UPGRADE,
              "Sec-WebSocket-Protocol: json\r\n\r\n\x81\x02[]");
  is_str(t.log.at, "message []\n", "a message at the heels of the agreement");
  is_str(t.f->vt->name, "websocket", "the frames' framing has taken over");
  ok(t.f->out.len == len + 8 + 8 && t.f->held == 0, "what was held follows");
  ok(t.f->vt->headers(t.f) != NULL, "and the answer's fields are kept");
  free(feed_close(&t));
}

static void refused(const char *before, const char *after, const char *why) {
  feed t = {.make = make_opening};
  feed_open(&t);
  answer_with(&t, before, after);
  ok(t.f->closing && t.f->error && !strcmp(t.f->error, why), "%s (%s)", why,
     t.f->error ? t.f->error : "none");
  free(feed_close(&t));
}

static void test_client_refuses(void) {
  static const char isnt[] = "the server's handshake isn't WebSocket's";
  refused(SWITCH "Connection: Upgrade\r\n", "\r\n", isnt);
  refused(SWITCH "Upgrade: websocket\r\n", "\r\n", isnt);
  refused(SWITCH UPGRADE, "Sec-WebSocket-Accept: x\r\n\r\n", isnt);
  refused(SWITCH UPGRADE, "Sec-WebSocket-Extensions: x\r\n\r\n",
          "the server uses an extension nobody offered");
  refused(SWITCH UPGRADE, "Sec-WebSocket-Protocol: x\r\n\r\n",
          "the server chose a subprotocol nobody offered");
  refused("HTTP/1.0 101 OK\r\n" UPGRADE, "\r\n", "the answer isn't HTTP/1.1");
  refused("SSH-2.0\r\n", "\r\n", "the answer isn't HTTP/1.1");
  feed t = {.make = make_opening};
  feed_open(&t);
  static const char no[] = "HTTP/1.1 403 Forbidden\r\n\r\n403 no\nmore";
  feed_piece(&t, no, sizeof no - 1);
  char why[MRPC_REASON_SIZE];
  t.f->vt->explain(t.f, why, sizeof why);
  is_str(why, "the server refused the upgrade, status 403: no",
         "a refusal is explained");
  free(feed_close(&t));
  feed_open(&t);
  static char line[20000];
  memset(line, 'a', sizeof line);
  feed_piece(&t, line, sizeof line);
  is_str(t.f->error, "the answer's header is over limits.header", "too long");
  free(feed_close(&t));
  feed_open(&t);
  feed_piece(&t, "HTTP/", 5);
  feed_eof(&t);
  is_str(t.f->error, "the connection ended in the handshake", "half of one");
  free(feed_close(&t));
  feed_open(&t);
  t.now = t.f->vt->deadline(t.f);
  t.f->vt->tick(t.f, t.now);
  is_str(t.f->error, "the handshake took too long", "none at all");
  free(feed_close(&t));
}

static void change(mrpc_framing **f) {
  mrpc_framing *next = (*f)->next;
  if (!next) return;
  (*f)->next = NULL;
  (*f)->vt->free(*f);
  *f = next;
}

static void serve(oom *o) {
  mrpc_env_config memory = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  size_t used;
  if (mrpc_env_new(&memory, &env)) return;
  if (!make_server(env, &f)) {
    f->vt->recv(f, ASK, strlen(ASK), &used, &msg);
    f->vt->recv(f, "\r\n", 2, &used, &msg);
    change(&f);
    f->vt->free(f);
  }
  mrpc_env_free(env);
}

static void ask(oom *o) {
  mrpc_env_config memory = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  char text[200], accept[MRPC_WS_ACCEPT_SIZE];
  mrpc_message msg;
  size_t used;
  if (mrpc_env_new(&memory, &env)) return;
  int rc = mrpc_framing_ws_client(env, &limits, "h", "/", protocols, &f);
  if (!rc) {
    f->vt->push(f, "{}", 2);
    accept_of(f, accept);
    int len =
        snprintf(text, sizeof text,
                 SWITCH UPGRADE "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    f->vt->recv(f, text, (size_t)len, &used, &msg);
    change(&f);
    f->vt->push(f, "{}", 2);
    f->vt->free(f);
  }
  mrpc_env_free(env);
}

/* Chance may be out of reach (no such system call): calls of it from now on
 * that succeed. It takes libc's place in this program. */
static int chances = INT_MAX;

int getentropy(void *to, size_t len) {
  memset(to, 0x5a, len);
  if (chances) chances--;
  return chances ? 0 : -1;
}

static void test_no_chance(void) {
  mrpc_env *env;
  mrpc_framing *f = NULL;
  oom o = {0};
  mrpc_env_config memory = {.alloc = oom_alloc, .alloc_ud = &o};
  if (mrpc_env_new(&memory, &env)) return;
  for (int i = 1; i <= 2; i++) {
    chances = i;
    ok(mrpc_framing_ws_client(env, &limits, "h", "/", NULL, &f) == MRPC_EIO,
       "without random numbers there is no client");
  }
  chances = INT_MAX;
  mrpc_env_free(env);
  ok(!f && o.live == 0, "and nothing is left of it");
}

int main(void) {
  test_digests();
  test_upgrade();
  test_refusals();
  test_off();
  test_places();
  test_headers();
  test_client();
  test_client_refuses();
  test_no_chance();
  oom_each("server", serve, false);
  oom_each("client", ask, false);
  return tap_finish();
}
