/* SPDX-License-Identifier: MIT
 *
 * A source of scripts in memory and a clock that stands still until it is
 * moved, for whatever loads files. */
#ifndef MRPC_TEST_FAKE_H
#define MRPC_TEST_FAKE_H

#include <string.h>

#include "moonrpc.h"

enum { FAKE_FILES = 64 };

typedef struct fake_file {
  const char *path;
  const char *text; /* NULL: reading fails */
  uint64_t stamp;
  double age;
} fake_file;

typedef struct fake {
  fake_file files[FAKE_FILES];
  size_t count;
  uint64_t stamps;
  uint64_t now;
  uint64_t tick; /* that the clock moves with every look at it */
  int list_result;
  unsigned list_failures; /* that many listings fail first */
  unsigned lists, reads;
} fake;

__attribute__((unused)) static uint64_t fake_clock(void *ud) {
  fake *f = ud;
  return f->now += f->tick;
}

static fake_file *fake_find(fake *f, const char *path) {
  for (size_t i = 0; i < f->count; i++)
    if (strcmp(f->files[i].path, path) == 0) return &f->files[i];
  return NULL;
}

/* Writes a file; the strings must outlive the fake. */
__attribute__((unused)) static fake_file *fake_put(fake *f, const char *path,
                                                   const char *text) {
  fake_file *file = fake_find(f, path);
  if (!file) file = &f->files[f->count++];
  *file = (fake_file){path, text, ++f->stamps, 60};
  return file;
}

__attribute__((unused)) static void fake_remove(fake *f, const char *path) {
  fake_file *file = fake_find(f, path);
  if (file) *file = f->files[--f->count];
}

static int fake_list(void *ud, mrpc_script_fn found, void *to) {
  fake *f = ud;
  f->lists++;
  if (f->list_failures) {
    f->list_failures--;
    return MRPC_EIO;
  }
  for (size_t i = 0; i < f->count; i++) {
    const fake_file *file = &f->files[i];
    mrpc_script script = {file->path, file->stamp,
                          file->text ? strlen(file->text) : 1, file->age, NULL};
    int rc = found(&script, to);
    if (rc) return rc;
  }
  return f->list_result;
}

/* In two pieces, since a source may. */
static int fake_read(void *ud, const char *path, mrpc_text_fn text, void *to) {
  fake *f = ud;
  const fake_file *file = fake_find(f, path);
  f->reads++;
  if (!file) return MRPC_ENOTFOUND;
  if (!file->text) return MRPC_EIO;
  size_t len = strlen(file->text);
  int rc = text(file->text, len / 2, to);
  return rc ? rc : text(file->text + len / 2, len - len / 2, to);
}

__attribute__((unused)) static mrpc_source fake_source(fake *f) {
  return (mrpc_source){.list = fake_list, .read = fake_read, .ud = f};
}

#endif
