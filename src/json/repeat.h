/* SPDX-License-Identifier: MIT
 *
 * The messages of a conversation resemble each other: many are as long as the
 * one before and differ from it only inside of strings and whole numbers. Such
 * a one isn't parsed again: the document of the one before is mended where the
 * bytes differ. Its nodes stay the same but for the values of numbers. */
#ifndef MRPC_JSON_REPEAT_H
#define MRPC_JSON_REPEAT_H

#include <stdbool.h>

#include "json/document.h"

enum { MRPC_REPEAT_MAX = 512 }; /* bytes of a text that is remembered */

/* The text that a document was made of; zero at first. */
typedef struct mrpc_repeat {
  uint32_t len; /* 0: none is remembered */
  uint32_t depth;
  char text[MRPC_REPEAT_MAX];
} mrpc_repeat;

/* As mrpc_json_parse, with the same outcome. `mended` tells that no node has
 * come, gone or changed its type. Meanwhile nobody else changes `doc`, unless
 * mrpc_repeat_forget is called. */
int mrpc_repeat_parse(mrpc_repeat *before, mrpc_doc *doc, const char *text,
                      size_t len, uint32_t depth, bool *mended);

static inline void mrpc_repeat_forget(mrpc_repeat *before) {
  before->len = 0;
}

#endif
