/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <string.h>

enum { FIRST_CAP = 8 };

void mrpc_map_init(mrpc_map *map, const mrpc_mem *mem, uint32_t seed) {
  *map = (mrpc_map){.mem = mem, .seed = seed};
}

void mrpc_map_clear(mrpc_map *map) {
  mrpc_mem_free(map->mem, map->slots, map->cap * sizeof *map->slots);
  mrpc_map_init(map, map->mem, map->seed);
}

static uint64_t load8(const char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

/* Up to seven bytes as a number, without a loop: pieces that may overlap. */
static uint64_t load_short(const char *p, size_t len) {
  if (len >= 4) {
    uint32_t first, last;
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + len - sizeof last, sizeof last);
    return (uint64_t)first << 32 | last;
  }
  if (len == 0) return 0;
  const unsigned char *u = (const unsigned char *)p;
  return (uint64_t)u[0] << 16 | (uint64_t)u[len / 2] << 8 | u[len - 1];
}

static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ h >> 32;
}

/* Eight bytes a step, the last step overlapping the one before; keys are
 * method names, so the short ends matter more than the loop. */
static uint32_t hash_bytes(uint32_t seed, const char *key, size_t len) {
  uint64_t h = seed ^ (len * UINT64_C(0x9e3779b97f4a7c15));
  if (len < 8) {
    h = mix(h, load_short(key, len));
  } else {
    const char *last = key + len - 8;
    for (; key < last; key += 8) h = mix(h, load8(key));
    h = mix(h, load8(last));
  }
  h *= UINT64_C(0xd6e8feb86659fd93);
  return (uint32_t)(h >> 32);
}

static bool holds(const mrpc_map_slot *slot, uint32_t hash, const char *key,
                  size_t len) {
  return slot->hash == hash && slot->len == len &&
         memcmp(slot->key, key, len) == 0;
}

/* The slot of the key, or the free one where it would go. */
static mrpc_map_slot *find_slot(const mrpc_map *map, uint32_t hash,
                                const char *key, size_t len) {
  uint32_t at = hash & (map->cap - 1);
  while (map->slots[at].key && !holds(&map->slots[at], hash, key, len))
    at = (at + 1) & (map->cap - 1);
  return &map->slots[at];
}

void *mrpc_map_get(const mrpc_map *map, const char *key, size_t len) {
  if (map->count == 0) return NULL;
  uint32_t hash = hash_bytes(map->seed, key, len);
  const mrpc_map_slot *slot = find_slot(map, hash, key, len);
  return slot->key ? slot->value : NULL;
}

static int grow(mrpc_map *map) {
  mrpc_map old = *map;
  map->cap = old.cap ? old.cap * 2 : FIRST_CAP;
  map->slots = mrpc_mem_new(map->mem, map->cap * sizeof *map->slots);
  if (!map->slots) {
    *map = old;
    return MRPC_ENOMEM;
  }
  for (uint32_t i = 0; i < old.cap; i++) {
    const mrpc_map_slot *slot = &old.slots[i];
    if (slot->key) *find_slot(map, slot->hash, slot->key, slot->len) = *slot;
  }
  mrpc_mem_free(map->mem, old.slots, old.cap * sizeof *old.slots);
  return MRPC_OK;
}

int mrpc_map_set(mrpc_map *map, const char *key, size_t len, void *value) {
  if (len >= UINT32_MAX) return MRPC_EINVAL;
  if (map->count * 4 >= map->cap * 3) {
    int rc = grow(map);
    if (rc) return rc;
  }
  uint32_t hash = hash_bytes(map->seed, key, len);
  mrpc_map_slot *slot = find_slot(map, hash, key, len);
  if (slot->key) return MRPC_EEXIST;
  *slot = (mrpc_map_slot){key, value, (uint32_t)len, hash};
  map->count++;
  return MRPC_OK;
}

/* Moves later entries of the run back, so that no tombstone is needed. */
static void close_gap(mrpc_map *map, uint32_t gap) {
  uint32_t mask = map->cap - 1;
  for (uint32_t at = (gap + 1) & mask; map->slots[at].key;
       at = (at + 1) & mask) {
    uint32_t home = map->slots[at].hash & mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    map->slots[gap] = map->slots[at];
    gap = at;
  }
  map->slots[gap] = (mrpc_map_slot){0};
}

void *mrpc_map_remove(mrpc_map *map, const char *key, size_t len) {
  if (map->count == 0) return NULL;
  uint32_t hash = hash_bytes(map->seed, key, len);
  mrpc_map_slot *slot = find_slot(map, hash, key, len);
  if (!slot->key) return NULL;
  void *value = slot->value;
  close_gap(map, (uint32_t)(slot - map->slots));
  map->count--;
  return value;
}

void *mrpc_map_next(const mrpc_map *map, uint32_t *at) {
  while (*at < map->cap) {
    const mrpc_map_slot *slot = &map->slots[(*at)++];
    if (slot->key) return slot->value;
  }
  return NULL;
}
