/* SPDX-License-Identifier: MIT
 *
 * Numbers between text and machine: against bits that are written down, against
 * the C library on many random ones, and to and fro a million times; in a
 * locale with another decimal point, too. */
#include <locale.h>
#include <math.h>
#include <time.h>

#include "json.h"
#include "tap.h"

#define CORPUS "../shared/corpora/json/numbers/"

static mrpc_mem mem = {mrpc_mem_default, NULL};
static mrpc_doc doc;

static uint64_t bits_of(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static double of_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* xorshift: the same numbers in every run. */
static uint64_t next_random(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  return *x ^= *x << 17;
}

/* The grammar of RFC 8259, section 6, once more and in another way. */
static bool is_number(const char *text, size_t len) {
  size_t i = len > 0 && text[0] == '-', start = i;
  i += strspn(text + i, "0123456789");
  if (i == start || (text[start] == '0' && i > start + 1)) return false;
  if (text[i] == '.') {
    start = ++i;
    i += strspn(text + i, "0123456789");
    if (i == start) return false;
  }
  if (text[i] == 'e' || text[i] == 'E') {
    i++;
    if (text[i] == '+' || text[i] == '-') i++;
    start = i;
    i += strspn(text + i, "0123456789");
    if (i == start) return false;
  }
  return i == len;
}

/* Does the parser make these bits of the text, infinity meaning that it
 * refuses it? */
static bool reads_as(const char *text, size_t len, uint64_t want) {
  char *copy;
  int code = json_parse_copy(&doc, text, len, 0, &copy);
  bool good;
  if (!is_number(text, len) || (want << 1) == 0xffe0000000000000) {
    good = code == MRPC_ESYNTAX;
  } else if (code != MRPC_OK) {
    good = false;
  } else if (doc.nodes[0].type == MRPC_JSON_INT) {
    good = bits_of((double)doc.nodes[0].u.i) == want;
  } else {
    good = bits_of(doc.nodes[0].u.d) == want;
  }
  free(copy);
  if (!good)
    printf("# %.*s should be %016llx\n", len < 200 ? (int)len : 200, text,
           (unsigned long long)want);
  return good;
}

/* Lines of "f16 f32 f64 text", the bits in hexadecimal. */
static void test_corpus(const char *name) {
  char path[256];
  size_t len, count = 0, wrong = 0;
  snprintf(path, sizeof path, CORPUS "%s.txt", name);
  char *text = json_read_file(path, &len);
  if (!text) {
    printf("# %s isn't here: left out\n", path);
    return;
  }
  char *line = text, *end = text + len;
  for (char *next;
       line < end && (next = memchr(line, '\n', (size_t)(end - line)));
       line = next + 1) {
    *next = '\0';
    if (next - line < 32) continue;
    uint64_t want = strtoull(line + 14, NULL, 16);
    wrong += !reads_as(line + 31, (size_t)(next - line) - 31, want);
    count++;
  }
  ok(count > 0 && wrong == 0, "%zu strings of %s", count, name);
  free(text);
}

static void test_corpora(void) {
  test_corpus("freetype-2-7");
  test_corpus("google-wuffs");
  test_corpus("lemire-fast-float");
  test_corpus("more-test-cases");
  test_corpus("tencent-rapidjson");
}

static void test_bits(void) {
  static const struct {
    const char *text;
    uint64_t bits;
  } cases[] = {
      {"-0", 0x8000000000000000},
      {"-0.0e-999", 0x8000000000000000},
      {"0e99999999999999999999999", 0},
      {"1e-99999999999999999999999", 0},
      {"1e99999999999999999999999", 0x7ff0000000000000},
      {"-1e309", 0xfff0000000000000},
      {"9007199254740993", 0x4340000000000000},
      {"9007199254740993.0", 0x4340000000000000},
      {"9007199254740993.00000000000000000000000000001", 0x4340000000000001},
      {"9007199254740995.0", 0x4340000000000002},
      {"9223372036854775808", 0x43e0000000000000},
      {"18446744073709551616", 0x43f0000000000000},
      {"1.7976931348623157e308", 0x7fefffffffffffff},
      {"1.7976931348623158e308", 0x7fefffffffffffff},
      {"1.7976931348623159e308", 0x7ff0000000000000},
      {"2.2250738585072011e-308", 0x000fffffffffffff},
      {"2.2250738585072012e-308", 0x0010000000000000},
      {"4.9406564584124654e-324", 1},
      {"2.4703282292062327e-324", 0},
      {"2.4703282292062328e-324", 1},
      {"6.631236846766476e-316", 0x0000000008000000},
      {"1e23", 0x44b52d02c7e14af6},
      {"0.1", 0x3fb999999999999a},
      {"1.00000000000000011102230246251565404236316680908203125",
       0x3ff0000000000000},
      {"1.00000000000000011102230246251565404236316680908203124",
       0x3ff0000000000000},
      {"1.00000000000000011102230246251565404236316680908203126",
       0x3ff0000000000001},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    ok(reads_as(cases[i].text, strlen(cases[i].text), cases[i].bits), "%s",
       cases[i].text);
}

/* Between doubles, exactly: the digits of the middle, then the same with more
 * behind, however far away. */
static void test_long(void) {
  /* The middle between 1 and the next double: 1 + 2^-53. */
  static const char middle[] =
      "1.00000000000000011102230246251565404236316680908203125";
  enum { SIZE = 1 << 20 };
  char *text = calloc(SIZE + 1, 1);
  if (!text) abort();
  memset(text, '0', SIZE);
  memcpy(text, middle, strlen(middle));
  ok(reads_as(text, SIZE, 0x3ff0000000000000), "a tie of a million digits");
  text[SIZE - 1] = '1';
  ok(reads_as(text, SIZE, 0x3ff0000000000001), "and a little above it");
  memset(text, '9', SIZE);
  ok(reads_as(text, SIZE, 0x7ff0000000000000), "a million nines");
  memset(text, '0', SIZE);
  memcpy(text, "0.", 2);
  memcpy(text + SIZE - 9, "1e1048566", 9);
  ok(reads_as(text, SIZE, 0x3ff0000000000000),
     "a million zeros that the exponent makes up for");
  memset(text, '7', SIZE);
  memcpy(text + SIZE - 9, "e-1048566", 9);
  ok(reads_as(text, SIZE, bits_of(7.7777777777777777777777)),
     "a million sevens with the point behind the first");
  memset(text + 1, '0', SIZE - 1);
  text[0] = '1';
  memcpy(text + SIZE - 20, "e-999999999999999999", 20);
  ok(reads_as(text, SIZE, 0), "an exponent of eighteen digits");
  free(text);
}

static size_t multiply(uint8_t *digits, size_t count, uint64_t factor) {
  uint64_t carry = 0;
  for (size_t i = 0; i < count || carry; i++) {
    if (i == count) digits[count++] = 0;
    carry += digits[i] * factor;
    digits[i] = (uint8_t)(carry % 10);
    carry /= 10;
  }
  return count;
}

/* The middle between the doubles of bits i and i + 1, which are subnormal or
 * just above: (2i + 1) * 2^-1075, which is (2i + 1) * 5^1075 * 10^-1075. It has
 * up to 767 digits, and each counts. */
static bool check_middle(uint64_t i) {
  uint8_t digits[1200] = {1};
  char text[1300], *to = text;
  size_t count = multiply(digits, 1, 2 * i + 1);
  for (int n = 0; n < 1075; n++) count = multiply(digits, count, 5);
  for (size_t n = count; n > 0; n--) *to++ = (char)('0' + digits[n - 1]);
  strcpy(to, "e-1075");
  bool good = reads_as(text, strlen(text), i + (i & 1));
  to[-1]--; /* it was a 5 */
  good &= reads_as(text, strlen(text), i);
  to[-1]++;
  strcpy(to, "00000000000000000000000000000000000000000000000001e-1125");
  return good & reads_as(text, strlen(text), i + 1);
}

static void test_middles(void) {
  uint64_t x = 4711;
  bool good = true;
  for (uint64_t i = 0; i < 20; i++) good &= check_middle(i);
  for (uint64_t i = 1; i < 1ull << 53; i = i * 3 + 1) good &= check_middle(i);
  for (int i = 0; i < 40; i++)
    good &= check_middle(next_random(&x) % (1ull << 53));
  good &= check_middle((1ull << 52) - 1) && check_middle((1ull << 53) - 1);
  ok(good, "the middles between tiny doubles, in all their digits");
}

/* A decimal of up to 30 digits or so, anywhere in the range of double. */
static size_t random_decimal(uint64_t *x, char *out) {
  char *to = out;
  int digits = 1 + (int)(next_random(x) % 30), point = -1;
  if (next_random(x) & 1) *to++ = '-';
  if (next_random(x) & 1) point = (int)(next_random(x) % 30);
  *to++ = (char)('1' + next_random(x) % 9);
  for (int i = 0; i < digits; i++) {
    if (i == point) *to++ = '.';
    *to++ = (char)('0' + next_random(x) % 10);
  }
  int e = (int)(next_random(x) % 680) - 345;
  if (next_random(x) & 3) to += sprintf(to, "e%d", e);
  *to = '\0';
  return (size_t)(to - out);
}

/* The middle between two doubles to `precision` digits, so that much depends
 * on the last ones. */
static size_t random_middle(uint64_t *x, char *out) {
  uint64_t bits = next_random(x) & 0x7fefffffffffffff;
  long double low = of_bits(bits), high = of_bits(bits + 1);
  int precision = 15 + (int)(next_random(x) % 40);
  return (size_t)sprintf(out, "%.*Le", precision, (low + high) / 2);
}

static void test_against_library(void) {
  uint64_t x = 88172645463325252;
  size_t wrong = 0;
  char text[128];
  for (int i = 0; i < 200000; i++) {
    size_t len = i % 2 ? random_decimal(&x, text) : random_middle(&x, text);
    double got, want = strtod(text, NULL);
    bool finite = mrpc_double_read(text, len, &got);
    if (finite != isfinite(want) || (finite && bits_of(got) != bits_of(want)))
      wrong += printf("# %s\n", text) > 0;
  }
  ok(wrong == 0, "200,000 random decimals as strtod reads them");
}

/* Writing. */

/* Kinds of doubles: any bits, few of them, next to powers of two, subnormal,
 * decimal fractions, whole numbers. */
static double random_double(uint64_t *x, unsigned kind) {
  uint64_t bits = next_random(x), more = next_random(x);
  switch (kind % 6) {
    case 0: break;
    case 1: bits &= 0xfff0000000000003; break;
    case 2: bits |= 0x000ffffffffffffc; break;
    case 3: bits &= 0x800fffffffffffff; break;
    case 4: return (double)(int64_t)(bits >> 20) / (double)(1 + more % 100000);
    default: return (double)(int64_t)bits / (double)(1ull << more % 40);
  }
  return isfinite(of_bits(bits)) ? of_bits(bits) : 0.25;
}

static bool round_trips(double value) {
  char text[MRPC_DOUBLE_CHARS];
  double again;
  size_t len = mrpc_double_write(value, text);
  return len <= 26 && mrpc_double_read(text, len, &again) &&
         bits_of(again) == bits_of(value);
}

static void test_round_trips(void) {
  enum { COUNT = 1000000, SECONDS = 10 };
  uint64_t x = 1234567890123456789;
  size_t wrong = 0, count = 0;
  clock_t start = clock();
  for (; count < COUNT; count++) {
    wrong += !round_trips(random_double(&x, (unsigned)count));
    if (count % 1024 == 0 && clock() - start > SECONDS * CLOCKS_PER_SEC) break;
  }
  ok(wrong == 0, "%zu random doubles come back", count);
  wrong = 0;
  for (uint64_t e = 0; e < 0x7ff; e++) {
    wrong += !round_trips(of_bits(e << 52)) + 0u;
    wrong += !round_trips(of_bits((e << 52) + 1)) + 0u;
    wrong += !round_trips(of_bits((e << 52 | 0xfffffffffffff))) + 0u;
  }
  ok(wrong == 0, "all powers of two and their neighbours come back");
}

/* The digits of a written number without point and zeros around. */
static size_t significant(const char *text, size_t len, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < len && text[i] != 'e'; i++)
    if (text[i] >= '0' && text[i] <= '9' && (n > 0 || text[i] != '0'))
      out[n++] = text[i];
  while (n > 0 && out[n - 1] == '0') n--;
  return n;
}

/* As the library finds it by trial: the fewest digits that come back. It rounds
 * to the nearest of so many digits; that is ours, too, but where the double
 * below is nearer than the one above and another has to do. */
static bool is_shortest(double value) {
  char text[MRPC_DOUBLE_CHARS], digits[40], trial[40], want[40];
  size_t n = significant(text, mrpc_double_write(value, text), digits);
  int precision = 0;
  do sprintf(trial, "%.*e", precision++, value);
  while (strtod(trial, NULL) != value);
  size_t m = significant(trial, strlen(trial), want);
  bool narrow = (bits_of(value) & 0xfffffffffffff) == 0;
  return narrow ? n <= m : n == m && memcmp(digits, want, n) == 0;
}

static void test_shortest(void) {
  uint64_t x = 42;
  size_t wrong = 0;
  for (unsigned i = 0; i < 20000; i++) {
    double value = random_double(&x, i);
    bool whole = fabs(value) <= 0x1p53 && value == floor(value);
    if (!whole && !is_shortest(value)) wrong += printf("# %a\n", value) > 0;
  }
  for (uint64_t e = 1; e < 0x7ff; e++) wrong += !is_shortest(of_bits(e << 52));
  for (uint64_t i = 1; i < 2000; i++) wrong += !is_shortest(of_bits(i));
  ok(wrong == 0,
     "20,000 random doubles, powers of two, denormals are shortest");
}

/* Types. */

static void test_types(void) {
  static const struct {
    const char *text;
    uint8_t type;
    int64_t value;
    double d;
  } cases[] = {
      {"9223372036854775807", MRPC_JSON_INT, INT64_MAX, 0},
      {"-9223372036854775808", MRPC_JSON_INT, INT64_MIN, 0},
      {"9223372036854775808", MRPC_JSON_DOUBLE, 0, 9223372036854775808.0},
      {"-9223372036854775809", MRPC_JSON_DOUBLE, 0, -9223372036854775808.0},
      {"9007199254740993", MRPC_JSON_INT, 9007199254740993, 0},
      {"-9007199254740993", MRPC_JSON_INT, -9007199254740993, 0},
      {"0", MRPC_JSON_INT, 0, 0},
      {"-0", MRPC_JSON_DOUBLE, 0, -0.0},
      {"-1", MRPC_JSON_INT, -1, 0},
      {"1.0", MRPC_JSON_DOUBLE, 0, 1},
      {"1e2", MRPC_JSON_DOUBLE, 0, 100},
      {"99999999999999999999", MRPC_JSON_DOUBLE, 0, 1e20},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *text = cases[i].text;
    bool good = mrpc_json_parse(&doc, text, strlen(text), 0) == MRPC_OK &&
                doc.nodes[0].type == cases[i].type;
    if (good && cases[i].type == MRPC_JSON_INT)
      good = doc.nodes[0].u.i == cases[i].value;
    else if (good)
      good = bits_of(doc.nodes[0].u.d) == bits_of(cases[i].d);
    ok(good, "the type of %s", text);
  }
}

int main(void) {
  mrpc_doc_init(&doc, &mem);
  test_against_library();
  test_shortest();
  for (int german = 0; german < 2; german++) {
    if (german && !setlocale(LC_ALL, "de_DE.UTF-8")) {
      printf("# no locale de_DE.UTF-8: left out\n");
      break;
    }
    test_corpora();
    test_bits();
    test_long();
    test_middles();
    test_round_trips();
    test_types();
  }
  mrpc_doc_clear(&doc);
  return tap_finish();
}
