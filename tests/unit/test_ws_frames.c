/* SPDX-License-Identifier: MIT
 *
 * RFC 6455 section 5: frames, their heads, fragments and control frames.
 * src/http/inbound.c, frame.c. */
#include "frames.h"

static void test_messages(void) {
  frame(&in, TEXT, "[1]");
  gives("message [1]\nclosed: (silence)\n< text [1]\nclosing\n", "5.6: a text");
  frame(&in, TEXT, "");
  gives("message \nclosed: (silence)\n< text \nclosing\n", "an empty one");
  for (int i = 0; i < 3; i++) frame(&in, TEXT, "[1]");
  gives(
      "message [1]\nmessage [1]\nmessage [1]\nclosed: (silence)\n"
      "< text [1]\n< text [1]\n< text [1]\nclosing\n",
      "three at once");
}

/* Longer ones take long to play at every position; a few cuts do. */
static void test_lengths(void) {
  static const size_t lengths[] = {125,  126,  127,   128,   4000, 4088,
                                   4096, 4097, 65535, 65536, 70000};
  static char text[70000];
  memset(text, 'a', sizeof text);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    frame_n(&in, TEXT, text, lengths[i]);
    frame(&in, TEXT, "!");
    size_t same = 0, ways = 0;
    for (size_t cut = 0; cut < in.len; cut += 1 + in.len / 50, ways++) {
      feed t = websocket();
      t.show = NULL;
      t.answer = NULL;
      char *got = feed_play(t, in.at, in.len, cut, 1 + cut % 5000);
      same += strlen(got) == 8 + lengths[i] + 1 + 9 + 1 + 26 &&
              strstr(got, "a\nmessage !\nclosed") != NULL;
      free(got);
    }
    ok(same == ways, "5.2: %zu bytes and a short one", lengths[i]);
    free(in.at);
    in = (feed_text){0};
  }
  frame_n(&in, TEXT, text, sizeof text);
  frame(&in, PING, "x");
  feed t = websocket();
  char *got = feed_play(t, in.at, in.len, in.len, 1);
  ok(strstr(got, "< text (long)\n< pong x\n"), "and a long answer");
  free(got);
  free(in.at);
  in = (feed_text){0};
}

/* What we write: the shortest form of the length. */
static void test_heads(void) {
  static const struct {
    size_t len;
    const char *head;
    size_t size;
  } heads[] = {
      {0, "\x81\x00", 2},
      {125, "\x81\x7d", 2},
      {126, "\x81\x7e\x00\x7e", 4},
      {65535, "\x81\x7e\xff\xff", 4},
      {65536, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10},
  };
  static char text[65536];
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    feed t = websocket();
    feed_open(&t);
    t.f->vt->push(t.f, text, heads[i].len);
    ok(t.f->out.len == heads[i].size + heads[i].len &&
           !memcmp(t.f->out.data, heads[i].head, heads[i].size),
       "5.2: the head of %zu bytes", heads[i].len);
    free(feed_close(&t));
  }
}

/* Every length and every offset, against the definition. */
static void test_xor(void) {
  char bytes[40], to[40];
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
  for (size_t from = 0; from < 8; from++)
    for (size_t len = 0; len <= 30; len++) {
      mrpc_ws_xor(to + from, bytes + from, len, bytes + 3);
      for (size_t i = 0; i < len; i++)
        wrong += to[from + i] != (char)(bytes[from + i] ^ bytes[3 + (i & 3)]);
    }
  ok(wrong == 0, "5.3: masking");
}

static void test_fragments(void) {
  frame(&in, TEXT - MORE, "[1,");
  frame(&in, CONT - MORE, "");
  frame(&in, CONT - MORE, "2");
  frame(&in, CONT, "]");
  frame(&in, TEXT, "[3]");
  gives(
      "message [1,2]\nmessage [3]\nclosed: (silence)\n"
      "< text [1,2]\n< text [3]\nclosing\n",
      "5.4: fragments");
  frame(&in, TEXT - MORE, "[1,");
  frame(&in, PING, "a");
  frame(&in, PONG, "b");
  frame(&in, CONT, "2]");
  gives("message [1,2]\nclosed: (silence)\n< pong a\n< text [1,2]\nclosing\n",
        "5.4: control frames between them");
  frame(&in, CONT, "x");
  FAILS("1002", "a continuation of no message", "5.4: nothing to go on with");
  frame(&in, TEXT, "[1]");
  frame(&in, CONT - MORE, "x");
  gives(
      "message [1]\nclosed: a continuation of no message\n< text [1]\n"
      "< close 1002 a continuation of no message\nclosing\n",
      "nothing any more");
  frame(&in, TEXT - MORE, "[1,");
  frame(&in, TEXT, "2]");
  FAILS("1002", "a message inside of a message", "5.4: not interleaved");
}

