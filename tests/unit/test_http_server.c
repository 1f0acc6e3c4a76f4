/* SPDX-License-Identifier: MIT
 *
 * HTTP, server side: src/http. Transcripts name each message and the status
 * of each answer in their order; "close" stands where the connection ends. The
 * sections are those of RFC 9110 and RFC 9112. */
#include "feed.h"
#include "http/server.h"
#include "oom.h"

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"
#define POST(fields, body) "POST / HTTP/1.1\r\n" HOST fields "\r\n" body
#define CALL POST(JSON "Content-Length: 3\r\n", "[1]")
#define CHUNKED(body) POST(JSON "Transfer-Encoding: chunked\r\n", body)
#define BAD(status) "out " status " close\nclosing\n"

static const mrpc_limits limits = {.message = 40,
                                   .header = 250,
                                   .in_flight = 4,
                                   .header_time = 2,
                                   .body_time = 5,
                                   .idle_time = 40};
static const char *const hosts[] = {"api.example.com", "[fe80::1]:80", NULL};
static const char *const origins[] = {"https://app.example.com", "*", NULL};
static mrpc_http_config config = {.limits = &limits,
                                  .bound = "127.0.0.1",
                                  .hosts = hosts,
                                  .origins = origins};

static int make(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_http(env, &config, out);
}

/* "n..." is a notification, "late" is never answered. */
static void answer(feed *t, const mrpc_message *msg, int rc) {
  (void)rc;
  if (msg->len && *msg->bytes == 'n')
    t->f->vt->none(t->f, msg->token, MRPC_OUTCOME_SILENT);
  else if (!msg->len || *msg->bytes != 'l')
    t->f->vt->put(t->f, msg->token, "{}", 2, MRPC_OUTCOME_ANSWERED);
}

static void show_text(feed *t, const char *from, const char *to) {
  if (to > from) feed_add(&t->log, from, (size_t)(to - from));
}

/* One line: "out 200 200 405 close". */
static void show_statuses(feed *t, const char *bytes, size_t len) {
  const char *at = bytes, *end = bytes + len;
  feed_adds(&t->log, "out");
  while (at < end) {
    const char *body = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
    if (!body || memcmp(at, "HTTP/1.1 ", 9) != 0) break;
    size_t head = (size_t)(body - at) + 4;
    const char *length = memmem(at, head, "Content-Length: ", 16);
    show_text(t, at + 8, at + 12);
    if (memmem(at, head, "Connection: close", 17)) feed_adds(&t->log, " close");
    at += head + (length ? strtoul(length + 16, NULL, 10) : 0);
  }
  feed_adds(&t->log, at == end ? "\n" : " GARBAGE\n");
}

static feed server(void) {
  return (feed){.make = make, .answer = answer, .show = show_statuses};
}

/* The failure line names the rule; only that it is refused is checked. */
static bool refuses(const feed *t, const char *bytes, size_t len,
                    const char *status) {
  char want[64];
  snprintf(want, sizeof want, "out %s close\nclosing\n", status);
  for (size_t cut = 0; cut <= len + 1; cut++) {
    char *got = cut > len ? feed_play(*t, bytes, len, 0, 1)
                          : feed_play(*t, bytes, len, cut, len);
    const char *out = strstr(got, "\nout ");
    bool same = out && !strcmp(out + 1, want) && !strncmp(got, "proto: ", 7);
    if (!same) printf("# cut at %zu of %zu: %s\n", cut, len, got);
    free(got);
    if (!same) return false;
  }
  return true;
}

