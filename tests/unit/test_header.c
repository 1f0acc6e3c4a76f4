/* SPDX-License-Identifier: MIT
 *
 * The header framing: src/framing/header.c, and auto.c where it becomes one.
 * Every JSON file at hand is played through it in all ways. */
#include <dirent.h>
#include <stdio.h>

#include "feed.h"
#include "oom.h"

enum { MESSAGE_MAX = 9, HEADER_MAX = 48, FILE_MAX = 4096 };

static const mrpc_limits limits = {.message = MESSAGE_MAX,
                                   .header = HEADER_MAX,
                                   .header_time = 2,
                                   .body_time = 5};

static int make(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_header(env, &limits, out);
}

static int make_wide(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_header(env, NULL, out);
}

static int make_auto(mrpc_env *env, mrpc_framing **out) {
  return mrpc_framing_auto(env, NULL, out);
}

static void test_messages(const feed *t) {
  feed_is(t, "Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\n[12]",
          "message {}\nmessage [12]\n", "two messages");
  feed_is(t, "content-LENGTH:2\r\n\r\n{}", "message {}\n",
          "names know no case, white space is optional");
  feed_is(t, "Content-Length: \t 002 \t\r\n\r\n{}", "message {}\n",
          "white space around the value, leading zeros");
  feed_is(t,
          "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
          "Content-Length: 2\r\n\r\n{}",
          "message {}\n", "a Content-Type before");
  feed_is(t,
          "content-type: a/b ; x=y; CHARSET = \"UTF8\" ;\r\n"
          "Content-Length: 2\r\n\r\n{}",
          "message {}\n", "a charset in quotes, behind another parameter");
  feed_is(t, "Content-Length: 2\r\nX-Y: :\r\n\r\n{}", "message {}\n",
          "an unknown field behind");
  feed_is(t, "Content-Length: 2\n\n{}", "message {}\n", "bare LF");
  feed_is(t, "Content-Length: 2\r\n\r\n{}\r\n\nContent-Length: 1\r\n\r\n1\n",
          "message {}\nmessage 1\n", "stray line ends between messages");
  feed_is(t, "Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1",
          "message \nmessage 1\n", "an empty message");
  feed_is(t, "Content-Length: 2\r\ncontent-length: 2\r\n\r\n{}", "message {}\n",
          "twice the same length");
  feed_is(t, "Content-Length: 3\r\n\r\n\r\n\n", "message \r\n\n\n",
          "a body of line ends");
  feed_is(t, "", "", "nothing");
}

static void test_lies(void) {
  feed t = {.make = make_wide};
  feed_is(&t, "Content-Length: -2\r\n\r\n{}",
          "syntax: Content-Length is negative\n", "negative");
  feed_is(&t, "Content-Length: 2x\r\n\r\n{}",
          "syntax: Content-Length isn't a number\n", "not a number");
  feed_is(&t, "Content-Length: +2\r\n\r\n{}",
          "syntax: Content-Length isn't a number\n", "a plus sign");
  feed_is(&t, "Content-Length: 2, 2\r\n\r\n{}",
          "syntax: Content-Length isn't a number\n", "a list");
  feed_is(&t, "Content-Length:\r\n\r\n{}", "syntax: Content-Length is empty\n",
          "empty");
  feed_is(&t, "Content-Length: 9007199254740993\r\n\r\n{}",
          "syntax: Content-Length is absurd\n", "over 2^53");
  feed_is(&t, "Content-Length: 99999999999999999999999999\r\n\r\n{}",
          "syntax: Content-Length is absurd\n", "over 2^64");
  feed_is(&t, "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
          "syntax: two Content-Length fields differ\n", "two that differ");
  feed_is(&t, "Content-Type: x\r\n\r\n{}",
          "syntax: a header block without Content-Length\n", "absent");
  feed_is(&t, "Content-Length : 2\r\n\r\n{}",
          "syntax: a header line has no proper name\n", "a space in a name");
  feed_is(&t, ": 2\r\n\r\n{}", "syntax: a header line has no proper name\n",
          "no name");
  feed_is(&t, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
          "syntax: a header line without a colon\n", "an HTTP request");
  feed_is(&t, "Content-Length: 3\r\n\r\n{}",
          "syntax: the input ended inside of a message\n", "too few bytes");
  feed_is(&t, "Content-Length: 2\r\n",
          "syntax: the input ended inside of a message\n", "half a block");
  feed_is(&t, "Cont", "syntax: the input ended inside of a message\n",
          "half a line");
}

static void test_charset(void) {
  static const char *const others[] = {
      "a/b; charset=utf-16",
      "a/b;charset=\"latin1\"",
      "a/b; charset=",
      "a/b; charset",
      "a/b; charset=\"",
      "charset=utf-8; Charset=x",
      "a/b; x=y; charset=utf-80",
  };
  feed t = {.make = make_wide};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char bytes[128];
    snprintf(bytes, sizeof bytes,
             "Content-Length: 2\r\nContent-Type: %s\r\n\r\n{}", others[i]);
    feed_is(&t, bytes, "syntax: the charset in Content-Type isn't utf-8\n",
            others[i]);
  }
}

