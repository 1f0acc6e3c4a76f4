/* SPDX-License-Identifier: MIT
 *
 * The parser on texts: what nodes they make, what errors they get and where,
 * how deep they may nest, and that memory is reused and may run out. */
#include <pthread.h>

#include "json.h"
#include "oom.h"
#include "tap.h"

#define SPAN(text) text, sizeof(text) - 1

static mrpc_mem mem = {mrpc_mem_default, NULL};

static void test_nodes(void) {
  static const char text[] =
      " {\"a\" : [1, -0, 2.5, \"x\\ny\"],\"\":{} , "
      "\"b\":[[],null,true,false]} ";
  static const struct {
    uint8_t type;
    uint32_t size, next;
  } want[] = {
      {MRPC_JSON_OBJECT, 3, 15}, {MRPC_JSON_STRING, 1, 0},
      {MRPC_JSON_ARRAY, 4, 7},   {MRPC_JSON_INT, 9, 0},
      {MRPC_JSON_DOUBLE, 12, 0}, {MRPC_JSON_DOUBLE, 16, 0},
      {MRPC_JSON_STRING, 4, 0},  {MRPC_JSON_STRING, 0, 0},
      {MRPC_JSON_OBJECT, 0, 9},  {MRPC_JSON_STRING, 1, 0},
      {MRPC_JSON_ARRAY, 4, 15},  {MRPC_JSON_ARRAY, 0, 12},
      {MRPC_JSON_NULL, 45, 0},   {MRPC_JSON_TRUE, 50, 0},
      {MRPC_JSON_FALSE, 55, 0},
  };
  mrpc_doc doc;
  mrpc_doc_init(&doc, &mem);
  ok(mrpc_json_parse(&doc, SPAN(text), 3) == MRPC_OK, "a text of every type");
  ok(doc.count == 15, "has 15 nodes");
  for (uint32_t i = 0; i < doc.count && i < 15; i++) {
    const mrpc_node *node = &doc.nodes[i];
    ok(node->type == want[i].type && node->size == want[i].size &&
           mrpc_doc_next(&doc, i) == (want[i].next ? want[i].next : i + 1),
       "node %u", i);
  }
  ok(doc.nodes[3].u.i == 1 && doc.nodes[5].u.d == 2.5, "its numbers");
  ok(doc.nodes[4].u.d == 0 && 1 / doc.nodes[4].u.d < 0, "-0 is a double");
  ok(!(doc.nodes[1].flags & MRPC_JSON_ESCAPED) &&
         (doc.nodes[6].flags & MRPC_JSON_ESCAPED),
     "the string with an escape is marked");
  mrpc_doc_clear(&doc);
  ok(doc.count == 0 && doc.nodes == NULL, "cleared");
}

/* Where the value at node `i`, whose text begins at `start`, isn't `want`. */
static bool is_same(const mrpc_doc *doc, uint32_t i, size_t start,
                    const mrpc_node *want, size_t want_len) {
  size_t len;
  const mrpc_node *node = &doc->nodes[i];
  const char *raw = mrpc_doc_raw(doc, i, &len);
  return node->type == want->type && node->flags == want->flags &&
         raw == doc->text + start && len == want_len &&
         (node->type == MRPC_JSON_STRING ? node->size == want->size
                                         : node->u.i == want->u.i);
}

/* The parser has short ways for what is short, plain, or not near the end of
 * the text. Whatever way a value takes, its node must be the same. */
