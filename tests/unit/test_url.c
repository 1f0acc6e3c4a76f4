/* SPDX-License-Identifier: MIT */
#include "host/url.h"

#include "tap.h"

static void test_good(void) {
  mrpc_url u;
  char out[MRPC_URL_MAX];

  ok(mrpc_url_parse(&u, "http://127.0.0.1:0/rpc") == MRPC_OK, "http parses");
  ok(u.kind == MRPC_URL_HTTP && u.port == 0, "kind and port");
  is_str(u.host, "127.0.0.1", "host");
  is_str(u.path, "/rpc", "path");
  mrpc_url_write(&u, 4321, out, sizeof out);
  is_str(out, "http://127.0.0.1:4321/rpc", "written with its real port");

  ok(!mrpc_url_parse(&u, "http://localhost") && u.port == 80, "port 80");
  is_str(u.path, "", "no path given");
  mrpc_url_write(&u, 80, out, sizeof out);
  is_str(out, "http://localhost:80", "a port that wasn't written is added");

  ok(!mrpc_url_parse(&u, "tcp://[::1]:65535?framing=header"), "IPv6");
  is_str(u.host, "::1", "without its brackets");
  ok(u.port == 65535 && u.framing == MRPC_URL_HEADER, "port and framing");
  mrpc_url_write(&u, 7, out, sizeof out);
  is_str(out, "tcp://[::1]:7?framing=header", "written with brackets");

  ok(!mrpc_url_parse(&u, "unix:/run/a.sock?framing=line"), "unix");
  is_str(u.file, "/run/a.sock", "its file");
  ok(u.kind == MRPC_URL_UNIX && u.framing == MRPC_URL_LINE, "its framing");
  ok(!mrpc_url_parse(&u, "unix:///run/a.sock"), "unix with slashes");
  is_str(u.file, "/run/a.sock", "its file");
  mrpc_url_write(&u, 0, out, sizeof out);
  is_str(out, "unix:///run/a.sock", "written as it was");

  ok(!mrpc_url_parse(&u, "http+unix:/run/b?path=/rpc"), "http+unix");
  ok(mrpc_url_is_http(&u), "it is http");
  is_str(u.file, "/run/b", "its file");
  is_str(u.path, "/rpc", "its path");
  ok(!mrpc_url_parse(&u, "ws://localhost/rpc") && u.port == 80, "ws");
  ok(mrpc_url_is_ws(&u) && mrpc_url_is_http(&u), "it begins as http");
  is_str(u.path, "/rpc", "its path");
  ok(!mrpc_url_parse(&u, "ws+unix:/run/b?path=/rpc"), "ws+unix");
  is_str(u.path, "/rpc", "its path");
  is_str(mrpc_url_transport(&u), "ws", "its transport");
  ok(!mrpc_url_parse(&u, "stdio:"), "stdio");
  ok(u.framing == MRPC_URL_AUTO, "whose framing is detected");
  ok(!mrpc_url_parse(&u, "stdio:?framing=auto"), "or said to be");

  ok(!mrpc_url_parse(&u, "exec:a 'b?c' #d"), "exec");
  is_str(u.file, "a 'b?c' #d", "its command, whatever stands in it");
  ok(u.kind == MRPC_URL_EXEC && u.framing == MRPC_URL_LINE, "speaks lines");
  is_str(mrpc_url_transport(&u), "exec", "its transport");
  ok(!mrpc_url_parse(&u, "exec+line:a") && u.framing == MRPC_URL_LINE,
     "said aloud");
  ok(!mrpc_url_parse(&u, "exec+header:a") && u.framing == MRPC_URL_HEADER,
     "or headers");
}

static void refuses(const char *text, const char *why) {
  mrpc_url u;
  int rc = mrpc_url_parse(&u, text);
  ok(rc == MRPC_ESYNTAX && strstr(u.error, why), "\"%.40s\" is refused: %s",
     text, rc ? u.error : "it isn't");
}

static void test_bad(void) {
  char text[2 * MRPC_URL_MAX];
  refuses("", "a URL must begin with");
  refuses("ftp://a:1", "a URL must begin with");
  refuses("HTTP://a:1", "a URL must begin with");
  refuses("wss://a", "TLS isn't supported");
  refuses("http://", "host is missing");
  refuses("http://:80", "host is missing");
  refuses("http://a:", "port");
  refuses("http://a:x", "port");
  refuses("http://a:-1", "port");
  refuses("http://a:65536", "port");
  refuses("http://a:99999999999999999999", "port");
  refuses("http://a:1x", "port");
  refuses("http://u@a:1", "user names");
  refuses("http://a:1/#x", "character");
  refuses("http://a:1/a b", "character");
  refuses("http://a:1/\x7f", "character");
  refuses("http://[::1:1", "missing");
  refuses("http://[::1]x", "what follows");
  refuses("http://a:1?framing=line", "http has no option \"framing\"");
  refuses("tcp://a", "port is missing");
  refuses("tcp://a:1/x", "no meaning");
  refuses("tcp://a:1?framing=morse", "framing is");
  refuses("tcp://a:1?framing", "framing is");
  refuses("tcp://a:1?x=1", "tcp has no option \"x\"");
  refuses("tcp://a:1?averyveryverylongname=1", "no such option");
  refuses("unix:", "path of the socket");
  refuses("unix:?framing=line", "path of the socket");
  refuses("http+unix:/a?path=b", "must begin");
  refuses("stdio:x", "no meaning");
  refuses("exec:", "command is missing");
  refuses("exec+header: ", "command is missing");
  refuses("exec+tea:x", "a URL must begin with");
  refuses("executive:x y", "a URL must begin with");
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  memcpy(text, "unix:/", 6);
  refuses(text, "too long");
  memcpy(text, "http://", 7);
  text[400] = '\0';
  refuses(text, "host is too long");
}

int main(void) {
  test_good();
  test_bad();
  return tap_finish();
}
