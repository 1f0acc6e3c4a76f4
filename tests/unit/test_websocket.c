/* SPDX-License-Identifier: MIT
 *
 * WebSocket from behind the handshake on, by RFC 6455's sections:
 * src/http/inbound.c and websocket.c. What comes in is played whole, byte by
 * byte, and split at every position. */
#include "oom.h"
#include "ws.h"

/* One check: the frames that were gathered in `in` give `want`, however they
 * are cut. */
static feed_text in;

static void gives_with(feed t, const char *want, const char *name) {
  feed_is_n(&t, in.at, in.len, want, name);
  free(in.at);
  in = (feed_text){0};
}

static void gives(const char *want, const char *name) {
  gives_with(websocket(), want, name);
}

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

#define FAILS(code, why, name) \
  gives("closed: " why "\n< close " code " " why "\nclosing\n", name)

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
  in.len -= 0;
  FAILS("1007", "a text isn't UTF-8", "8.1: known before its end");
  frame(&in, TEXT, "ab\xf4\x90tail");
  in.len -= 4;
  FAILS("1007", "a text isn't UTF-8", "8.1: known inside of a frame");
}

static void close_frame(unsigned code, const char *reason) {
  char payload[130] = {(char)(code >> 8), (char)(code & 255)};
  strcpy(payload + 2, reason);
  frame_n(&in, CLOSE, payload, 2 + strlen(reason));
}

static void test_close(void) {
  static const unsigned fine[] = {1000, 1001, 1002, 1003, 1007, 1008,
                                  1009, 1010, 1011, 1012, 1013, 1014,
                                  3000, 3999, 4000, 4999};
  static const unsigned wrong[] = {0,    999,  1004, 1005, 1006, 1015,
                                   1016, 1100, 2000, 2999, 5000, 65535};
  char want[100];
  frame(&in, CLOSE, "");
  frame(&in, TEXT, "[1]");
  gives("closed: (silence)\n< close \nclosing\n",
        "5.5.1: a Close of no code; what follows is dropped");
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    close_frame(fine[i], "bye");
    snprintf(want, sizeof want, "closed: %s\n< close %u \nclosing\n",
             fine[i] > 1001 ? "it closed with an error code" : "(silence)",
             fine[i]);
    gives(want, "7.4: the same code back");
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    close_frame(wrong[i], "");
    FAILS("1002", "a Close of a wrong code", "7.4: a code that may not be");
  }
  frame(&in, CLOSE, "x");
  FAILS("1002", "a Close of a wrong code", "5.5.1: half a code");
  close_frame(1000, "\xc3");
  FAILS("1007", "a reason isn't UTF-8", "5.5.1: half a character");
  frame(&in, TEXT - MORE, "[1");
  close_frame(1000, "");
  gives("closed: (silence)\n< close 1000 \nclosing\n", "inside of a message");
}

/* Answers later: how many messages are owed. */
static unsigned owed;

static void keep(feed *t, const mrpc_message *msg, int rc) {
  (void)t;
  (void)msg;
  (void)rc;
  owed++;
}

/* The environment's clock looks at `t` itself. */
static void open_at(feed *t) {
  *t = websocket();
  t->answer = keep;
  owed = 0;
  feed_open(t);
}

static void play(feed *t) {
  feed_piece(t, in.at, in.len);
  free(in.at);
  in = (feed_text){0};
}

static void says(feed *t, const char *want, const char *name) {
  char *got = feed_close(t);
  is_str(got, want, name);
  free(got);
}

static void test_drain(void) {
  feed t;
  open_at(&t);
  t.f->vt->drain(t.f);
  ok(!t.f->vt->can_push(t.f), "nothing can be pushed behind the end");
  says(&t, "< close 1001 \nclosing\n", "7.4.1: 1001 at once when idle");
  open_at(&t);
  frame(&in, TEXT, "[1]");
  frame(&in, TEXT, "[2]");
  play(&t);
  t.f->vt->drain(t.f);
  frame(&in, TEXT, "[3]");
  play(&t);
  ok(owed == 3 && t.f->vt->can_push(t.f), "owed answers keep it open");
  t.f->vt->put(t.f, 0, "a", 1, MRPC_OUTCOME_ANSWERED);
  t.f->vt->none(t.f, 0, MRPC_OUTCOME_SILENT);
  t.f->vt->put(t.f, 0, "b", 1, MRPC_OUTCOME_ANSWERED);
  t.f->vt->put(t.f, 0, "c", 1, MRPC_OUTCOME_ANSWERED);
  says(&t,
       "message [1]\nmessage [2]\nmessage [3]\n< text a\n< text b\n"
       "< close 1001 \nclosing\n",
       "1001 behind the last answer, and nothing behind it");
}

static void test_our_close(void) {
  feed t;
  open_at(&t);
  t.f->vt->close(t.f, "enough");
  says(&t, "< close 1000 enough\nclosing\n", "7.1.2: a close with a reason");
  open_at(&t);
  frame(&in, TEXT, "[1]");
  play(&t);
  t.f->vt->close(t.f, NULL);
  t.f->vt->drain(t.f);
  t.f->vt->push(t.f, "p", 1);
  t.f->vt->put(t.f, 0, "a", 1, MRPC_OUTCOME_ANSWERED);
  ok(t.f->vt->push(t.f, "p", 1) == MRPC_ESTATE, "it is over");
  says(&t, "message [1]\n< text p\n< text a\n< close 1000 \nclosing\n",
       "the first way to end counts");
  open_at(&t);
  char reason[200], want[200];
  memset(reason, 'x', sizeof reason);
  memcpy(reason + 121, "\xe2\x82\xac", 4);
  t.f->vt->close(t.f, reason);
  snprintf(want, sizeof want, "< close 1000 %.121s\nclosing\n", reason);
  says(&t, want, "5.5: a long reason is cut between characters");
}