static void test_ways(void) {
  static const char *const values[] = {
      "0",
      "7",
      "-1",
      "-0",
      "42",
      "123",
      "1234",
      "-1234",
      "12345678",
      "123456789",
      "999999999999999999",
      "9223372036854775807",
      "-9223372036854775808",
      "9223372036854775808",
      "0.5",
      "1.25",
      "12.5e3",
      "-123.0",
      "1234.5",
      "1e5",
      "123E-2",
      "12345678901234567890",
      "true",
      "false",
      "null",
      "\"\"",
      "\"a\"",
      "\"fifteen bytes..\"",
      "\"sixteen bytes...\"",
      "\"seventeen bytes..\"",
      "\"esc\\n\"",
      "\"fourteen bytes\\\\\"",
      "\"gr\xc3\xbc\xc3\x9f\"",
      "\"a string of more than thirty-two bytes\""};
  static const char *const around[][2] = {
      {"[", "]"},
      {"[[0],", ",\"0123456789abcdef0123456789abcdef\"]"},
      {"{\"k\":", "}"},
      {"[ ", " , 1 ]"}};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    mrpc_doc doc;
    mrpc_doc_init(&doc, &mem);
    size_t len = strlen(values[i]);
    bool same = mrpc_json_parse(&doc, values[i], len, 9) == MRPC_OK;
    const mrpc_node want = doc.nodes[0];
    for (size_t k = 0; same && k < sizeof around / sizeof *around; k++) {
      char text[128], *copy;
      int n = snprintf(text, sizeof text, "%s%s%s", around[k][0], values[i],
                       around[k][1]);
      uint32_t node = k == 1 ? 3 : k == 2 ? 2 : 1;
      same = json_parse_copy(&doc, text, (size_t)n, 9, &copy) == MRPC_OK &&
             is_same(&doc, node, strlen(around[k][0]), &want, len);
      free(copy);
    }
    ok(same, "%s is the same everywhere", values[i]);
    mrpc_doc_clear(&doc);
  }
}

static void test_raw(void) {
  static const char text[] =
      "\n{\"k\" :\t[1,2] ,\"m\":{\"n\":-1.5e+3},\"s\":\"\\\"]\",\"t\":true}\r";
  static const struct {
    uint32_t node;
    const char *raw;
  } want[] = {
      {0, "{\"k\" :\t[1,2] ,\"m\":{\"n\":-1.5e+3},\"s\":\"\\\"]\",\"t\":true}"},
      {1, "\"k\""},
      {2, "[1,2]"},
      {3, "1"},
      {4, "2"},
      {5, "\"m\""},
      {6, "{\"n\":-1.5e+3}"},
      {8, "-1.5e+3"},
      {10, "\"\\\"]\""},
      {12, "true"},
  };
  mrpc_doc doc;
  size_t len;
  mrpc_doc_init(&doc, &mem);
  ok(mrpc_json_parse(&doc, SPAN(text), 9) == MRPC_OK, "a text for raw spans");
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
    const char *raw = mrpc_doc_raw(&doc, want[i].node, &len);
    is_bytes(raw, len, want[i].raw, strlen(want[i].raw), want[i].raw);
  }
  mrpc_json_parse(&doc, SPAN(" 12e1"), 0);
  const char *raw = mrpc_doc_raw(&doc, 0, &len);
  is_bytes(raw, len, "12e1", 4, "a number that ends with the text");
  mrpc_doc_clear(&doc);
}

static void test_strings(void) {
  static const struct {
    const char *text, *plain;
    size_t len;
  } cases[] = {
      {"\"\"", SPAN("")},
      {"\"abc\"", SPAN("abc")},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", SPAN("\"\\/\b\f\n\r\t")},
      {"\"\\u0000\"", SPAN("\0")},
      {"\"\\u007F\\u0080\"", SPAN("\x7f\xc2\x80")},
      {"\"\\u07fF\\u0800\"", SPAN("\xdf\xbf\xe0\xa0\x80")},
      {"\"\\uD7FF\\uE000\\uffff\"",
       SPAN("\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf")},
      {"\"\\uD800\\uDC00\\udbff\\udfff\"",
       SPAN("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")},
      {"\"a long string with one escape\\tin its middle, and so on\"",
       SPAN("a long string with one escape\tin its middle, and so on")},
      {"\"\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\nx\"",
       SPAN("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nx")},
  };
  mrpc_doc doc;
  mrpc_doc_init(&doc, &mem);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *copy;
    bool good = json_parse_copy(&doc, cases[i].text, strlen(cases[i].text), 0,
                                &copy) == MRPC_OK;
    good = good && mrpc_doc_string_is(&doc, 0, cases[i].plain, cases[i].len);
    ok(good && !json_check_nodes(&doc), "reads as it should: %s",
       cases[i].text);
    free(copy);
  }
  mrpc_json_parse(&doc, SPAN("[1]"), 1);
  ok(!mrpc_doc_string_is(&doc, 0, "", 0) &&
         !mrpc_doc_string_is(&doc, 1, "1", 1),
     "what isn't a string reads as none");
  mrpc_doc_clear(&doc);
}