static void test_frames(void) {
  for (int rsv = 0x10; rsv <= 0x70; rsv += 0x10) {
    frame(&in, TEXT | rsv, "x");
    FAILS("1002", "a reserved bit is set", "5.2: reserved bits");
  }
  frame(&in, PING | 0x40, "");
  FAILS("1002", "a reserved bit is set", "5.2: of control frames too");
  static const int opcodes[] = {3, 4, 5, 6, 7, 11, 12, 13, 14, 15};
  for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
    frame(&in, 0x80 | opcodes[i], "x");
    FAILS("1002", "a reserved opcode", "5.2: reserved opcodes");
  }
  frame_of(&in, TEXT, "x", 1, NULL);
  FAILS("1002", "a mask on the wrong side", "5.1: clients must mask");
  frame(&in, PING - MORE, "x");
  FAILS("1002", "a malformed frame", "5.5: a fragment of a control frame");
  static const char long_ping[] =
      "\x89\xfe\x00\x7e"
      "abcd";
  feed_add(&in, long_ping, sizeof long_ping - 1);
  FAILS("1002", "a malformed frame", "5.5: a control frame over 125 bytes");
  feed_add(&in,
           "\x81\xfe\x00\x7d"
           "abcd",
           8);
  FAILS("1002", "a malformed frame", "5.2: a length of more bytes than needed");
  feed_add(&in,
           "\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff"
           "abcd",
           14);
  FAILS("1002", "a malformed frame", "of many more");
  feed_add(&in,
           "\x81\xff\x80\x00\x00\x00\x00\x00\xff\xff"
           "abcd",
           14);
  FAILS("1002", "a malformed frame", "5.2: a length of 64 bits");
}

static void test_control(void) {
  frame(&in, PING, "");
  frame(&in, PING, "hello");
  gives("closed: (silence)\n< pong \n< pong hello\nclosing\n", "5.5.3: pongs");
  static char text[126];
  memset(text, 'x', 125);
  frame(&in, PING, text);
  frame(&in, PONG, text);
  char want[300];
  snprintf(want, sizeof want, "closed: (silence)\n< pong %s\nclosing\n", text);
  gives(want, "of 125 bytes; nobody answers a pong");
}

static int make_client(mrpc_env *env, mrpc_framing **out) {
  int rc = make(env, out);
  mrpc_websocket *w = (mrpc_websocket *)*out;
  if (!rc) w->mask = mrpc_mem_new(&env->mem, sizeof *w->mask);
  return rc;
}

static void test_client(void) {
  feed t = websocket();
  t.make = make_client;
  frame_of(&in, TEXT, "[1]", 3, NULL);
  frame_of(&in, PING, "", 0, NULL);
  gives_with(t,
             "message [1]\nclosed: (silence)\n<* text [1]\n<* pong \nclosing\n",
             "5.3: a client's frames are masked");
  frame(&in, TEXT, "[1]");
  gives_with(t,
             "closed: a mask on the wrong side\n"
             "<* close 1002 a mask on the wrong side\nclosing\n",
             "5.1: a server's aren't");
  feed_open(&t);
  t.f->vt->push(t.f, "", 0);
  t.f->vt->push(t.f, "", 0);
  ok(t.f->out.len == 12 && memcmp(t.f->out.data + 2, t.f->out.data + 8, 4) != 0,
     "5.3: each with a key of its own");
  free(feed_close(&t));
}

int main(void) {
  test_messages();
  test_lengths();
  test_heads();
  test_xor();
  test_fragments();
  test_frames();
  test_control();
  test_client();
  return tap_finish();
}