static void test_limits(void) {
  feed t = {.make = make};
  feed_is(&t, "Content-Length: 9\r\n\r\n123456789", "message 123456789\n",
          "a body of limits.message bytes");
  feed_is(&t, "Content-Length: 10\r\n\r\n1234567890Content-Length: 1\r\n\r\n1",
          "limit\nmessage 1\n", "one more is skipped");
  feed_is(&t, "Content-Length: 9007199254740992\r\n\r\n123", "limit\n",
          "an announced 2^53");
  /* 48 bytes: 26 + 20 + 2 */
  feed_is(&t, "X: 23456789012345678901\r\n\r\n",
          "syntax: a header block without Content-Length\n", "no length");
  feed_is(&t, "X: 234567890123456789012\r\nContent-Length: 01\r\n\r\n1",
          "message 1\n", "a block of limits.header bytes");
  feed_is(&t, "X: 2345678901234567890123\r\nContent-Length: 01\r\n\r\n1",
          "syntax: the header block is over limits.header\n", "one more");
  feed_is(&t, "X: 23456789012345678901234567890123456789012345678901",
          "syntax: the header block is over limits.header\n", "one long line");
}

static void test_auto(void) {
  feed t = {.make = make_auto};
  test_messages(&t);
  feed_open(&t);
  feed_piece(&t, "c", 1);
  is_str(t.f->vt->name, "header", "auto: a c means header fields");
  t.f->vt->push(t.f, "{}", 2);
  free(feed_close(&t));
}

static void test_copies(void) {
  feed t = {.make = make_wide};
  feed_open(&t);
  const char *bytes = "Content-Length: 2\r\n\r\n{}";
  size_t consumed;
  mrpc_message msg;
  t.f->vt->recv(t.f, bytes, 23, &consumed, &msg);
  ok(consumed == 23 && msg.bytes == bytes + 21, "a whole body isn't copied");
  free(feed_close(&t));
}

static void test_output(void) {
  feed t = {.make = make_wide};
  feed_open(&t);
  t.f->vt->put(t.f, 0, "{1}", 3, MRPC_OUTCOME_ANSWERED);
  t.f->vt->none(t.f, 0, MRPC_OUTCOME_SILENT);
  t.f->vt->push(t.f, "{\n}", 3);
  const char *want =
      "Content-Length: 3\r\n\r\n{1}Content-Length: 3\r\n\r\n{\n}";
  is_bytes(t.f->out.data, t.f->out.len, want, strlen(want), "output");
  free(feed_close(&t));
}

static void test_deadlines(void) {
  feed t = {.make = make};
  feed_open(&t);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "no deadline between messages");
  feed_piece(&t, "Content-Length: 2\r\n", 19);
  ok(t.f->vt->deadline(t.f) == 2000000000, "header_time for the block");
  t.now = 1000000000;
  feed_piece(&t, "\r", 1);
  ok(t.f->vt->deadline(t.f) == 2000000000, "which isn't renewed");
  feed_piece(&t, "\n{", 2);
  ok(t.f->vt->deadline(t.f) == 6000000000, "body_time for the body");
  feed_piece(&t, "}\r\n", 3);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "none behind it");
  feed_piece(&t, "Content-Length: 20\r\n\r\n1", 23);
  ok(t.f->vt->deadline(t.f) == 6000000000, "and one for what is skipped");
  t.f->vt->tick(t.f, 6000000000);
  ok(t.f->closing && t.f->error, "what is due closes the connection");
  free(feed_close(&t));
}

static void play_file(feed *t, const char *path, size_t *count, size_t *bad) {
  char body[FILE_MAX + 1], bytes[FILE_MAX + 64];
  FILE *file = fopen(path, "rb");
  if (!file) return;
  size_t len = fread(body, 1, sizeof body, file);
  fclose(file);
  if (len > FILE_MAX) return;
  int head = snprintf(bytes, 64, "Content-Length: %zu\r\n\r\n", len);
  memcpy(bytes + head, body, len);
  feed want = {0};
  feed_note(&want, MRPC_OK, &(mrpc_message){.bytes = body, .len = len});
  size_t cut;
  ++*count;
  if (!feed_ways(t, bytes, (size_t)head + len, want.log.at, &cut)) {
    printf("# %s: cut at %zu\n", path, cut);
    ++*bad;
  }
  free(want.log.at);
}

static void test_files(const char *folder) {
  feed t = {.make = make_wide};
  size_t count = 0, bad = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strstr(entry->d_name, ".json")) play_file(&t, path, &count, &bad);
  }
  if (dir) closedir(dir);
  if (count == 0) printf("# %s has no files here: left out\n", folder);
  ok(bad == 0, "%zu files of %s in every way", count, folder);
}

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  size_t consumed;
  mrpc_message msg;
  if (mrpc_env_new(&config, &env)) return;
  if (!mrpc_framing_header(env, NULL, &f)) {
    f->vt->recv(f, "Content-", 8, &consumed, &msg);
    f->vt->recv(f, "Length: 2\r\n\r\n{", 14, &consumed, &msg);
    f->vt->recv(f, "}", 1, &consumed, &msg);
    f->vt->put(f, 0, "{}", 2, MRPC_OUTCOME_ANSWERED);
    f->vt->eof(f, &msg);
    f->vt->free(f);
  }
  mrpc_env_free(env);
}

int main(void) {
  feed wide = {.make = make_wide};
  test_messages(&wide);
  test_lies();
  test_charset();
  test_limits();
  test_auto();
  test_copies();
  test_output();
  test_deadlines();
  test_files("../shared/corpora/json/JSONTestSuite");
  test_files("tests/json");
  oom_each("header", scenario, false);
  oom_each("header", scenario, true);
  return tap_finish();
}
