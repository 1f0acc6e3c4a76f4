/* SPDX-License-Identifier: MIT
 *
 * Texts that resemble the one before: each byte of some is changed in every
 * way that matters, and long rows of changes are made; what comes out must be
 * what the parser alone makes. Which ones are mended, and which parsed. */
#include "repeat.h"

#include "pick.h"
#include "tap.h"

static mrpc_mem mem = {mrpc_mem_default, NULL};

static const char *const texts[] = {
    "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,-23],\"id\":"
    "1}",
    "{\"jsonrpc\": \"2.0\", \"id\": \"a-17\", \"method\": \"x\", \"params\": "
    "{\"a\": 1234567, \"b\": [0, -1, 1.5, true, null], \"\": \"\"}}",
    "[{\"a\":12345678},{\"b\":1234567890123456789},\"caf\303\251\",\"\\n\"]",
    "{\"n\":-9223372036854775808,\"m\":123456789012345678,\"o\":10}\r",
    " {\"name\" : \"value\" , \"other\":\"sixteen bytes or more of it\" } ",
    "{\"a\":{\"b\":{\"c\":[[[1]]]}},\"d\":\"e\"}",
};
enum { TEXTS = sizeof texts / sizeof *texts, DEPTH = 9 };

static const char bytes[] =
    "0123456789-+.eE\"\\{}[]:, \n\tatfn\001\177\303\251";

/* One byte changed, then back. */
static void test_each_byte(void) {
  repeat r;
  size_t faults = 0, mended = 0, count = 0;
  repeat_init(&r, &mem);
  for (size_t t = 0; t < TEXTS; t++) {
    size_t len = strlen(texts[t]);
    for (size_t i = 0; i < len * (sizeof bytes - 1); i++) {
      char text[200];
      memcpy(text, texts[t], len);
      faults += repeat_check(&r, text, len, DEPTH) != NULL;
      text[i / (sizeof bytes - 1)] = bytes[i % (sizeof bytes - 1)];
      faults += repeat_check(&r, text, len, DEPTH) != NULL;
      mended += r.mended;
      count++;
    }
  }
  ok(faults == 0, "%zu texts with a byte changed", count);
  ok(mended > count / 20 && mended < count / 2, "%zu of them are mended",
     mended);
  repeat_clear(&r);
}

/* Each text differs in some digits and letters from the one before. */
static void test_rows(void) {
  repeat r;
  size_t faults = 0, mended = 0;
  enum { ROUNDS = 20000 };
  pick_state = 1;
  repeat_init(&r, &mem);
  for (size_t t = 0; t < TEXTS; t++) {
    char text[200];
    size_t len = strlen(texts[t]);
    memcpy(text, texts[t], len);
    for (int i = 0; i < ROUNDS; i++) {
      char undo[200];
      memcpy(undo, text, len);
      for (uint32_t n = pick(4); n; n--) {
        char *at = &text[pick((uint32_t)len)];
        if (*at >= '0' && *at <= '9')
          *at = (char)('0' + pick(10));
        else if (*at >= 'a' && *at <= 'z')
          *at = (char)('a' + pick(26));
      }
      faults += repeat_check(&r, text, len, DEPTH) != NULL;
      if (r.alone.error) memcpy(text, undo, len);
      mended += r.mended;
    }
  }
  ok(faults == 0, "rows of texts");
  ok(mended > TEXTS * ROUNDS / 4, "%zu of %d are mended", mended,
     TEXTS * ROUNDS);
  repeat_clear(&r);
}

static bool is_mended(repeat *r, const char *first, const char *second) {
  bool good = !repeat_check(r, first, strlen(first), DEPTH) &&
              !repeat_check(r, second, strlen(second), DEPTH);
  return good && r->mended;
}

