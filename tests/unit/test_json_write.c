/* SPDX-License-Identifier: MIT
 *
 * The writer: every special character at every place of short strings, into
 * buffers of every size; integers about every power of ten; what form doubles
 * get; all of it in a locale with another decimal point, too. */
#include <locale.h>
#include <math.h>

#include "json.h"
#include "oom.h"
#include "tap.h"

enum { LENGTHS = 36, ROOM = 512 };

static mrpc_mem mem = {mrpc_mem_default, NULL};

/* Strings. */

/* What a character becomes. */
typedef struct form {
  const char *raw;
  size_t len;
  const char *written;
} form;

static const form forms[] = {
    {"\"", 1, "\\\""},
    {"\\", 1, "\\\\"},
    {"\b", 1, "\\b"},
    {"\f", 1, "\\f"},
    {"\n", 1, "\\n"},
    {"\r", 1, "\\r"},
    {"\t", 1, "\\t"},
    {"\0", 1, "\\u0000"},
    {"\x01", 1, "\\u0001"},
    {"\x0b", 1, "\\u000b"},
    {"\x1f", 1, "\\u001f"},
    {"/", 1, "/"},
    {" ", 1, " "},
    {"\x7f", 1, "\x7f"},
    {"\xc2\x80", 2, "\xc2\x80"},
    {"\xdf\xbf", 2, "\xdf\xbf"},
    {"\xe2\x82\xac", 3, "\xe2\x82\xac"},
    {"\xed\x9f\xbf", 3, "\xed\x9f\xbf"},
    {"\xf0\x9f\x98\x8e", 4, "\xf0\x9f\x98\x8e"},
    {"\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf"},
};

static const form bad[] = {
    {"\x80", 1, NULL},         {"\xc0\xaf", 2, NULL},
    {"\xc3", 1, NULL},         {"\xe2\x82", 2, NULL},
    {"\xe0\x9f\xbf", 3, NULL}, {"\xed\xa0\x80", 3, NULL},
    {"\xf0\x9f\x98", 3, NULL}, {"\xf4\x90\x80\x80", 4, NULL},
    {"\xff", 1, NULL},
};

/* Writes a copy that ends where its memory ends into a buffer of `limit`. */
static int write_copy(mrpc_buf *buf, const char *text, size_t len,
                      size_t limit) {
  char *copy = malloc(len ? len : 1);
  if (!copy) abort();
  memcpy(copy, text, len);
  mrpc_buf_init(buf, &mem, limit);
  int code = mrpc_json_write_string(buf, len ? copy : copy + 1, len);
  free(copy);
  return code;
}

/* `before` letters, then `times` the character, then `behind` letters. */
static size_t build(char *text, char *want, size_t *wantlen, const form *f,
                    size_t before, size_t times, size_t behind) {
  char *to = text, *w = want;
  *w++ = '"';
  for (size_t i = 0; i < before; i++) *to++ = *w++ = (char)('a' + i % 26);
  for (size_t i = 0; i < times; i++) {
    memcpy(to, f->raw, f->len);
    to += f->len;
    if (f->written) w = stpcpy(w, f->written);
  }
  for (size_t i = 0; i < behind; i++) *to++ = *w++ = (char)('A' + i % 26);
  *w++ = '"';
  *wantlen = (size_t)(w - want);
  return (size_t)(to - text);
}

/* Into any buffer that is large enough, and into none that isn't. */
static bool check_string(const char *text, size_t len, const char *want,
                         size_t wantlen, size_t limit) {
  mrpc_buf buf;
  int code = write_copy(&buf, text, len, limit);
  bool good = limit < wantlen ? code == MRPC_ELIMIT && buf.len == 0
                              : code == MRPC_OK && buf.len == wantlen &&
                                    memcmp(buf.data, want, wantlen) == 0;
  mrpc_buf_clear(&buf);
  return good;
}

