/* SPDX-License-Identifier: MIT
 *
 * What a word means is never longer than how it is written, so the words are
 * written over the text that they are read from. */
#include "transport/words.h"

#include <stdbool.h>

#include "moonrpc.h"

typedef struct cursor {
  const char *from;
  char *to;
} cursor;

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The character behind a backslash. */
static int take_escaped(cursor *c) {
  if (!c->from[1]) return MRPC_ESYNTAX;
  *c->to++ = c->from[1];
  c->from += 2;
  return MRPC_OK;
}

/* Between double quotes a backslash quotes only itself and the quote. */
static int take_quoted(cursor *c) {
  char quote = *c->from++;
  while (*c->from != quote) {
    char next = *c->from ? c->from[1] : '\0';
    if (!*c->from) return MRPC_ESYNTAX;
    if (quote == '"' && *c->from == '\\' && (next == '"' || next == '\\'))
      c->from++;
    *c->to++ = *c->from++;
  }
  c->from++;
  return MRPC_OK;
}

static int take_word(cursor *c) {
  int rc = MRPC_OK;
  while (!rc && *c->from && !is_blank(*c->from)) {
    if (*c->from == '\\')
      rc = take_escaped(c);
    else if (*c->from == '"' || *c->from == '\'')
      rc = take_quoted(c);
    else
      *c->to++ = *c->from++;
  }
  return rc;
}

int mrpc_words_split(char *text, char **words, size_t max) {
  cursor c = {text, text};
  size_t count = 0;
  for (;;) {
    while (is_blank(*c.from)) c.from++;
    if (!*c.from) break;
    if (count + 1 >= max) return MRPC_ELIMIT;
    words[count++] = c.to;
    int rc = take_word(&c);
    if (rc) return rc;
    /* The blank, or the end, is read before the NUL is written over it. */
    bool is_last = !*c.from;
    if (!is_last) c.from++;
    *c.to++ = '\0';
    if (is_last) break;
  }
  words[count] = NULL;
  return MRPC_OK;
}
