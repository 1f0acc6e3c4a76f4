/* SPDX-License-Identifier: MIT
 *
 * A hash map from byte strings to pointers. Keys aren't copied: each must
 * live as long as its entry (it usually stands in the value). Open addressing
 * with linear probing; the hash is seeded per map. */
#ifndef MRPC_BASE_MAP_H
#define MRPC_BASE_MAP_H

#include "base/mem.h"

typedef struct mrpc_map_slot {
  const char *key; /* NULL: free */
  void *value;
  uint32_t len;
  uint32_t hash;
} mrpc_map_slot;

typedef struct mrpc_map {
  const mrpc_mem *mem;
  mrpc_map_slot *slots;
  uint32_t cap; /* 0 or a power of two */
  uint32_t count;
  uint32_t seed;
} mrpc_map;

void mrpc_map_init(mrpc_map *map, const mrpc_mem *mem, uint32_t seed);
/* Frees the table, not the values. */
void mrpc_map_clear(mrpc_map *map);
void *mrpc_map_get(const mrpc_map *map, const char *key, size_t len);
/* MRPC_EEXIST when the key is there; then nothing changes. */
int mrpc_map_set(mrpc_map *map, const char *key, size_t len, void *value);
/* The value that was there, or NULL. */
void *mrpc_map_remove(mrpc_map *map, const char *key, size_t len);
/* Walks in no order: start with *at == 0; NULL at the end. Don't change the
 * map meanwhile. */
void *mrpc_map_next(const mrpc_map *map, uint32_t *at);

#endif
