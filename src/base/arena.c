/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

struct mrpc_arena_block {
  mrpc_arena_block *next;
  size_t used;
  size_t cap;
  alignas(max_align_t) char bytes[];
};

enum { BLOCK_BYTES = 4096 - (int)sizeof(mrpc_arena_block) };

void mrpc_arena_init(mrpc_arena *arena, const mrpc_mem *mem) {
  *arena = (mrpc_arena){.mem = mem};
}

static void free_block(mrpc_arena *arena, mrpc_arena_block *block) {
  mrpc_mem_free(arena->mem, block, sizeof *block + block->cap);
}

static void free_until(mrpc_arena *arena, const mrpc_arena_block *last) {
  while (arena->head != last) {
    mrpc_arena_block *next = arena->head->next;
    free_block(arena, arena->head);
    arena->head = next;
  }
}

void mrpc_arena_clear(mrpc_arena *arena) {
  free_until(arena, NULL);
}

void mrpc_arena_reset(mrpc_arena *arena) {
  mrpc_arena_block *first = arena->head;
  while (first && first->next) first = first->next;
  if (first && first->cap > BLOCK_BYTES) first = NULL;
  free_until(arena, first);
  if (first) first->used = 0;
}

static mrpc_arena_block *push_block(mrpc_arena *arena, size_t size) {
  size_t cap = size > BLOCK_BYTES ? size : BLOCK_BYTES;
  if (cap > SIZE_MAX - sizeof(mrpc_arena_block)) return NULL;
  mrpc_arena_block *block =
      mrpc_mem_resize(arena->mem, NULL, 0, sizeof *block + cap);
  if (!block) return NULL;
  block->next = arena->head;
  block->used = 0;
  block->cap = cap;
  arena->head = block;
  return block;
}

void *mrpc_arena_new(mrpc_arena *arena, size_t size) {
  size_t align = alignof(max_align_t);
  if (size > SIZE_MAX - align) return NULL;
  size = (size + align - 1) & ~(align - 1);
  mrpc_arena_block *block = arena->head;
  if (!block || size > block->cap - block->used)
    block = push_block(arena, size);
  if (!block) return NULL;
  void *ptr = block->bytes + block->used;
  block->used += size;
  return ptr;
}

char *mrpc_arena_copy(mrpc_arena *arena, const char *bytes, size_t len) {
  char *copy = len < SIZE_MAX ? mrpc_arena_new(arena, len + 1) : NULL;
  if (!copy) return NULL;
  if (len) memcpy(copy, bytes, len);
  copy[len] = '\0';
  return copy;
}