#define REFUSED(status, bytes, name)                                        \
  do {                                                                      \
    feed t_ = server();                                                     \
    ok(refuses(&t_, "" bytes, sizeof(bytes) - 1, status), "%s: %s", status, \
       name);                                                               \
  } while (0)

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
  REFUSED("400", CHUNKED("3\n[1]\r\n0\r\n\r\n"), "a bare LF behind a size");
  REFUSED("400", CHUNKED("3\r\n[1]\n0\r\n\r\n"), "a bare LF behind a chunk");
  REFUSED("400", CHUNKED("3\r\n[1]XX0\r\n\r\n"), "no line end at all");
  REFUSED("400", CHUNKED("3\r\n[12]\r\n0\r\n\r\n"), "a chunk that is longer");
  REFUSED("400", CHUNKED("0x3\r\n[1]\r\n0\r\n\r\n"), "a size with 0x");
  REFUSED("400", CHUNKED("-3\r\n[1]\r\n0\r\n\r\n"), "a negative size");
  REFUSED("400", CHUNKED("3 \r\n[1]\r\n0\r\n\r\n"), "a size with a space");
  REFUSED("400", CHUNKED("\r\n[1]\r\n0\r\n\r\n"), "no size");
  REFUSED("400", CHUNKED("10000000000000003\r\n[1]\r\n0\r\n\r\n"),
          "a size over 64 bits");
  REFUSED("400", CHUNKED("3;\rx\r\n[1]\r\n0\r\n\r\n"),
          "a bare CR behind a size");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\n\n"), "a bare LF at the end");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA: b\n\r\n"), "and in a trailer");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA : b\r\n\r\n"),
          "a space before a colon in a trailer");
}

/* What leaves two ways to read a request. */
static void test_smuggling(void) {
#define LINE(text) text "\r\n" HOST JSON "Content-Length: 3\r\n\r\n[1]"
#define FIELD(text) POST(JSON text "Content-Length: 3\r\n", "[1]")
  REFUSED("400", LINE("POST  / HTTP/1.1"), "two spaces after the method");
  REFUSED("400", LINE("POST /  HTTP/1.1"), "two spaces before the version");
  REFUSED("400", LINE("POST / HTTP/1.1 "), "a space behind the version");
  REFUSED("400", LINE("POST\t/ HTTP/1.1"), "a tab in the request line");
  REFUSED("400", LINE("POST /\t HTTP/1.1"), "a tab in the target");
  REFUSED("400", LINE("POST /\x80 HTTP/1.1"), "a target that isn't ASCII");
  REFUSED("400", LINE("POST /\0 HTTP/1.1"), "a NUL in the target");
  REFUSED("400", LINE("POST /#a HTTP/1.1"), "a fragment in the target");
  REFUSED("400", LINE("POST /a\r HTTP/1.1"), "a bare CR in the target");
  REFUSED("400", LINE("POST x HTTP/1.1"), "a relative target");
  REFUSED("400", LINE("POST http://evil/ HTTP/1.1"),
          "9112 3.2.2: a target of another host");
  REFUSED("400", LINE("POST http://u@localhost/ HTTP/1.1"), "with a user");
  REFUSED("400", LINE("POST /"), "HTTP/0.9");
  REFUSED("400", LINE("POST / HTTP/2.0"), "HTTP/2.0");
  REFUSED("400", LINE("POST / HTTP/1.2"), "HTTP/1.2");
  REFUSED("400", LINE("POST / http/1.1"), "9112 2.3: http in lower case");
  REFUSED("400", LINE("POST / RTSP/1.0"), "RTSP");
  REFUSED("400", LINE("SOURCE / ICE/1.1"), "ICE");
  REFUSED("400", LINE("post / HTTP/1.1"), "9110 9.1: a method in lower case");
  REFUSED("400", LINE("PRI * HTTP/2.0"), "the preface of HTTP/2");
  REFUSED("400", " " CALL, "a space before the method");
  REFUSED("400", "\x16\x03\x01\x02", "TLS");
  REFUSED("400", "POST / HTTP/1.1\n" HOST JSON "\r\n",
          "9112 2.2: a bare LF behind the request line");
  REFUSED("400", "POST / HTTP/1.1\r\nHost: localhost\n" JSON "\r\n",
          "behind a field");
  REFUSED("400", "POST / HTTP/1.1\r\n" HOST JSON "\n", "at the end");
  REFUSED("400", "POST / HTTP/1.1\r\nHost : localhost\r\n" JSON "\r\n",
          "9112 5.1: a space before the colon");
  REFUSED("400", FIELD("X\t: y\r\n"), "a tab before the colon");
  REFUSED("400", FIELD("X y: z\r\n"), "a space in a name");
  REFUSED("400", FIELD(": y\r\n"), "no name");
  REFUSED("400", FIELD("X\r\n"), "no colon");
  REFUSED("400", FIELD("X(y): z\r\n"), "9110 5.6.2: a name that is no token");
  REFUSED("400", FIELD("X\x80: z\r\n"), "a name that isn't ASCII");
  REFUSED("400", FIELD("X: y\r\n z\r\n"), "9112 5.2: a folded line");
  REFUSED("400", FIELD("X: y\r\n\tz\r\n"), "folded with a tab");
  REFUSED("400", "POST / HTTP/1.1\r\n Host: localhost\r\n" JSON "\r\n",
          "9112 2.2: white space before the first field");
  REFUSED("400", FIELD("X: y\0z\r\n"), "9110 5.5: a NUL in a value");
  REFUSED("400", FIELD("X: y\rz\r\n"), "a bare CR in a value");
  REFUSED("400", FIELD("X: y\r\r\n"), "a doubled CR");
  REFUSED("400", FIELD("X: y\x01\r\n"), "a control byte in a value");
#undef LINE
#undef FIELD
}

