/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "moonrpc.h"
#include "tap.h"

static char dir[] = "/tmp/moonrpc-config-XXXXXX";
static char path[64];
static char error[256];

static void write_file(const char *text) {
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

static int read_text(mrpc_host_config *config, const char *text) {
  mrpc_host_config_init(config);
  write_file(text);
  return mrpc_host_config_read(config, path, error, sizeof error);
}

static void test_all_keys(void) {
  mrpc_host_config c;
  int rc = read_text(
      &c,
      "return { methods = 'm', listen = { 'stdio:', 'unix:/\\u{e4}' },\n"
      "  mode = 'dev', watch = false, admin = true, drain = 2.5,\n"
      "  duplicate_ids = 'reject',\n"
      "  limits = { message = 4 * 2^20, depth = 1000, batch = false,\n"
      "             handler = 0.5, load = 3, wait = false },\n"
      "  errors = { busy = -32000, timed_out = 408.0,\n"
      "             script_limit = -32603 },\n"
      "  http = { path = '/rpc', notification_status = 202,\n"
      "           hosts = { 'a', 'b' }, origins = {}, headers = {'x-key'} },\n"
      "  websocket = { ping = false, pong = 2.5, binary = true,\n"
      "                protocols = 'a' },\n"
      "  log = { level = 'debug', format = 'json' } }");
  ok(rc == MRPC_OK, "all keys are taken: %s", error);
  ok(!strncmp(c.methods, dir, strlen(dir)) && strstr(c.methods, "/m"),
     "methods is relative to the file");
  is_str(c.listen[0], "stdio:", "the first address");
  is_str(c.listen[1], "unix:/\xc3\xa4", "the second address");
  ok(!c.listen[2], "and no more");
  ok(c.dev && c.no_watch && c.open_admin && c.reject_duplicate_ids, "flags");
  ok(c.drain == 2.5, "drain");
  ok(c.limits.message == 4U << 20, "a float that is whole is a count");
  ok(c.limits.depth == 1000, "the edge of a range");
  ok(c.limits.batch == MRPC_UNLIMITED, "false switches a count off");
  ok(c.limits.handler == 0.5 && c.limits.load == 3, "seconds");
  ok(c.limits.wait < 0, "false switches a deadline off");
  ok(c.limits.header == 16U << 10, "what isn't named keeps its default");
  ok(c.errors.busy == -32000 && c.errors.timed_out == 408, "errors");
  ok(c.errors.script_limit == MRPC_INTERNAL_ERROR, "a code that blames nobody");
  ok(c.errors.rate_limited == 0, "a code that isn't named stays");
  is_str(c.http.path, "/rpc", "http.path");
  ok(c.http.notification_status == 202, "http.notification_status");
  ok(!strcmp(c.http.hosts[1], "b") && !c.http.hosts[2], "http.hosts");
  ok(!c.http.origins[0], "an empty list");
  is_str(c.http.headers[0], "x-key", "a list");
  ok(c.http.websocket.ping < 0 && c.http.websocket.pong == 2.5, "pings");
  ok(c.http.websocket.binary && !c.http.websocket.off, "binary messages");
  is_str(c.http.websocket.protocols[0], "a", "a subprotocol");
  ok(c.log_level == MRPC_LOG_DEBUG && c.log_json, "log");
  mrpc_host_config_clear(&c);
}

/* A section that can be switched off, and on again by a second file. */
static void test_switch(void) {
  mrpc_host_config c;
  ok(!read_text(&c, "return { websocket = false }") && c.http.websocket.off,
     "false switches WebSocket off");
  write_file("return { websocket = { ping = 5 } }");
  ok(!mrpc_host_config_read(&c, path, error, sizeof error) &&
         !c.http.websocket.off && c.http.websocket.ping == 5,
     "its settings switch it on");
  mrpc_host_config_clear(&c);
}

static void test_small(void) {
  mrpc_host_config c;
  ok(!read_text(&c, "return {}"), "nothing need be said");
  ok(!c.methods && !c.listen && c.drain == 10, "then defaults hold");
  mrpc_host_config_clear(&c);
  ok(!read_text(&c, "return { listen = 'tcp://a:1', methods = '/abs' }"),
     "a single address");
  is_str(c.listen[0], "tcp://a:1", "is a list of one");
  is_str(c.methods, "/abs", "an absolute path is left alone");
  write_file("return { methods = '/other', mode = 'prod' }");
  ok(!mrpc_host_config_read(&c, path, error, sizeof error), "a second file");
  is_str(c.methods, "/other", "goes over the first");
  is_str(c.listen[0], "tcp://a:1", "whose other settings stay");
  mrpc_host_config_clear(&c);
  ok(!read_text(&c, "local n = 2 ^ 10 return { limits = { reply = n } }"),
     "it may compute");
  ok(c.limits.reply == 1024, "with the standard libraries");
  mrpc_host_config_clear(&c);
}

static void refuses(const char *text, int code, const char *why) {
  mrpc_host_config c;
  int rc = read_text(&c, text);
  ok(rc == code && strstr(error, why) && strstr(error, "c.lua"),
     "refused for \"%s\": %s", why, rc ? error : "it isn't");
  mrpc_host_config_clear(&c);
}

static void test_texts(void) {
  mrpc_host_config c;
  refuses("return { http = { path = 'rpc' } }", MRPC_EINVAL,
          ": http.path must begin with \"/\"");
  refuses("return { listen = {} }", MRPC_EINVAL,
          ": listen must be a list that isn't empty");
  refuses("return { listen = 'localhost:4000' }", MRPC_EINVAL,
          ": listen: \"localhost:4000\": a URL must begin with");
  refuses("return { listen = { 'stdio:', 'tcp://a' } }", MRPC_EINVAL,
          ": listen: \"tcp://a\": the port is missing");
  static const char *const hosts[] = {"*", "http://a", "a/b", "", "a b"};
  static const char *const origins[] = {
      "*", "null", "a.com", "://a", "http://", "http://a/", "http://a:x"};
  char text[80];
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    snprintf(text, sizeof text, "return {http={hosts={'%s'}}}", hosts[i]);
    refuses(text, MRPC_EINVAL, ": http.hosts: \"");
  }
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    snprintf(text, sizeof text, "return {http={origins={'%s'}}}", origins[i]);
    refuses(text, MRPC_EINVAL, ": http.origins: \"");
  }
  ok(!read_text(&c,
                "return { http = {\n"
                "  hosts = { 'a', 'a.b:80', '::1', '[::1]', '10.0.0.1' },\n"
                "  origins = { 'https://a', 'http://[::1]:8080',\n"
                "              'chrome-extension://abc' } } }"),
     "proper hosts and origins: %s", error);
  mrpc_host_config_clear(&c);
}

