/* SPDX-License-Identifier: MIT
 *
 * HTTP, server side: src/http. Transcripts name each message and the status
 * of each answer in their order; "close" stands where the connection ends. The
 * sections are those of RFC 9110 and RFC 9112. */
#include "http.h"

static void test_calls(void) {
  feed t = server();
  feed_is(&t, CALL, "message [1]\nout 200\nclosing\n", "a call");
  feed_is(&t, CALL CALL CALL,
          "message [1]\nmessage [1]\nmessage [1]\nout 200 200 200\nclosing\n",
          "three in a row");
  feed_is(&t, POST(JSON "Content-Length: 1\r\n", "n"),
          "message n\nout 204\nclosing\n", "a notification");
  feed_is(&t, "\r\n\r\n" CALL "\r\n" CALL "\r\n",
          "message [1]\nmessage [1]\nout 200 200\nclosing\n",
          "9112 2.2: empty lines before a request");
  feed_is(&t, POST(JSON, ""), "message \nout 200\nclosing\n",
          "9112 6.3: no length is no body");
  feed_is(&t, POST(JSON "Content-Length: 0\r\n", ""),
          "message \nout 200\nclosing\n", "an empty body");
  feed_is(&t,
          POST("content-TYPE:application/JSON\r\ncontent-length:3\r\n", "[1]"),
          "message [1]\nout 200\nclosing\n", "9110 5.1: names know no case");
  feed_is(&t,
          "POST /?x=1 HTTP/1.1\r\n" HOST JSON "Content-Length: 3\r\n\r\n[1]",
          "message [1]\nout 200\nclosing\n", "a query is ignored");
  feed_is(&t,
          "POST http://localhost/ HTTP/1.1\r\n" HOST JSON
          "Content-Length: 3\r\n\r\n[1]",
          "message [1]\nout 200\nclosing\n", "9112 3.2.2: the absolute form");
  feed_is(&t,
          "POST http://localhost?x HTTP/1.1\r\n" HOST JSON
          "Content-Length: 3\r\n\r\n[1]",
          "message [1]\nout 200\nclosing\n", "9110 4.2.3: with an empty path");
  feed_is(&t,
          POST(JSON "Connection: Upgrade\r\nUpgrade: h2c\r\n"
                    "Content-Length: 3\r\n",
               "[1]") CALL,
          "message [1]\nmessage [1]\nout 200 200\nclosing\n",
          "9110 7.8: an upgrade is ignored");
  feed_is(&t, CALL "POST",
          "message [1]\nproto: the request ended early\n"
          "out 200 400 close\nclosing\n",
          "the end inside of a header");
}

static void test_chunked(void) {
  feed t = server();
  feed_is(&t, CHUNKED("3\r\n[1]\r\n0\r\n\r\n") CALL,
          "message [1]\nmessage [1]\nout 200 200\nclosing\n",
          "9112 7.1: a chunked body");
  feed_is(&t, CHUNKED("1\r\n[\r\n01;a=b\r\n1\r\n1\r\n]\r\n0\r\n\r\n"),
          "message [1]\nout 200\nclosing\n", "9112 7.1.1: chunks, extensions");
  feed_is(&t, CHUNKED("3\r\n[1]\r\n0\r\nA: b\r\nC: d\r\n\r\n") CALL,
          "message [1]\nmessage [1]\nout 200 200\nclosing\n",
          "9112 7.1.2: a trailer");
  feed_is(&t, CHUNKED("5\r\n[\n 1]\r\n0\r\nA:  b \t c\r\nC:\r\n\r\n"),
          "message [\n 1]\nout 200\nclosing\n",
          "white space that folds nothing");
}