static void test_framing(void) {
#define TE "Transfer-Encoding: "
#define CL "Content-Length: "
#define BODY "3\r\n[1]\r\n0\r\n\r\n"
  REFUSED("400", POST(JSON CL "3\r\n" TE "chunked\r\n", BODY),
          "9112 6.1: both");
  REFUSED("400", POST(JSON TE "chunked\r\n" CL "3\r\n", BODY), "the other way");
  REFUSED("400", POST(JSON TE "\r\n" CL "3\r\n", "[1]"), "an empty coding");
  REFUSED("400", POST(JSON TE ",chunked\r\n", BODY), "a comma before chunked");
  REFUSED("400", POST(JSON TE "chunked,\r\n", BODY), "a comma behind it");
  REFUSED("400", POST(JSON TE "chunked, chunked\r\n", BODY), "chunked twice");
  REFUSED("400", POST(JSON TE "chunked\r\n" TE "chunked\r\n", BODY),
          "in two fields");
  REFUSED("400", POST(JSON TE "gzip, chunked\r\n", BODY), "gzip");
  REFUSED("400", POST(JSON TE "identity\r\n", "[1]"), "identity");
  REFUSED("400", POST(JSON TE "xchunked\r\n", BODY), "xchunked");
  REFUSED("400", POST(JSON TE "chunked;q=1\r\n", BODY), "with a parameter");
  REFUSED("400",
          POST(JSON TE "\x0b"
                       "chunked\r\n",
               BODY),
          "behind a control byte");
  REFUSED("400", POST(JSON TE ": chunked\r\n", BODY), "behind a colon");
  REFUSED("400", "POST / HTTP/1.0\r\n" HOST JSON TE "chunked\r\n\r\n" BODY,
          "9112 6.1: chunked in HTTP/1.0");
  REFUSED("400", POST(JSON CL "3\r\n" CL "3\r\n", "[1]"),
          "9112 6.3: two lengths");
  REFUSED("400", POST(JSON CL "3, 3\r\n", "[1]"), "a list");
  REFUSED("400", POST(JSON CL "+3\r\n", "[1]"), "a plus sign");
  REFUSED("400", POST(JSON CL "-3\r\n", "[1]"), "a negative one");
  REFUSED("400", POST(JSON CL "0x3\r\n", "[1]"), "hexadecimal");
  REFUSED("400", POST(JSON CL "\r\n", "[1]"), "an empty one");
  REFUSED("400", POST(JSON CL "3 3\r\n", "[1]"), "two numbers");
  REFUSED("400", POST(JSON CL "99999999999999999999999\r\n", "[1]"),
          "overflow");
  REFUSED("400", "POST / HTTP/1.1\r\n" JSON CL "3\r\n\r\n[1]",
          "9112 3.2: no Host");
  REFUSED("400", POST(HOST JSON CL "3\r\n", "[1]"), "two Hosts");
  REFUSED("400", "POST / HTTP/1.1\r\nHost: a b\r\n" JSON CL "3\r\n\r\n[1]",
          "a Host with a space");
  REFUSED("400", "POST / HTTP/1.1\r\nHost: a/b\r\n" JSON CL "3\r\n\r\n[1]",
          "with a slash");
  REFUSED("400", "POST / HTTP/1.1\r\nHost: u@a\r\n" JSON CL "3\r\n\r\n[1]",
          "with a user");
  REFUSED("400", "POST / HTTP/1.1\r\nHost: a:b\r\n" JSON CL "3\r\n\r\n[1]",
          "with a port that is no number");
  REFUSED("400", POST(JSON "Content-Type: text/plain\r\n" CL "3\r\n", "[1]"),
          "two types");
  feed t = server();
  feed_is(&t, POST(JSON TE "\t Chunked \r\n", BODY),
          "message [1]\nout 200\nclosing\n", "Chunked, with white space");
  feed_is(&t, POST(JSON CL " 03 \r\n", "[1]"),
          "message [1]\nout 200\nclosing\n", "a length with a leading zero");
}

