/* SPDX-License-Identifier: MIT
 *
 * HTTP, server side: requests that must not get through. llhttp refuses most
 * of these; what it lets pass is left to src/http/scan.c. The sections are
 * those of RFC 9110 and RFC 9112. */
#include "http.h"

static void test_chunks(void) {
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
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA: b\r\n c\r\n\r\n"),
          "9112 5.2: a folded line in a trailer");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA: b\r\n\tC: d\r\n\r\n"),
          "folded with a tab");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA:\r\n b\r\n\r\n"),
          "behind an empty value");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA: b\r\n \r\n\r\n"), "of nothing");
  REFUSED("400", CHUNKED("3\r\n[1]\r\n0\r\nA: b\r\nC: d\r\n e\r\n\r\n"),
          "behind a second field");
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
    is_str(strstr(got, "out"),
           more ? "out 431 close\nclosing\n" : "out 405\nclosing\n",
           more ? "one byte more" : "a block of limits.header bytes");
    free(got);
  }
}

int main(void) {
  test_chunks();
  test_smuggling();
  test_framing();
  test_limits();
  return tap_finish();
}