static void test_form(const form *f) {
  char text[ROOM], want[ROOM];
  size_t wantlen, wrong = 0;
  for (size_t before = 0; before < LENGTHS; before++) {
    for (size_t times = 1; times < 20; times += 3) {
      size_t len = build(text, want, &wantlen, f, before, times, before / 2);
      for (size_t limit = wantlen - 1; limit < wantlen + 90; limit += 11)
        wrong += !check_string(text, len, want, wantlen, limit);
      wrong += !check_string(text, len, want, wantlen, wantlen);
    }
  }
  ok(wrong == 0, "%s at every place", f->written);
}

static void test_bad(const form *f) {
  char text[ROOM], want[ROOM];
  size_t wantlen, wrong = 0;
  for (size_t before = 0; before < LENGTHS; before++) {
    for (size_t behind = 0; behind < LENGTHS; behind += 7) {
      mrpc_buf buf;
      size_t len = build(text, want, &wantlen, f, before, 1, behind);
      wrong += write_copy(&buf, text, len, SIZE_MAX) != MRPC_ETYPE || buf.len;
      mrpc_buf_clear(&buf);
      wrong += write_copy(&buf, text, len, wantlen) != MRPC_ETYPE || buf.len;
      mrpc_buf_clear(&buf);
    }
  }
  ok(wrong == 0, "invalid UTF-8 of %zu bytes is told, nothing is written",
     f->len);
}

static void test_strings(void) {
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
    test_form(&forms[i]);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) test_bad(&bad[i]);
  mrpc_buf buf;
  mrpc_buf_init(&buf, &mem, SIZE_MAX);
  mrpc_json_write_string(&buf, "", 0);
  mrpc_json_write_string(&buf, "behind", 6);
  is_bytes(buf.data, buf.len, "\"\"\"behind\"", 10, "one behind another");
  mrpc_buf_clear(&buf);
  mrpc_buf_init(&buf, &mem, 4);
  ok(mrpc_json_write_string(&buf, "abc", 3) == MRPC_ELIMIT &&
         mrpc_json_write_string(&buf, "", 0) == MRPC_ELIMIT,
     "a failure of the buffer sticks");
  mrpc_buf_clear(&buf);
}

static void test_text(void) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"plain \xc3\xa9\n", "\"plain \xc3\xa9\\n\""},
      {"\xff", "\"\xef\xbf\xbd\""},
      {"a\xe2\x82z\"", "\"a\xef\xbf\xbd\xef\xbf\xbdz\\\"\""},
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
      {"ends in a lead \xf0", "\"ends in a lead \xef\xbf\xbd\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mrpc_buf buf;
    mrpc_buf_init(&buf, &mem, SIZE_MAX);
    mrpc_json_write_text(&buf, cases[i].text, strlen(cases[i].text));
    is_bytes(buf.data, buf.len, cases[i].want, strlen(cases[i].want),
             "any bytes become a string");
    mrpc_buf_clear(&buf);
  }
}

/* Numbers. */

static bool check_int(int64_t value, size_t limit) {
  char want[32];
  int len = snprintf(want, sizeof want, "%lld", (long long)value);
  mrpc_buf buf;
  mrpc_buf_init(&buf, &mem, limit);
  int code = mrpc_json_write_int(&buf, value);
  bool good = limit < (size_t)len ? code == MRPC_ELIMIT
                                  : code == MRPC_OK && buf.len == (size_t)len &&
                                        memcmp(buf.data, want, buf.len) == 0;
  mrpc_buf_clear(&buf);
  return good;
}

static void test_ints(void) {
  size_t wrong = 0;
  uint64_t power = 1;
  for (int i = 0; i < 20; i++, power *= 10) {
    for (int64_t d = -12; d <= 12; d++) {
      wrong += !check_int((int64_t)power + d, SIZE_MAX);
      wrong += !check_int(-(int64_t)power + d, 40);
    }
  }
  for (int64_t i = -1100; i <= 1100; i++) wrong += !check_int(i, SIZE_MAX);
  for (size_t limit = 0; limit < 40; limit++) {
    wrong += !check_int(INT64_MIN, limit);
    wrong += !check_int(INT64_MAX, limit);
    wrong += !check_int(7, limit);
  }
  ok(wrong == 0, "integers about every power of ten, to both ends");
}