static void test_requests(void) {
  feed t = server();
#define SEND(line, fields) line " HTTP/1.1\r\n" HOST fields "\r\n"
#define IS(want, bytes, name) feed_is(&t, bytes, want "\nclosing\n", name)
  IS("out 405 405", SEND("GET /", "") SEND("GET /", ""), "9110 15.5.6: GET");
  IS("out 405", SEND("PUT /", "Content-Length: 3\r\n") "[1]",
     "PUT, when its body is read");
  IS("out 405", SEND("TRACE /", ""), "TRACE");
  IS("out 404 405", SEND("CONNECT localhost:80", "") SEND("GET /", ""),
     "CONNECT");
  IS("out 404 404", SEND("POST /x", JSON) SEND("GET /x", ""),
     "9110 15.5.5: another path");
  IS("out 404", SEND("POST /x", JSON "Content-Length: 3\r\n") "[1]",
     "when its body is read");
  IS("out 200", SEND("GET /healthz", ""), "GET /healthz");
  IS("out 405", SEND("POST /healthz", JSON), "POST /healthz");
  IS("out 204 204", SEND("OPTIONS /", "") SEND("OPTIONS *", ""), "OPTIONS");
  IS("out 415",
     SEND("POST /", "Content-Type: text/plain\r\nContent-Length: 3\r\n") "[1]",
     "9110 15.5.16: text/plain");
  IS("out 415", SEND("POST /", "Content-Length: 3\r\n") "[1]", "no type");
  IS("out 415", SEND("POST /", "Content-Type: application/jsonx\r\n"), "jsonx");
  IS("message \nout 200",
     SEND("POST /", "Content-Type: application/json-rpc\r\n"), "json-rpc");
  IS("message \nout 200",
     SEND("POST /", "Content-Type: application/jsonrequest\r\n"),
     "jsonrequest");
  IS("message \nout 200",
     SEND("POST /", "Content-Type: Application/JSON ; charset=utf-8\r\n"),
     "a parameter");
#define PACKED(how) SEND("POST /", JSON "Content-Encoding: " how "\r\n")
  IS("out 415 415", PACKED("gzip") PACKED("identity, br"),
     "9110 15.5.16: a body that is packed");
  IS("message \nout 200", PACKED("Identity"), "one that isn't");
#undef PACKED
  REFUSED("417", SEND("POST /", JSON "Expect: x\r\n"), "9110 10.1.1: Expect");
#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
  IS("out 415", SEND("POST /", FORM), "curl's type in production");
  config.dev = true;
  IS("message \nout 200", SEND("POST /", FORM), "in development");
  IS("out 415", SEND("POST /", FORM "Referer: x\r\n"), "but not with Referer");
  IS("out 415", SEND("POST /", FORM "Sec-Fetch-Site: none\r\n"),
     "or Sec-Fetch");
  IS("out 415", SEND("POST /", FORM "Origin: http://localhost\r\n"),
     "or Origin");
  config.dev = false;
  config.path = "/rpc";
  IS("out 404", SEND("POST /", JSON), "the endpoint elsewhere");
  IS("message \nout 200", SEND("POST /rpc?x", JSON), "there it is");
  IS("out 404", SEND("POST /rpc/", JSON), "and nowhere else");
  config.path = NULL;
}

static void test_persistence(void) {
  feed t = server();
#define OLD(fields) \
  "POST / HTTP/1.0\r\n" fields JSON "Content-Length: 3\r\n\r\n[1]"
#define KEEP_ALIVE "Connection: keep-alive\r\n"
  feed_is(&t,
          POST(JSON "Connection: close\r\nContent-Length: 3\r\n", "[1]") CALL,
          "message [1]\nout 200 close\nclosing\n", "9112 9.6: close");
  feed_is(&t, OLD("") CALL, "message [1]\nout 200 close\nclosing\n",
          "9112 9.3: HTTP/1.0 closes");
  feed_is(&t, OLD(KEEP_ALIVE) OLD(KEEP_ALIVE),
          "message [1]\nmessage [1]\nout 200 200\nclosing\n",
          "unless it asks for more");
  feed_is(&t, "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n" CALL,
          "out 405 close\nclosing\n", "close with a refused request");
  feed_is(&t, CALL "x\r\n",
          "message [1]\nproto: Invalid method encountered\n"
          "out 200 400 close\nclosing\n" +
              0,
          "rubbish behind a call");
}

static void test_policy(void) {
  feed t = server();
#define FROM(host) "GET /healthz HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define ORIGIN(origin) SEND("GET /healthz", "Origin: " origin "\r\n")
  IS("out 200", FROM("localhost:81"), "Host localhost");
  IS("out 200", FROM("LOCALHOST"), "Host in capitals");
  IS("out 200", FROM("127.0.0.1:81"), "the bound address");
  IS("out 200", FROM("[::1]:81"), "the other loopback");
  IS("out 200", FROM("api.example.com"), "a configured name");
  IS("out 200", FROM("[FE80::1]"), "a configured address");
  IS("out 403", FROM("evil.example.com"), "another name");
  IS("out 403", FROM("10.0.0.1"), "another address");
  IS("out 403", FROM("localhost.evil.com"), "a name that begins well");
  IS("out 403", FROM(""), "an empty Host");
  IS("out 200", "GET /healthz HTTP/1.0\r\n" KEEP_ALIVE "\r\n",
     "no Host in 1.0");
  config.bound = "0.0.0.0";
  IS("out 200", FROM("10.0.0.1"), "on all addresses: an address");
  IS("out 200", FROM("[fe80::2]:1"), "or one of IPv6");
  IS("out 403", FROM("evil.example.com"), "but no name");
  IS("out 403", FROM("1.2.3.4.com"), "nor one of digits");
  IS("out 403", FROM("1.2.3"), "nor half an address");
  config.bound = "192.168.1.5";
  IS("out 200", FROM("192.168.1.5"), "bound to an address: it");
  IS("out 403", FROM("127.0.0.1"), "but not loopback");
  config.bound = NULL;
  IS("out 200", FROM("evil.example.com"), "no bound address: any");
  config.bound = "127.0.0.1";
  IS("out 200", ORIGIN("https://app.example.com"), "a configured Origin");
  IS("out 200", ORIGIN("http://localhost"), "the same Origin");
  IS("out 403", ORIGIN("http://localhost:81"), "another port");
  IS("out 403", ORIGIN("http://app.example.com"), "another scheme");
  IS("out 403", ORIGIN("null"), "null");
  IS("out 403", ORIGIN("*"), "a star");
  IS("out 403", ORIGIN("http://localhost.evil.com"), "another name");
  IS("out 403",
     SEND("POST /", JSON "Origin: http://evil\r\nContent-Length: 3\r\n") "[1]",
     "a call of another Origin");
  IS("out 403",
     SEND("OPTIONS /",
          "Origin: http://evil\r\n"
          "Access-Control-Request-Method: POST\r\n"),
     "a preflight of another Origin");
}

