/* SPDX-License-Identifier: MIT
 *
 * The allocator: one function with Lua's signature, handed down by value in
 * mrpc_env. Everything behind the first door allocates through it, so that an
 * embedder sees and bounds every byte and a test can fail each request in
 * turn. Sizes are exact on free. */
#ifndef MRPC_BASE_MEM_H
#define MRPC_BASE_MEM_H

#include "moonrpc.h"

typedef struct mrpc_mem {
  mrpc_alloc_fn fn;
  void *ud;
} mrpc_mem;

/* realloc and free. */
void *mrpc_mem_default(void *ud, void *ptr, size_t osize, size_t nsize);

/* `size` zeroed bytes, or NULL. */
void *mrpc_mem_new(const mrpc_mem *mem, size_t size);
/* Grows or shrinks; on failure NULL, and `ptr` is as it was. */
void *mrpc_mem_resize(const mrpc_mem *mem, void *ptr, size_t osize,
                      size_t nsize);
void mrpc_mem_free(const mrpc_mem *mem, void *ptr, size_t size);
/* A NUL-terminated copy of len + 1 bytes, or NULL. */
char *mrpc_mem_copy(const mrpc_mem *mem, const char *bytes, size_t len);

#endif