static void test_doubles(const char *where) {
  static const struct {
    double value;
    const char *want;
  } cases[] = {
      {0.0, "0"},
      {-0.0, "-0.0"},
      {1, "1"},
      {-1, "-1"},
      {0.5, "0.5"},
      {-1234.25, "-1234.25"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1e15, "1000000000000000"},
      {9007199254740991.0, "9007199254740991"},
      {9007199254740992.0, "9007199254740992"},
      {-9007199254740992.0, "-9007199254740992"},
      {9007199254740994.0, "9.007199254740994e15"},
      {9997597333350000.0, "9.99759733335e15"},
      {1e16, "1e16"},
      {1e22, "1e22"},
      {1e23, "1e23"},
      {-1e100, "-1e100"},
      {9223372036854775808.0, "9.223372036854776e18"},
      {0.001, "0.001"},
      {0.000001, "0.000001"},
      {0.0000012345, "0.0000012345"},
      {0.0000001, "1e-7"},
      {-0.00000012345, "-1.2345e-7"},
      {4503599627370495.5, "4503599627370495.5"},
      {1234567890123456.7, "1234567890123456.8"},
      {12345678.9, "12345678.9"},
      {123456789.5, "123456789.5"},
      {1700000000.123, "1700000000.123"},
      {-65.613616999999977, "-65.61361699999998"},
      {5e-324, "5e-324"},
      {1e-323, "1e-323"},
      {2.2250738585072011e-308, "2.225073858507201e-308"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {1.7976931348623157e308, "1.7976931348623157e308"},
      {5.684341886080802e-14, "5.684341886080802e-14"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mrpc_buf buf;
    size_t len = strlen(cases[i].want);
    mrpc_buf_init(&buf, &mem, len);
    int code = mrpc_json_write_double(&buf, cases[i].value);
    is_bytes(buf.data, code ? 0 : buf.len, cases[i].want, len, cases[i].want);
    mrpc_buf_clear(&buf);
    mrpc_buf_init(&buf, &mem, len - 1);
    ok(mrpc_json_write_double(&buf, cases[i].value) == MRPC_ELIMIT,
       "and not with a byte less, %s", where);
    mrpc_buf_clear(&buf);
  }
}

static void test_not_finite(void) {
  static const double values[] = {INFINITY, -INFINITY, NAN, -NAN};
  mrpc_buf buf;
  mrpc_buf_init(&buf, &mem, SIZE_MAX);
  for (size_t i = 0; i < 4; i++)
    ok(mrpc_json_write_double(&buf, values[i]) == MRPC_ETYPE && buf.len == 0,
       "%f isn't written", values[i]);
  mrpc_buf_clear(&buf);
}

static void scenario(oom *o) {
  mrpc_mem failing = {oom_alloc, o};
  mrpc_buf buf;
  char text[2000];
  memset(text, 'x', sizeof text);
  mrpc_buf_init(&buf, &failing, 100000);
  for (size_t i = 0; i < 3; i++) {
    memset(text + 300 * i, '\1', 300); /* needs six times the room */
    int code = mrpc_json_write_string(&buf, text, sizeof text);
    if (code != buf.err) o->live++;
    mrpc_json_write_int(&buf, INT64_MIN);
    mrpc_json_write_double(&buf, 0.1);
    mrpc_json_write_text(&buf, "\xff", 1);
  }
  if (!o->hit && buf.len != 3 * (2000 + 2 + 20 + 3 + 5) + 5 * 1800) o->live++;
  mrpc_buf_clear(&buf);
}

int main(void) {
  test_strings();
  test_text();
  test_ints();
  test_doubles("in the C locale");
  test_not_finite();
  if (setlocale(LC_ALL, "de_DE.UTF-8")) {
    test_ints();
    test_doubles("in German");
  } else {
    printf("# no locale de_DE.UTF-8: left out\n");
  }
  oom_each("write", scenario, false);
  oom_each("write, all fail from there", scenario, true);
  return tap_finish();
}