static uint64_t seconds(double s) {
  return (uint64_t)(s * 1e9);
}

/* Lets time go on to `at` and the framing tick when it wants to. */
static void pass(feed *t, double at) {
  while (t->f->vt->deadline(t->f) <= seconds(at)) {
    t->now = t->f->vt->deadline(t->f);
    t->f->vt->tick(t->f, t->now);
  }
  t->now = seconds(at);
}

static void test_ping(void) {
  feed t;
  open_at(&t);
  pass(&t, 29);
  ok(t.f->out.len == 0, "silence for 29 s");
  pass(&t, 31);
  ok(t.f->out.len == 2, "a ping after 30");
  pass(&t, 39);
  ok(!t.f->closing, "it waits for a pong");
  pass(&t, 41);
  ok(t.f->closing && t.f->is_dead, "10 s at most");
  is_str(t.f->error, "it didn't answer a ping", "why");
  says(&t, "< ping \nclosing\n", "5.5.2: a keep-alive ping");

  open_at(&t);
  pass(&t, 31);
  frame(&in, PONG, "");
  play(&t);
  pass(&t, 69);
  ok(!t.f->closing && t.f->out.len == 2, "a pong is life for 30 s");
  frame(&in, TEXT, "[1]");
  play(&t);
  pass(&t, 99);
  ok(t.f->out.len == 2, "so is a message, which isn't timed to the second");
  t.f->is_unread = true;
  pass(&t, 500);
  ok(!t.f->closing && t.f->out.len == 2, "where nobody reads nobody asks");
  says(&t, "message [1]\n< ping \n", "all that it said");
}

static int make_silent(mrpc_env *env, mrpc_framing **out) {
  static const mrpc_websocket_config how = {.ping = -1};
  return make_with(env, &how, out);
}

static void test_time(void) {
  feed t = websocket();
  t.make = make_silent;
  feed_open(&t);
  ok(t.f->vt->deadline(t.f) == UINT64_MAX, "without pings it waits for ever");
  frame(&in, TEXT - MORE, "[1");
  play(&t);
  ok(t.f->vt->deadline(t.f) == seconds(5), "but not for half a message");
  pass(&t, 3);
  frame(&in, CONT - MORE, ",2");
  play(&t);
  pass(&t, 6);
  says(&t, "< close 1008 a message took too long to arrive\nclosing\n",
       "7.4.1: 1008");
  open_at(&t);
  feed_piece(&t, "\x81", 1);
  ok(t.f->vt->deadline(t.f) == seconds(5), "nor for half a frame");
  free(feed_close(&t));
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

static void scenario(oom *o) {
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  static char text[5000];
  feed_text bytes = {0};
  if (mrpc_env_new(&config, &env)) return;
  int rc = make(env, &f);
  memset(text, 'a', sizeof text);
  frame_n(&bytes, TEXT, text, sizeof text);
  frame(&bytes, TEXT - MORE, "[");
  frame(&bytes, PING, "x");
  frame(&bytes, CONT, "]");
  frame(&bytes, TEXT, "\xff");
  for (size_t at = 0, used; !rc && at < bytes.len && !f->closing; at += used) {
    rc = f->vt->recv(f, bytes.at + at, bytes.len - at, &used, &msg);
    if (rc == MRPC_OK) f->vt->put(f, 0, msg.bytes, msg.len, 0);
    if (rc == MRPC_ENOMEM) break;
    rc = MRPC_OK;
    if (at + used > bytes.len) break;
  }
  if (f) {
    f->vt->close(f, "over");
    f->vt->free(f);
  }
  free(bytes.at);
  mrpc_env_free(env);
}

/* What an idle connection holds, wslay's own memory aside. */
static void test_memory(void) {
  oom o = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
  mrpc_env *env;
  mrpc_framing *f = NULL;
  mrpc_message msg;
  size_t used, before;
  mrpc_env_new(&config, &env);
  before = o.live;
  make(env, &f);
  size_t calls = o.count;
  for (int i = 0; i < 100; i++) {
    frame(&in, TEXT, "[1,2,3]");
    f->vt->recv(f, in.at, in.len, &used, &msg);
    f->vt->put(f, msg.token, msg.bytes, msg.len, MRPC_OUTCOME_ANSWERED);
    mrpc_buf_truncate(&f->out, 0);
    free(in.at);
    in = (feed_text){0};
  }
  ok(o.count - calls == 2, "messages allocate nothing but two buffers");
  printf("# idle: %zu bytes\n", o.live - before);
  ok(o.live - before < 1024, "an idle one costs less than 1 KiB");
  f->vt->free(f);
  mrpc_env_free(env);
}

int main(void) {
  test_messages();
  test_lengths();
  test_heads();
  test_xor();
  test_limit();
  test_fragments();
  test_frames();
  test_control();
  test_binary();
  test_utf8();
  test_close();
  test_drain();
  test_our_close();
  test_ping();
  test_time();
  test_client();
  test_memory();
  oom_each("websocket", scenario, false);
  oom_each("websocket", scenario, true);
  return tap_finish();
}
