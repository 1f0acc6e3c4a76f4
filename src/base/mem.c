/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void *mrpc_mem_default(void *ud, void *ptr, size_t osize, size_t nsize) {
  (void)ud;
  (void)osize;
  if (nsize == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, nsize);
}

void *mrpc_mem_new(const mrpc_mem *mem, size_t size) {
  void *ptr = mem->fn(mem->ud, NULL, 0, size);
  if (ptr) memset(ptr, 0, size);
  return ptr;
}

void *mrpc_mem_resize(const mrpc_mem *mem, void *ptr, size_t osize,
                      size_t nsize) {
  return mem->fn(mem->ud, ptr, osize, nsize);
}

void mrpc_mem_free(const mrpc_mem *mem, void *ptr, size_t size) {
  if (ptr) mem->fn(mem->ud, ptr, size, 0);
}

char *mrpc_mem_copy(const mrpc_mem *mem, const char *bytes, size_t len) {
  char *copy = mem->fn(mem->ud, NULL, 0, len + 1);
  if (!copy) return NULL;
  if (len) memcpy(copy, bytes, len);
  copy[len] = '\0';
  return copy;
}
