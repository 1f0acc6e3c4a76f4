/* SPDX-License-Identifier: MIT
 *
 * Settings: named, typed places in a struct, filled from a JSON document.
 * Knows nothing of which settings there are (config.c). */
#ifndef MRPC_HOST_SETTING_H
#define MRPC_HOST_SETTING_H

#include "base/arena.h"
#include "json/document.h"

typedef enum mrpc_setting_kind {
  MRPC_SETTING_FLAG,     /* true or false */
  MRPC_SETTING_NOT_FLAG, /* the same, stored the other way round */
  MRPC_SETTING_COUNT,    /* whole number in [min, max]; false: no limit */
  MRPC_SETTING_STATUS,   /* int that HTTP answers a notification with */
  MRPC_SETTING_CODE,     /* int, not 0, not one that blames the caller */
  MRPC_SETTING_SECONDS,  /* positive; false: no limit */
  MRPC_SETTING_STRING,
  MRPC_SETTING_FILE_NAME, /* relative to the config file */
  MRPC_SETTING_LIST,      /* of strings; a single one is fine */
  MRPC_SETTING_CHOICE,    /* one of two words: false or true */
  MRPC_SETTING_LEVEL,     /* of the log */
  MRPC_SETTING_SECTION,
  MRPC_SETTING_SWITCH /* a section, or false, which sets the flag at `at` */
} mrpc_setting_kind;

enum { MRPC_SETTING_WHY = 160 }; /* bytes of a check's phrase */

/* Is the text fine? Else `why` gets a phrase. */
typedef bool (*mrpc_setting_check)(const char *text, char *why, size_t size);

typedef struct mrpc_setting {
  const char *name;
  mrpc_setting_kind kind;
  size_t at;        /* offset in the struct */
  int64_t min, max; /* of a list: min 1, it isn't empty */
  const char *words[2];
  const struct mrpc_setting *section;
  mrpc_setting_check check; /* of a string or each of a list's; may be NULL */
} mrpc_setting;

/* One reading. */
typedef struct mrpc_reading {
  void *target;             /* the struct */
  const mrpc_setting *keys; /* all that there are */
  const char *path;
  mrpc_arena *arena; /* of the strings; they live on in it */
  mrpc_doc doc;
  char *error;
  size_t size;
  char section[32]; /* "limits.", or "" */
} mrpc_reading;

/* Fills what the object at `node` names, a list of keys that ends with one
 * without a name. MRPC_EINVAL with a sentence in r->error at the first thing
 * that is wrong, MRPC_ENOMEM. */
int mrpc_setting_read(mrpc_reading *r, uint32_t node, const mrpc_setting *keys);

#endif
