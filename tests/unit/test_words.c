/* SPDX-License-Identifier: MIT */
#include "transport/words.h"

#include <stdlib.h>

#include "moonrpc.h"
#include "tap.h"

/* Cuts `text`; the words in brackets, or the result code. */
static const char *cut(const char *text) {
  static char out[400];
  char copy[200], *words[6];
  snprintf(copy, sizeof copy, "%s", text);
  int rc = mrpc_words_split(copy, words, 6);
  out[0] = '\0';
  if (rc) snprintf(out, sizeof out, "%d", rc);
  for (size_t i = 0, at = 0; !rc && words[i]; i++)
    at += (size_t)snprintf(out + at, sizeof out - at, "[%s]", words[i]);
  return out;
}

int main(void) {
  is_str(cut(""), "", "nothing");
  is_str(cut(" \t\r\n"), "", "blanks");
  is_str(cut("ls"), "[ls]", "one word");
  is_str(cut("  ls  -l\t/tmp "), "[ls][-l][/tmp]", "some");
  is_str(cut("a 'b  c' d"), "[a][b  c][d]", "single quotes");
  is_str(cut("a 'b\\' d"), "[a][b\\][d]", "in which a backslash is one");
  is_str(cut("a \"b  'c\" d"), "[a][b  'c][d]", "double quotes");
  is_str(cut("\"a\\\"b\\\\c\\d\""), "[a\"b\\c\\d]", "with what they escape");
  is_str(cut("a\\ b\\'c \\\\"), "[a b'c][\\]", "backslashes");
  is_str(cut("a'b'\"c\"d"), "[abcd]", "parts are joined");
  is_str(cut("'' \"\" x"), "[][][x]", "empty words");
  is_str(cut("$HOME *|;>"), "[$HOME][*|;>]", "no shell");
  is_str(cut("'a b'"), "[a b]", "a quoted word at the end");
  is_str(cut("a b c d e"), "[a][b][c][d][e]", "as many as there is room for");
  ok(atoi(cut("a b c d e f")) == MRPC_ELIMIT, "too many");
  ok(atoi(cut("a 'b")) == MRPC_ESYNTAX, "an open quote");
  ok(atoi(cut("a \"b\\\"")) == MRPC_ESYNTAX, "an open double quote");
  ok(atoi(cut("\"")) == MRPC_ESYNTAX, "nothing but a quote");
  ok(atoi(cut("a\\")) == MRPC_ESYNTAX, "a lone backslash");
  return tap_finish();
}