/* Answers in full. */
static void test_bytes(void) {
  feed t = server();
  t.show = NULL;
  feed_is(&t, CALL,
          "message [1]\nout HTTP/1.1 200 OK\r\n"
          "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}\n"
          "closing\n",
          "an answer");
  feed_is(&t, POST(JSON CL "1\r\n", "n"),
          "message n\n"
          "out HTTP/1.1 204 No Content\r\n\r\n\nclosing\n",
          "no answer");
  config.notification_status = 202;
  feed_is(&t, POST(JSON CL "1\r\n", "n"),
          "message n\nout HTTP/1.1 202 Accepted"
          "\r\nContent-Length: 0\r\n\r\n\nclosing\n",
          "no answer as 202");
  config.notification_status = 200;
  feed_is(&t, POST(JSON CL "1\r\n", "n"),
          "message n\nout HTTP/1.1 200 OK"
          "\r\nContent-Length: 0\r\n\r\n\nclosing\n",
          "no answer as 200");
  config.notification_status = 0;
  feed_is(&t, OLD(KEEP_ALIVE),
          "message [1]\nout HTTP/1.1 200 OK\r\n"
          "Content-Type: application/json\r\nConnection: keep-alive\r\n"
          "Content-Length: 2\r\n\r\n{}\nclosing\n",
          "an answer to HTTP/1.0");
#define TEXT                                    \
  "Content-Type: text/plain; charset=utf-8\r\n" \
  "X-Content-Type-Options: nosniff\r\n"
  feed_is(&t, SEND("GET /", ""),
          "out HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, OPTIONS\r\n" TEXT
          "Content-Length: 37\r\n\r\n405 the method must be POST, got GET\n\n"
          "closing\n",
          "9110 10.2.1: Allow");
  feed_is(&t, SEND("POST /", "Content-Type: a\x80\r\n"),
          "out HTTP/1.1 415 Unsupported Media Type\r\n" TEXT
          "Content-Length: 50\r\n\r\n"
          "415 Content-Type must be application/json, got a?\n\n"
          "closing\n" +
              0,
          "what it got");
  feed_is(&t, SEND("POST /", JSON "Content-Encoding: gzip\r\n"),
          "out HTTP/1.1 415 Unsupported Media Type\r\n"
          "Accept-Encoding: identity\r\n" TEXT
          "Content-Length: 48\r\n\r\n"
          "415 Content-Encoding must be identity, got gzip\n\nclosing\n",
          "9110 12.5.3: Accept-Encoding");
  feed_is(&t, SEND("HEAD /healthz", ""),
          "out HTTP/1.1 200 OK\r\n" TEXT "Content-Length: 3\r\n\r\n\nclosing\n",
          "9110 9.3.2: HEAD");
  feed_is(&t,
          SEND("OPTIONS /",
               "Origin: https://app.example.com\r\n"
               "Access-Control-Request-Method: POST\r\n"
               "Access-Control-Request-Headers: content-type\r\n"),
          "out HTTP/1.1 204 No Content\r\nAllow: POST, OPTIONS\r\n"
          "Access-Control-Allow-Methods: POST\r\n"
          "Access-Control-Allow-Headers: content-type\r\n"
          "Access-Control-Max-Age: 600\r\n"
          "Access-Control-Allow-Origin: https://app.example.com\r\n"
          "Vary: Origin\r\n\r\n\nclosing\n",
          "a preflight");
  feed_is(
      &t, POST(JSON "Origin: https://app.example.com\r\n" CL "3\r\n", "[1]"),
      "message [1]\nout HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
      "Access-Control-Allow-Origin: https://app.example.com\r\n"
      "Vary: Origin\r\nContent-Length: 2\r\n\r\n{}\nclosing\n",
      "an answer across origins");
}

static void test_config(void) {
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_http_config bad = {.notification_status = 201};
  mrpc_env_new(&(mrpc_env_config){0}, &env);
  ok(mrpc_framing_http(env, &bad, &f) == MRPC_EINVAL,
     "the status of notifications is 200, 202 or 204");
  bad = (mrpc_http_config){.path = "rpc"};
  ok(mrpc_framing_http(env, &bad, &f) == MRPC_EINVAL,
     "the path begins with a slash");
  ok(f == NULL, "nothing was made");
  mrpc_env_free(env);
}

int main(void) {
  test_config();
  test_calls();
  test_chunked();
  test_requests();
  test_persistence();
  test_policy();
  test_bytes();
  return tap_finish();
}