static void test_which(void) {
  static const struct {
    const char *first, *second, *what;
    bool mended;
  } cases[] = {
      {"{\"method\":\"a\",\"id\":1}", "{\"method\":\"b\",\"id\":1}", "a string",
       true},
      {"{\"method\":\"a\",\"id\":10}", "{\"method\":\"a\",\"id\":-1}",
       "a number gets a sign", true},
      {"{\"method\":\"a\",\"id\":10}", "{\"method\":\"a\",\"id\":00}",
       "a leading zero", false},
      {"{\"method\":\"a\",\"id\":10}", "{\"method\":\"a\",\"id\":-0}",
       "a negative zero", false},
      {"{\"method\":\"a\",\"id\":100}", "{\"method\":\"a\",\"id\":1.5}",
       "a fraction", false},
      {"{\"method\":\"a\",\"id\":100}", "{\"method\":\"a\",\"id\":1e5}",
       "an exponent", false},
      {"{\"method\":\"a\",\"id\":1}", "{\"method\":\"a\",\"id\":-}",
       "a sign alone", false},
      {"{\"method\":\"a\",\"id\":1}", "{\"method\":\"a\",\"ix\":1}", "a name",
       false},
      {"{\"method\":\"ab\",\"id\":1}", "{\"method\":\"\\n\",\"id\":1}",
       "an escape", false},
      {"{\"method\":\"ab\",\"id\":1}", "{\"method\":\"\303\251\",\"id\":1}",
       "a character of two bytes", false},
      {"{\"method\":\"abc\",\"id\":1}", "{\"method\":\"\",\"\":1 }    ",
       "a shorter string", false},
      {"{\"method\":\"a\",\"id\":true}", "{\"method\":\"a\",\"id\":null}",
       "a literal", false},
      {"{\"method\":\"a\",\"id\":1}", "{\"method\":\"a\",\"id\":12}",
       "another length", false},
      {"{\"id\":1,\"x\":2}", "{\"id\":1,\"x\":3}", "less than sixteen bytes",
       false},
      {"\"sixteen bytes or more\"", "\"sixteen bytes or less\"", "a scalar",
       false},
  };
  repeat r;
  repeat_init(&r, &mem);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ok(is_mended(&r, cases[i].first, cases[i].second) == cases[i].mended,
       "%s is %s", cases[i].what, cases[i].mended ? "mended" : "parsed");
  repeat_clear(&r);
}

/* Fills `text` with an array of one string, `len` bytes in all. */
static void fill(char *text, size_t len, char with) {
  memset(text, with, len);
  memcpy(text, "[\"", 2);
  memcpy(text + len - 2, "\"]", 2);
}

static void test_limits(void) {
  char text[MRPC_REPEAT_MAX + 1];
  repeat r;
  repeat_init(&r, &mem);
  for (size_t len = 16; len <= sizeof text; len++) {
    fill(text, len, 'a');
    const char *fault = repeat_check(&r, text, len, DEPTH);
    fill(text, len, 'b');
    if (!fault) fault = repeat_check(&r, text, len, DEPTH);
    if (!fault && r.mended != (len <= MRPC_REPEAT_MAX))
      fault = "mended, or not";
    if (fault) ok(false, "%zu bytes: %s", len, fault);
  }
  ok(true, "texts of each length");
  ok(is_mended(&r, "[[[[[[[[[1]]]]]]]]]", "[[[[[[[[[2]]]]]]]]]"),
     "as deep as may be");
  ok(!repeat_check(&r, "[[[[[[[[[3]]]]]]]]]", 19, DEPTH - 1) &&
         r.alone.error != NULL,
     "and no deeper than another may");
  ok(is_mended(&r, texts[0], texts[0]), "the same again");
  mrpc_repeat_forget(&r.before);
  ok(!repeat_check(&r, texts[0], strlen(texts[0]), DEPTH) && !r.mended,
     "but not when it is forgotten");
  repeat_clear(&r);
}

int main(void) {
  test_each_byte();
  test_rows();
  test_which();
  test_limits();
  return tap_finish();
}
