/* SPDX-License-Identifier: MIT
 *
 * The hash map: runs of entries that collide, growth, keys of all lengths. */
#include "base/map.h"

#include "oom.h"

static oom counter;
static const mrpc_mem mem = {oom_alloc, &counter};

static void map(void) {
  mrpc_map m;
  int one, two;
  mrpc_map_init(&m, &mem, 1);
  ok(!mrpc_map_get(&m, "a", 1) && !mrpc_map_remove(&m, "a", 1), "an empty map");
  ok(!mrpc_map_set(&m, "a", 1, &one) && !mrpc_map_set(&m, "", 0, &two),
     "two entries");
  ok(mrpc_map_get(&m, "a", 1) == &one && mrpc_map_get(&m, "ab", 0) == &two,
     "are found");
  ok(mrpc_map_set(&m, "a", 1, &two) == MRPC_EEXIST &&
         mrpc_map_get(&m, "a", 1) == &one,
     "a key stands there once");
  ok(!mrpc_map_get(&m, "ab", 2) && !mrpc_map_get(&m, "b", 1),
     "keys are compared whole");
  ok(!mrpc_map_set(&m, "x\0y", 3, &one) && !mrpc_map_get(&m, "x\0z", 3) &&
         mrpc_map_get(&m, "x\0y", 3) == &one,
     "they are bytes");
  ok(mrpc_map_remove(&m, "a", 1) == &one && !mrpc_map_get(&m, "a", 1) &&
         m.count == 2,
     "one is removed");
  ok(mrpc_map_set(&m, "a", (size_t)UINT32_MAX, &one) == MRPC_EINVAL,
     "a key may be too long");
  mrpc_map_clear(&m);
  ok(counter.live == 0 && m.count == 0, "all memory came back");
}

enum { KEYS = 400 };
static char keys[KEYS][16];
static bool present[KEYS];

/* Does the map hold what it should, by get and by walk? */
static bool is_right(const mrpc_map *m) {
  uint32_t count = 0, at = 0, walked = 0;
  for (int i = 0; i < KEYS; i++) {
    void *value = mrpc_map_get(m, keys[i], strlen(keys[i]));
    if (value != (present[i] ? keys[i] : NULL)) return false;
    count += present[i];
  }
  while (mrpc_map_next(m, &at)) walked++;
  return count == m->count && walked == count;
}

static void toggle(mrpc_map *m, int i) {
  if (present[i]) {
    if (mrpc_map_remove(m, keys[i], strlen(keys[i])) != keys[i]) abort();
  } else if (mrpc_map_set(m, keys[i], strlen(keys[i]), keys[i])) {
    abort();
  }
  present[i] = !present[i];
}

/* Runs of entries that collide, also across the end of the table: removal
 * moves them back. Many seeds, so that all shapes of runs come up; the table
 * stays small and rather full. */
static void map_runs(void) {
  unsigned wrong = 0, wrapped = 0, steps = 0;
  for (int i = 0; i < KEYS; i++) snprintf(keys[i], sizeof keys[i], "k%d", i);
  for (uint32_t seed = 0; seed < 300; seed++) {
    mrpc_map m;
    uint32_t random = seed * 2654435761U + 1;
    mrpc_map_init(&m, &mem, seed);
    memset(present, 0, sizeof present);
    for (int step = 0; step < 60; step++, steps++) {
      random = random * 1664525U + 1013904223U;
      toggle(&m, (int)(random >> 16) % 12);
      if (m.cap && m.slots[m.cap - 1].key && m.slots[0].key) wrapped++;
      if (!is_right(&m)) wrong++;
    }
    mrpc_map_clear(&m);
  }
  ok(wrong == 0, "%u changes of crowded maps", steps);
  ok(wrapped > 1000, "%u times with a run that may go around the end", wrapped);
}

static void map_growth(void) {
  mrpc_map m;
  mrpc_map_init(&m, &mem, 7);
  memset(present, 0, sizeof present);
  for (int i = 0; i < KEYS; i++) toggle(&m, i);
  ok(is_right(&m) && m.count == KEYS, "%d entries", KEYS);
  for (int i = 0; i < KEYS; i += 2) toggle(&m, i);
  ok(is_right(&m), "half of them removed");
  counter.fail_at = counter.count + 1;
  bool failed = false;
  for (int i = 0; i < KEYS && !failed; i += 2) {
    failed = mrpc_map_set(&m, keys[i], strlen(keys[i]), keys[i]) == MRPC_ENOMEM;
    if (!failed) present[i] = true;
  }
  ok(is_right(&m), "all as it was after a growth that failed");
  counter.fail_at = 0;
  mrpc_map_clear(&m);
  mrpc_map_init(&m, &mem, 7);
  counter.fail_at = counter.count + 1;
  ok(mrpc_map_set(&m, "a", 1, &m) == MRPC_ENOMEM && m.count == 0,
     "the first entry may fail, too");
  ok(counter.live == 0, "all memory came back");
}

/* Keys of every length, that differ in one byte. */
static void map_lengths(void) {
  mrpc_map m;
  char key[40];
  static const char x[41] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  mrpc_map_init(&m, &mem, 3);
  for (size_t len = 0; len < 40; len++)
    if (mrpc_map_set(&m, x, len, &m)) abort();
  bool fits = m.count == 40;
  for (size_t len = 0; len < 40; len++) {
    memcpy(key, x, 40);
    fits = fits && mrpc_map_get(&m, key, len);
    for (size_t i = 0; i < len; i++) {
      key[i] = 'y';
      fits = fits && !mrpc_map_get(&m, key, len);
      key[i] = 'x';
    }
  }
  ok(fits, "keys of all lengths differ in each byte");
  mrpc_map_clear(&m);
}

int main(void) {
  map();
  map_runs();
  map_growth();
  map_lengths();
  return tap_finish();
}
