/* SPDX-License-Identifier: MIT
 *
 * Bump allocation for what lives and dies together (one message, one load).
 * Nothing is freed singly; reset keeps one block for the next user. */
#ifndef MRPC_BASE_ARENA_H
#define MRPC_BASE_ARENA_H

#include "base/mem.h"

typedef struct mrpc_arena_block mrpc_arena_block;

typedef struct mrpc_arena {
  const mrpc_mem *mem;
  mrpc_arena_block *head; /* the block in use; older ones behind it */
} mrpc_arena;

void mrpc_arena_init(mrpc_arena *arena, const mrpc_mem *mem);
/* Frees everything. */
void mrpc_arena_clear(mrpc_arena *arena);
/* Forgets everything; keeps the first block. */
void mrpc_arena_reset(mrpc_arena *arena);
/* `size` bytes aligned for any type, not zeroed, or NULL. */
void *mrpc_arena_new(mrpc_arena *arena, size_t size);
/* A NUL-terminated copy, or NULL. */
char *mrpc_arena_copy(mrpc_arena *arena, const char *bytes, size_t len);

#endif
