/* SPDX-License-Identifier: MIT
 *
 * The parser on files: ours in tests/json and, where they are, the corpora
 * beside the project. y_ is accepted, n_ refused; what i_ files get is written
 * down below. Every file is parsed whole and cut off at every byte, from
 * memory that ends where the text ends. */
#include <dirent.h>

#include "json.h"
#include "tap.h"

enum { DEPTH = 128, CUT_MAX = 4096 };

#define CORPORA "../shared/corpora/json/"

/* What RFC 8259 leaves open, and what we make of it. */
static const struct verdict {
  const char *name;
  int code;
  const char *why;
} verdicts[] = {
    /* Numbers (section 6): the nearest double, if there is one. */
    {"i_number_double_huge_neg_exp", MRPC_OK, "rounds to 0"},
    {"i_number_real_underflow", MRPC_OK, "rounds to 0"},
    {"i_number_too_big_neg_int", MRPC_OK, "a double"},
    {"i_number_too_big_pos_int", MRPC_OK, "a double"},
    {"i_number_very_big_negative_int", MRPC_OK, "a double"},
    {"i_number_integer_as_double", MRPC_OK, "a double"},
    {"i_number_precision_lost", MRPC_OK, "rounds"},
    {"i_number_huge_exp", MRPC_ESYNTAX, "beyond double"},
    {"i_number_neg_int_huge_exp", MRPC_ESYNTAX, "beyond double"},
    {"i_number_pos_double_huge_exp", MRPC_ESYNTAX, "beyond double"},
    {"i_number_real_neg_overflow", MRPC_ESYNTAX, "beyond double"},
    {"i_number_real_pos_overflow", MRPC_ESYNTAX, "beyond double"},
    {"i_number_beyond_double", MRPC_ESYNTAX, "beyond double"},
    {"i_number_minus_beyond_double", MRPC_ESYNTAX, "beyond double"},
    {"i_number_just_beyond_double", MRPC_ESYNTAX, "beyond double"},
    {"i_number_beyond_double_long", MRPC_ESYNTAX, "beyond double"},
    {"i_number_beyond_double_exponent", MRPC_ESYNTAX, "beyond double"},
    /* Escapes (section 8.2): half a surrogate pair is no character. */
    {"i_object_key_lone_2nd_surrogate", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_1st_surrogate_but_2nd_missing", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_1st_valid_surrogate_2nd_invalid", MRPC_ESYNTAX,
     "lone surrogate"},
    {"i_string_incomplete_surrogate_and_escape_valid", MRPC_ESYNTAX,
     "lone surrogate"},
    {"i_string_incomplete_surrogate_pair", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_incomplete_surrogates_escape_valid", MRPC_ESYNTAX,
     "lone surrogate"},
    {"i_string_invalid_lonely_surrogate", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_invalid_surrogate", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_inverted_surrogates_U+1D11E", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_lone_second_surrogate", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_lone_first_surrogate", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_surrogates_swapped", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_first_surrogate_then_letter", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_first_surrogate_then_escape", MRPC_ESYNTAX, "lone surrogate"},
    {"i_string_two_first_surrogates", MRPC_ESYNTAX, "lone surrogate"},
    {"i_name_lone_surrogate", MRPC_ESYNTAX, "lone surrogate"},
    /* Encoding (section 8.1): UTF-8 only, without a byte order mark. */
    {"i_string_UTF-8_invalid_sequence", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_UTF8_surrogate_U+D800", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_invalid_utf-8", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_iso_latin_1", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_lone_utf8_continuation_byte", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_not_in_unicode_range", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_overlong_sequence_2_bytes", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_overlong_sequence_6_bytes", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_overlong_sequence_6_bytes_null", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_truncated-utf-8", MRPC_ESYNTAX, "invalid UTF-8"},
    {"i_string_UTF-16LE_with_BOM", MRPC_ESYNTAX, "UTF-16"},
    {"i_string_utf16BE_no_BOM", MRPC_ESYNTAX, "UTF-16"},
    {"i_string_utf16LE_no_BOM", MRPC_ESYNTAX, "UTF-16"},
    {"i_utf16le", MRPC_ESYNTAX, "UTF-16"},
    {"i_utf16be_without_mark", MRPC_ESYNTAX, "UTF-16"},
    {"i_structure_UTF-8_BOM_empty_object", MRPC_ESYNTAX, "byte order mark"},
    {"i_byte_order_mark", MRPC_ESYNTAX, "byte order mark"},
    /* Depth (section 9) and names (section 4). */
    {"i_structure_500_nested_arrays", MRPC_ELIMIT, "deeper than the limit"},
    {"i_array_depth_129", MRPC_ELIMIT, "deeper than the limit"},
    {"i_object_depth_129", MRPC_ELIMIT, "deeper than the limit"},
    {"i_object_same_names", MRPC_OK, "who reads them decides"},
};

static mrpc_doc doc;

/* One of the files must be refused, or accepted with sound nodes. */
static const char *check_text(const char *text, size_t len, bool want) {
  char *copy;
  const char *fault = NULL;
  int code = json_parse_copy(&doc, text, len, DEPTH, &copy);
  if ((code == MRPC_OK) != want)
    fault = code ? doc.error : "it is accepted";
  else if (code && (!doc.error || doc.error_at > len || doc.count))
    fault = "the error isn't told";
  else if (code == MRPC_OK)
    fault = json_check_nodes(&doc);
  if (!fault && code == MRPC_OK) fault = json_check_written(&doc);
  free(copy);
  return fault;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What is cut off must be refused, but for numbers at the root and blanks at
 * the end; of bad texts some beginnings may be good. */
static const char *check_cuts(const char *text, size_t len, bool good) {
  char *copy;
  const char *fault = NULL;
  size_t whole = len, first = 0;
  while (whole > 0 && is_blank(text[whole - 1])) whole--;
  while (first < len && is_blank(text[first])) first++;
  bool number = first < len && (text[first] == '-' || text[first] <= '9') &&
                text[first] != '"';
  for (size_t cut = 0; cut < len && !fault; cut++) {
    int code = json_parse_copy(&doc, text, cut, DEPTH, &copy);
    if (code == MRPC_OK) fault = json_check_nodes(&doc);
    if (code == MRPC_OK && good && !number && cut < whole)
      fault = "it is accepted when cut off";
    free(copy);
  }
  return fault;
}

static bool check_file(const char *folder, const char *name, bool want) {
  char path[512];
  size_t len;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  char *text = json_read_file(path, &len);
  const char *fault = text ? check_text(text, len, want) : "it can't be read";
  if (!fault && len < CUT_MAX) fault = check_cuts(text, len, want);
  if (fault) printf("# %s: %s\n", name, fault);
  free(text);
  return fault == NULL;
}

static const struct verdict *find_verdict(const char *name) {
  size_t len = strlen(name) - strlen(".json");
  for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
    if (strlen(verdicts[i].name) == len &&
        memcmp(verdicts[i].name, name, len) == 0)
      return &verdicts[i];
  return NULL;
}

static void test_undecided(const char *folder, const char *name) {
  const struct verdict *verdict = find_verdict(name);
  if (!ok(verdict != NULL, "%s has a verdict", name)) return;
  bool good = check_file(folder, name, verdict->code == MRPC_OK);
  char path[512];
  size_t len;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  char *text = json_read_file(path, &len);
  int code = text ? mrpc_json_parse(&doc, text, len, DEPTH) : 1;
  ok(good && code == verdict->code, "%s: %s", name, verdict->why);
  free(text);
}

static int is_json(const struct dirent *entry) {
  size_t len = strlen(entry->d_name);
  return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

/* All files of a folder by the beginning of their names: those that begin with
 * `good` are to be accepted, with `bad` refused. */
static void test_folder(const char *folder, const char *good, const char *bad) {
  struct dirent **entries;
  int count = scandir(folder, &entries, is_json, alphasort);
  size_t accepted = 0, refused = 0, wrong = 0;
  if (count <= 0) printf("# %s isn't here: left out\n", folder);
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    bool want = strncmp(name, good, strlen(good)) == 0;
    if (strstr(name, "EXCLUDE")) {
      printf("# %s: left out, as its collection says\n", name);
    } else if (strncmp(name, "i_", 2) == 0) {
      test_undecided(folder, name);
    } else if (want || strncmp(name, bad, strlen(bad)) == 0) {
      wrong += !check_file(folder, name, want);
      accepted += want;
      refused += !want;
    }
    free(entries[i]);
  }
  if (count > 0) free(entries);
  if (count > 0)
    ok(wrong == 0, "%s: %zu accepted, %zu refused", folder, accepted, refused);
}

/* Compact texts that come out byte for byte as they went in. */
static void test_round_trips(void) {
  static const char folder[] = CORPORA "nativejson/roundtrip";
  struct dirent **entries;
  int count = scandir(folder, &entries, is_json, alphasort);
  if (count <= 0) printf("# %s isn't here: left out\n", folder);
  for (int i = 0; i < count; i++) {
    char path[512];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    char *text = json_read_file(path, &len);
    mrpc_buf out;
    mrpc_buf_init(&out, doc.mem, 1 << 20);
    if (text && mrpc_json_parse(&doc, text, len, DEPTH) == MRPC_OK)
      json_write(&doc, 0, &out);
    /* The one exception is our policy: a whole double has no fraction. */
    bool whole = text && len == 5 && memcmp(text, "[0.0]", 5) == 0;
    is_bytes(out.data, out.len, whole ? "[0]" : text, whole ? 3 : len,
             entries[i]->d_name);
    mrpc_buf_clear(&out);
    free(text);
    free(entries[i]);
  }
  if (count > 0) free(entries);
}

static void test_documents(void) {
  static const char *const names[] = {"twitter", "citm_catalog", "canada"};
  for (size_t i = 0; i < 3; i++) {
    char path[512];
    size_t len;
    snprintf(path, sizeof path, CORPORA "nativejson/%s.json", names[i]);
    char *text = json_read_file(path, &len);
    if (!text) {
      printf("# %s isn't here: left out\n", path);
      continue;
    }
    const char *fault = check_text(text, len, true);
    ok(!fault, "%s: %s", names[i], fault ? fault : "the same when written");
    free(text);
  }
}

int main(void) {
  mrpc_mem mem = {mrpc_mem_default, NULL};
  mrpc_doc_init(&doc, &mem);
  test_folder("tests/json", "y_", "n_");
  test_folder(CORPORA "JSONTestSuite", "y_", "n_");
  test_folder(CORPORA "nativejson/jsonchecker", "pass", "fail");
  test_round_trips();
  test_documents();
  mrpc_doc_clear(&doc);
  return tap_finish();
}
