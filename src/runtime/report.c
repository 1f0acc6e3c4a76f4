/* SPDX-License-Identifier: MIT */
#include "runtime/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAP = 8, MAX_FAULTS = 1000, MAX_TEXT = 1000 };

void mrpc_faults_init(mrpc_faults *faults, const mrpc_mem *mem) {
  *faults = (mrpc_faults){0};
  mrpc_arena_init(&faults->arena, mem);
}

void mrpc_faults_clear(mrpc_faults *faults) {
  const mrpc_mem *mem = faults->arena.mem;
  mrpc_arena_clear(&faults->arena);
  mrpc_faults_init(faults, mem);
}

/* The old array stays in the arena; that is cheaper than to free it. */
static bool make_room(mrpc_faults *faults) {
  if (faults->count < faults->cap) return true;
  size_t cap = faults->cap ? faults->cap * 2 : FIRST_CAP;
  mrpc_fault *items = mrpc_arena_new(&faults->arena, cap * sizeof *items);
  if (!items) return false;
  if (faults->count)
    memcpy(items, faults->items, faults->count * sizeof *items);
  faults->items = items;
  faults->cap = cap;
  return true;
}

/* Cuts before a character that would be torn. */
static size_t whole_length(const char *text, size_t len) {
  if (len < MAX_TEXT) return len;
  len = MAX_TEXT - 1;
  while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) len--;
  return len;
}

static void note_shortage(mrpc_faults *faults) {
  if (faults->count > 0) return;
  faults->last = (mrpc_fault){".", 0, "not enough memory"};
  faults->items = &faults->last;
  faults->count = faults->cap = 1;
}

static bool stands_before(const mrpc_fault *a, const mrpc_fault *b) {
  int by_file = strcmp(a->file, b->file);
  return by_file ? by_file < 0 : a->line < b->line;
}

/* There are few, so that insertion is the sort to use. */
static void insert(mrpc_faults *faults, const mrpc_fault *fault) {
  size_t at = faults->count++;
  for (; at > 0 && stands_before(fault, &faults->items[at - 1]); at--)
    faults->items[at] = faults->items[at - 1];
  faults->items[at] = *fault;
}

void mrpc_faults_add(mrpc_faults *faults, const char *file, int line,
                     const char *format, ...) {
  char text[MAX_TEXT + 8];
  if (faults->count >= MAX_FAULTS) return;
  va_list args;
  va_start(args, format);
  int made = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  size_t len = made < 0 ? 0 : (size_t)made;
  len = whole_length(text, len < sizeof text ? len : sizeof text - 1);
  char *path = mrpc_arena_copy(&faults->arena, file, strlen(file));
  char *message = mrpc_arena_copy(&faults->arena, text, len);
  if (path && message && make_room(faults))
    insert(faults, &(mrpc_fault){path, line, message});
  else
    note_shortage(faults);
}