static void test_limits(void) {
  feed t = server();
  feed_is(&t, POST(JSON CL "39\r\n", "[3456789012345678901234567890123456789]"),
          "message [3456789012345678901234567890123456789]\nout 200\nclosing\n",
          "a body below the limit");
  feed_is(&t,
          POST(JSON CL "40\r\n", "[34567890123456789012345678901234567890]"),
          "message [34567890123456789012345678901234567890]\n"
          "out 200\nclosing\n",
          "a body of limits.message bytes");
  REFUSED("413",
          POST(JSON CL "41\r\n", "[345678901234567890123456789012345678901]"),
          "one byte more");
  REFUSED("413", POST(JSON CL "18446744073709551615\r\n", "["), "2^64 - 1");
  feed_is(&t,
          CHUNKED("14\r\n[345678901234567890\n\r\n14\r\n"
                  "1234567890123456789]\r\n0\r\n\r\n"),
          "message [345678901234567890\n1234567890123456789]\n"
          "out 200\nclosing\n",
          "the same in chunks");
  REFUSED("413",
          CHUNKED("14\r\n[3456789012345678901\r\n15\r\n"
                  "12345678901234567890]\r\n0\r\n\r\n"),
          "one byte more in chunks");
  REFUSED("415", POST("Content-Type: text/plain\r\n" CL "41\r\n", "["),
          "a refused body over the limit isn't waited for");
  REFUSED("415",
          POST("Content-Type: text/plain\r\n" TE "chunked\r\n",
               "28\r\n1234567890123456789012345678901234567890\r\n1\r\n1"),
          "nor in chunks");
  REFUSED("431",
          "GET / HTTP/1.1\r\n" HOST
          "X: 45678901234567890123456789012345678901234567890123456789012345"
          "X: 45678901234567890123456789012345678901234567890123456789012345"
          "X: 45678901234567890123456789012345678901234567890123456789012345"
          "X: 45678901234567890123456789012345678901234567890123456789012345",
          "a line without end");
  REFUSED(
      "400",
      CHUNKED(
          "3\r\n[1]\r\n0\r\n"
          "X: "
          "45678901234567890123456789012345678901234567890123456789012345\r\n"
          "X: "
          "45678901234567890123456789012345678901234567890123456789012345\r\n"
          "X: "
          "45678901234567890123456789012345678901234567890123456789012345\r\n"
          "X: "
          "45678901234567890123456789012345678901234567890123456789012345\r\n"
          "X: "
          "45678901234567890123456789012345678901234567890123456789012345\r\n"),
      "a trailer over the limit");
  char edge[512];
  for (int more = 0; more < 2; more++) {
    int len =
        snprintf(edge, sizeof edge, "GET / HTTP/1.1\r\n" HOST "X: %0*d\r\n\r\n",
                 250 - 16 - 17 - 3 - 4 + more, 0);
    char *got = feed_play(t, edge, (size_t)len, 0, 1);
    is_str(strstr(got, "out"), more ? BAD("431") : "out 405\nclosing\n",
           more ? "one byte more" : "a block of limits.header bytes");
    free(got);
  }
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

int main(void) {
  test_calls();
  test_chunked();
  test_smuggling();
  test_framing();
  test_limits();
  test_requests();
  test_persistence();
  test_policy();
  test_bytes();
  return tap_finish();
}