static void test_errors(void) {
  static const struct {
    const char *text, *what;
    size_t at;
  } cases[] = {
      {"", "unexpected end of text", 0},
      {"  ", "unexpected end of text", 2},
      {"[", "unexpected end of text", 1},
      {"[1", "unexpected end of text", 2},
      {"[1,", "unexpected end of text", 3},
      {"{\"a\"", "unexpected end of text", 4},
      {"{\"a\": ", "unexpected end of text", 6},
      {"[[1] ", "unexpected end of text", 4},
      {"\"abc", "unexpected end of text", 4},
      {"[\"abc]", "unexpected end of text", 6},
      {"-", "unexpected end of text", 1},
      {"1.", "unexpected end of text", 2},
      {"[1 2]", "expected a comma or ]", 3},
      {"{\"a\":1 2}", "expected a comma or }", 7},
      {"[1}", "expected a comma or ]", 2},
      {"[,]", "expected a value", 1},
      {"[tru]", "expected a value", 1},
      {"{1:2}", "expected a member name", 1},
      {"{\"a\":1,}", "expected a member name", 7},
      {"{\"a\" 1}", "expected a colon", 5},
      {"[1] 2", "more than one value", 4},
      {"1 ]", "more than one value", 2},
      {"[1]]", "more than one value", 3},
      {"[01]", "invalid number", 1},
      {"[-a]", "invalid number", 2},
      {"[1.]", "invalid number", 3},
      {"[1e+]", "invalid exponent", 2},
      {"[1e999]", "number out of range", 1},
      {"[\"\\x\"]", "invalid escape in a string", 2},
      {"[\"\\u12\"]", "invalid escape in a string", 2},
      {"[\"\\ud800\"]", "lone surrogate in a string", 2},
      {"[\"a\tb\"]", "control character in a string", 3},
      {"[\"\xff\"]", "invalid UTF-8 in a string", 2},
  };
  mrpc_doc doc;
  mrpc_doc_init(&doc, &mem);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *copy;
    int code =
        json_parse_copy(&doc, cases[i].text, strlen(cases[i].text), 9, &copy);
    if (!ok(code == MRPC_ESYNTAX && strcmp(doc.error, cases[i].what) == 0 &&
                doc.error_at == cases[i].at,
            "%s at %zu", cases[i].what, cases[i].at))
      printf("# %d %s at %zu\n", code, doc.error, doc.error_at);
    free(copy);
  }
  ok(mrpc_json_parse(&doc, NULL, 0, 9) == MRPC_ESYNTAX && doc.error_at == 0,
     "no text is an empty text");
  ok(mrpc_json_parse(&doc, "", UINT32_MAX, 9) == MRPC_ELIMIT,
     "a text of 4 GiB is too long");
  ok(mrpc_json_parse(&doc, SPAN("[1]"), 9) == MRPC_OK && !doc.error,
     "a good text has no error");
  mrpc_doc_clear(&doc);
}

/* Depth. */

static void test_depth(void) {
  mrpc_doc doc;
  mrpc_doc_init(&doc, &mem);
  ok(mrpc_json_parse(&doc, SPAN("1"), 0) == MRPC_OK, "depth 0: scalars");
  ok(mrpc_json_parse(&doc, SPAN("[]"), 0) == MRPC_ELIMIT, "depth 0: no array");
  ok(mrpc_json_parse(&doc, SPAN("[{},[]]"), 2) == MRPC_OK, "depth 2: 2 levels");
  ok(mrpc_json_parse(&doc, SPAN("[[],[[]]]"), 2) == MRPC_ELIMIT,
     "depth 2: not 3 levels");
  ok(doc.error_at == 5 && doc.count == 0, "the bracket too much is told");
  mrpc_doc_clear(&doc);
}

enum { MILLION = 1000000, STACK = 128 * 1024 };

static char *repeat(const char *what, size_t count, const char *then,
                    size_t *len) {
  size_t size = strlen(what);
  *len = (size + strlen(then)) * count;
  char *text = malloc(*len + 1), *to = text;
  if (!text) abort();
  for (size_t i = 0; i < count; i++, to += size) memcpy(to, what, size);
  for (size_t i = 0; i < count; i++) to = stpcpy(to, then);
  return text;
}