static void test_faults(void) {
  mrpc_host_config c;
  refuses("return {", MRPC_ESCRIPT, ":1:");
  refuses("\n\nerror('no')", MRPC_ESCRIPT, ":3: no");
  refuses("error({})", MRPC_ESCRIPT, "raised no message");
  refuses("return 1", MRPC_EINVAL, "table, not a number");
  refuses("return { 1 }", MRPC_EINVAL, ": [1] has no name");
  refuses("return { limits = { 1 } }", MRPC_EINVAL, ": limits[1] has no name");
  refuses("return { [true] = 1 }", MRPC_EINVAL,
          "[true]: keys must be names, not a boolean");
  refuses("return { mode = print }", MRPC_EINVAL, "mode: it can't");
  refuses("return { mode = '\\xff' }", MRPC_EINVAL, "UTF-8");
  refuses("return { drain = 0/0 }", MRPC_EINVAL,
          ": drain: a number isn't finite; no limit is written false");
  refuses("return { limits = { wait = 1/0 } }", MRPC_EINVAL,
          ": limits.wait: a number isn't finite");
  refuses("while true do pcall(function() while true do end end) end",
          MRPC_ESCRIPT, ":1: it ran longer than 2 s");
  refuses("local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
          MRPC_ESCRIPT, ": it took more than 64 MiB");
  refuses("return ('x'):rep(1e9)", MRPC_ESCRIPT, ": it took more than 64 MiB");
  refuses("os.exit(0)", MRPC_ESCRIPT, ":1: attempt to call a nil value");
  refuses("local t = {} t.http = t return t", MRPC_EINVAL, "too deep");
  refuses("return { modus = 'dev' }", MRPC_EINVAL, "nearest is \"mode\"");
  refuses("return { frobnicate = 1 }", MRPC_EINVAL,
          ": there is no key \"frobnicate\"");
  ok(!strstr(error, "nearest"), "nothing is suggested that isn't near");
  refuses("return { limts = {} }", MRPC_EINVAL, "nearest is \"limits\"");
  refuses("return { limits = { mesage = 1 } }", MRPC_EINVAL,
          "\"limits.mesage\"; the nearest is \"limits.message\"");
  refuses("return { limits = { drain = 1 } }", MRPC_EINVAL,
          "\"limits.drain\"; the nearest is \"drain\"");
  refuses("return { limits = { ping = 1 } }", MRPC_EINVAL,
          "\"limits.ping\"; the nearest is \"websocket.ping\"");
  refuses("return { memory = 1 }", MRPC_EINVAL,
          "\"memory\"; the nearest is \"limits.memory\"");
  refuses("return { limits = 1 }", MRPC_EINVAL, "limits must be a table");
  refuses("return { limits = false }", MRPC_EINVAL, "limits must be a table");
  refuses("return { websocket = true }", MRPC_EINVAL,
          "websocket must be a table with names, or false");
  refuses("return { limits = { batch = -1 } }", MRPC_EINVAL, "limits.batch");
  refuses("return { limits = { batch = 1.5 } }", MRPC_EINVAL, "whole number");
  refuses("return { limits = { depth = 1001 } }", MRPC_EINVAL, "to 1000");
  refuses("return { limits = { batch = 2^32 } }", MRPC_EINVAL, "limits.batch");
  refuses("return { limits = { batch = true } }", MRPC_EINVAL, "whole number");
  refuses("return { limits = { wait = 0 } }", MRPC_EINVAL, "seconds above 0");
  refuses("return { limits = { wait = -1 } }", MRPC_EINVAL, "limits.wait");
  refuses("return { errors = { bussy = 1 } }", MRPC_EINVAL,
          "\"errors.bussy\"; the nearest is \"errors.busy\"");
  refuses("return { errors = { busy = 0 } }", MRPC_EINVAL, "other than 0");
  refuses("return { errors = { busy = -32700 } }", MRPC_EINVAL,
          "errors.busy can't be -32700");
  refuses("return { errors = { busy = -32600 } }", MRPC_EINVAL, "-32600");
  refuses("return { errors = { busy = -32601 } }", MRPC_EINVAL, "-32601");
  refuses("return { errors = { busy = -32602 } }", MRPC_EINVAL, "-32602");
  refuses("return { errors = { busy = 1.5 } }", MRPC_EINVAL, "whole number");
  refuses("return { errors = { busy = 2^31 } }", MRPC_EINVAL, "errors.busy");
  refuses("return { errors = { busy = '1' } }", MRPC_EINVAL, "whole number");
  refuses("return { errors = { busy = false } }", MRPC_EINVAL, "errors.busy");
  refuses("return { mode = 'fast' }", MRPC_EINVAL, "\"prod\" or \"dev\"");
  refuses("return { watch = 'no' }", MRPC_EINVAL, "true or false");
  refuses("return { listen = 5 }", MRPC_EINVAL, "list of strings");
  refuses("return { listen = { 5 } }", MRPC_EINVAL, "list of strings");
  refuses("return { methods = {} }", MRPC_EINVAL, "must be a string");
  refuses("return { log = { level = 'loud' } }", MRPC_EINVAL, "\"debug\"");
  refuses("return { http = { notification_status = 201 } }", MRPC_EINVAL,
          "http.notification_status must be 200, 202 or 204");
  refuses("return { http = { notification_status = 404 } }", MRPC_EINVAL,
          "200, 202 or 204");
  mrpc_host_config_init(&c);
  unlink(path);
  ok(mrpc_host_config_read(&c, path, error, sizeof error) == MRPC_ENOTFOUND,
     "a file that isn't there");
  ok(strstr(error, path) != NULL, "is named: %s", error);
  mrpc_host_config_clear(&c);
}

int main(void) {
  if (!mkdtemp(dir)) return 1;
  snprintf(path, sizeof path, "%s/c.lua", dir);
  test_all_keys();
  test_switch();
  test_small();
  test_texts();
  test_faults();
  unlink(path);
  rmdir(dir);
  return tap_finish();
}
