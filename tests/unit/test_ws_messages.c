/* SPDX-License-Identifier: MIT
 *
 * RFC 6455 sections 7.4.1 and 8.1: which messages are taken, by length, kind
 * and text. src/http/inbound.c, utf8.c. */
#include "frames.h"

static int make_small(mrpc_env *env, mrpc_framing **out) {
  static const mrpc_limits small = {.message = 10};
  mrpc_websocket *w;
  int rc = mrpc_websocket_new(env, &small, NULL, &w);
  if (rc == MRPC_OK) *out = &w->base;
  return rc;
}

static void test_limit(void) {
  feed t = websocket();
  t.make = make_small;
  frame(&in, TEXT, "0123456789");
  frame(&in, TEXT, "0123456789a");
  gives_with(t,
             "message 0123456789\nclosed: a message is over limits.message\n"
             "< text 0123456789\n"
             "< close 1009 a message is over limits.message\nclosing\n",
             "7.4.1: the limit, and one byte more");
  static char text[70001];
  memset(text, 'a', sizeof text);
  frame_of(&in, TEXT, text, sizeof text, "abcd");
  in.len = 20;
  FAILS("1009", "a message is over limits.message",
        "10.4: refused by its announced length");
  frame_n(&in, TEXT - MORE, text, 5);
  frame_of(&in, CONT, text, 69996, "abcd");
  in.len = 11 + 20;
  FAILS("1009", "a message is over limits.message", "by its parts' lengths");
}

static int make_both(mrpc_env *env, mrpc_framing **out) {
  static const mrpc_websocket_config how = {.binary = true};
  return make_with(env, &how, out);
}

static void test_binary(void) {
  frame(&in, BIN, "x");
  FAILS("1003", "binary messages aren't taken", "7.4.1: 1003");
  feed t = websocket();
  t.make = make_both;
  frame(&in, BIN - MORE, "\xff[");
  frame(&in, CONT, "]");
  gives_with(t, "message \xff[]\nclosed: (silence)\n< text \xff[]\nclosing\n",
             "where they are taken they are answered in text");
}

/* A reason that isn't UTF-8 is told of by its own code. */
static void test_utf8(void) {
  static const struct {
    const char *text;
    bool is_fine;
  } texts[] = {
      {"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5", true},
      {"\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", true},
      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80", true},
      {"0123456789abcde\xc3\xa9 0123456789abcdef", true},
      {"\x80", false},
      {"abcdefgh\xbf", false},
      {"\xc0\xaf", false},
      {"\xc1\xbf", false},
      {"\xe0\x9f\xbf", false},
      {"\xf0\x8f\xbf\xbf", false},
      {"\xed\xa0\x80", false},
      {"\xed\xbf\xbf", false},
      {"\xf4\x90\x80\x80", false},
      {"\xf5\x80\x80\x80", false},
      {"\xfe", false},
      {"\xff", false},
      {"\xc3(", false},
      {"\xe2\x82(", false},
      {"\xc3", false},
      {"\xe2\x82", false},
      {"\xf0\x9f\x98", false},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char want[200];
    const char *text = texts[i].text;
    snprintf(want, sizeof want,
             "message %s\nclosed: (silence)\n< text %s\nclosing\n", text, text);
    frame(&in, TEXT, text);
    if (texts[i].is_fine)
      gives(want, "8.1: UTF-8");
    else
      FAILS("1007", "a text isn't UTF-8", "8.1: not UTF-8");
    size_t len = strlen(text), half = len / 2;
    frame_n(&in, TEXT - MORE, text, half);
    frame_n(&in, CONT, text + half, len - half);
    if (texts[i].is_fine)
      gives(want, "8.1: over two frames");
    else
      FAILS("1007", "a text isn't UTF-8", "8.1: nor over two");
  }
  frame(&in, TEXT - MORE, "ab\xf4\x90");
  FAILS("1007", "a text isn't UTF-8", "8.1: known before its end");
  frame(&in, TEXT, "ab\xf4\x90tail");
  in.len -= 4;
  FAILS("1007", "a text isn't UTF-8", "8.1: known inside of a frame");
}

int main(void) {
  test_limit();
  test_binary();
  test_utf8();
  return tap_finish();
}