/* Runs on a stack that a level of recursion a bracket would soon exhaust. */
static void *nest(void *ud) {
  static const char *const open[] = {"[", "{\"\":", "[{\"a\":"};
  mrpc_doc *doc = ud;
  size_t len;
  for (size_t i = 0; i < 3; i++) {
    char *text = repeat(open[i], MILLION, "", &len);
    ok(mrpc_json_parse(doc, text, len, 128) == MRPC_ELIMIT,
       "a million of %s is too deep", open[i]);
    ok(doc->cap < 1024, "and needs no memory");
    ok(mrpc_json_parse(doc, text, len, MRPC_UNLIMITED) == MRPC_ESYNTAX &&
           doc->error_at == len,
       "with no limit it lacks its end");
    free(text);
    mrpc_doc_clear(doc);
  }
  char *text = repeat("[", MILLION, "]", &len);
  ok(mrpc_json_parse(doc, text, len, MILLION) == MRPC_OK &&
         doc->count == MILLION && doc->nodes[0].u.at.next == MILLION,
     "a million arrays are parsed where the limit lets them");
  ok(mrpc_json_parse(doc, text, len, MILLION - 1) == MRPC_ELIMIT,
     "and no more than that");
  free(text);
  return NULL;
}

static void test_stack(void) {
  pthread_attr_t attr;
  pthread_t thread;
  mrpc_doc doc;
  mrpc_doc_init(&doc, &mem);
  pthread_attr_init(&attr);
  bool small = pthread_attr_setstacksize(&attr, STACK) == 0;
  bool ran = pthread_create(&thread, &attr, nest, &doc) == 0 &&
             pthread_join(thread, NULL) == 0;
  ok(small && ran, "all that on a stack of 128 KiB");
  pthread_attr_destroy(&attr);
  mrpc_doc_clear(&doc);
}

/* Memory. */

static void test_reuse(void) {
  oom o = {0};
  mrpc_mem counting = {oom_alloc, &o};
  mrpc_doc doc;
  size_t len;
  char *text = repeat("[", 500, "]", &len);
  mrpc_doc_init(&doc, &counting);
  ok(o.count == 0, "no memory before the first text");
  ok(mrpc_json_parse(&doc, text, len, 500) == MRPC_OK, "a long text");
  size_t before = o.count;
  ok(before > 1 && before < 10, "for which the memory has doubled");
  ok(mrpc_json_parse(&doc, SPAN("[1,2,3]"), 9) == MRPC_OK &&
         mrpc_json_parse(&doc, text, len - 1, 500) == MRPC_ESYNTAX &&
         mrpc_json_parse(&doc, text, len, 500) == MRPC_OK && doc.count == 500,
     "further texts");
  ok(o.count == before, "take the same memory");
  mrpc_doc_clear(&doc);
  ok(o.live == 0, "which is given back");
  free(text);
}

/* Parses and writes; what fails must have said so. */
static void scenario(oom *o) {
  mrpc_mem failing = {oom_alloc, o};
  mrpc_doc doc;
  mrpc_buf out;
  size_t len;
  char *text = repeat("[\"a\\u0041\",1.5,", 100, "]", &len);
  text[len - 101] = ' '; /* the last comma */
  mrpc_doc_init(&doc, &failing);
  mrpc_buf_init(&out, &failing, SIZE_MAX);
  for (size_t i = 0; i < 3; i++) {
    int code = mrpc_json_parse(&doc, text, len, 500);
    if (code == MRPC_ENOMEM && (doc.count || !doc.error)) o->live++;
    if (code == MRPC_OK) json_write(&doc, 0, &out);
  }
  mrpc_buf_clear(&out);
  mrpc_doc_clear(&doc);
  free(text);
}

int main(void) {
  test_nodes();
  test_ways();
  test_raw();
  test_strings();
  test_errors();
  test_depth();
  test_stack();
  test_reuse();
  oom_each("parse and write", scenario, false);
  oom_each("parse and write, all fail from there", scenario, true);
  return tap_finish();
}
