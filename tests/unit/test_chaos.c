/* SPDX-License-Identifier: MIT
 *
 * Loading changes must come to the same as loading all that there is. A
 * directory of small files that require each other is edited at random, with
 * errors, cycles, deletions, waits at the top level and calls in between; a
 * model in C tells what each method must answer.
 *
 * A private file answers its number plus those of what it requires; so does
 * the method of a public file. */
#include "oom.h"
#include "pick.h"
#include "runtime/loader.h"
#include "stage.h"

enum { PRIVATE = 8, PUBLIC = 8, FILES = PRIVATE + PUBLIC, TEXT = 512 };

typedef struct model {
  bool there[FILES];
  bool broken[FILES];
  int number[FILES];
  unsigned needs[FILES]; /* bits of private files */
} model;

static stage S;
static model now;
static int serving[PUBLIC]; /* what each method answers; -1: it isn't there */
static char paths[FILES][24], texts[FILES][2][TEXT];
static int which[FILES];

static bool is_public(int i) {
  return i >= PRIVATE;
}

/* The text of a file, written where the one before isn't: the source holds
 * pointers. */
static void write_file(int i) {
  char *text = texts[i][which[i] ^= 1];
  size_t len = 0;
#define ADD(...) len += (size_t)snprintf(text + len, TEXT - len, __VA_ARGS__)
  if (pick(6) == 0) ADD("rpc.sleep(0.0%u) ", pick(9) + 1);
  ADD("local n = %d ", now.number[i]);
  for (int k = 0; k < PRIVATE; k++)
    if (now.needs[i] >> k & 1) ADD("n = n + require '_p%d' ", k);
  if (now.broken[i]) ADD(pick(2) ? "error 'broken' " : "n = = ");
  if (pick(6) == 0) ADD("rpc.sleep(0.0%u) ", pick(9) + 1);
  ADD(is_public(i) ? "return function() return n end" : "return n");
#undef ADD
  fake_put(&S.f, paths[i], text);
}

/* Files require those with higher numbers, but for a cycle now and then. */
static unsigned pick_needs(int i) {
  unsigned needs = 0;
  for (int k = 0; k < PRIVATE; k++) {
    bool is_up = is_public(i) || k > i;
    if (pick(is_up ? 4 : 150) == 0) needs |= 1U << k;
  }
  return needs;
}

static void edit(void) {
  int i = (int)pick(FILES);
  switch (pick(8)) {
    case 0:
      now.there[i] = false;
      fake_remove(&S.f, paths[i]);
      return;
    case 1: now.broken[i] = true; break;
    case 2: break;
    default:
      now.broken[i] = false;
      now.number[i] = (int)pick(1000);
      now.needs[i] = pick_needs(i);
  }
  now.there[i] = true;
  write_file(i);
}

static int value_of(int i, unsigned inside);

/* Mends what can't be loaded. */
static void mend(void) {
  for (int i = 0; i < FILES; i++) {
    if (!now.there[i] || value_of(i, 0) >= 0) continue;
    now.broken[i] = false;
    now.needs[i] = 0;
    write_file(i);
  }
}

/* What the file comes to; -1 if it can't be loaded. `inside`: bits of those
 * that are being loaded. */
static int value_of(int i, unsigned inside) {
  if (!now.there[i] || now.broken[i] || inside >> i & 1) return -1;
  int sum = now.number[i];
  for (int k = 0; k < PRIVATE; k++) {
    if (!(now.needs[i] >> k & 1)) continue;
    int value = value_of(k, inside | 1U << i);
    if (value < 0) return -1;
    sum += value;
  }
  return sum;
}

static bool is_sound(bool private_too) {
  for (int i = private_too ? 0 : PRIVATE; i < FILES; i++)
    if (now.there[i] && value_of(i, 0) < 0) return false;
  return true;
}

static bool answers(void) {
  for (int i = 0; i < PUBLIC; i++) {
    char name[16], want[24] = "error -32601";
    snprintf(name, sizeof name, "f%d", i);
    if (serving[i] >= 0) snprintf(want, sizeof want, "%d", serving[i]);
    const char *got = stage_call(&S, name);
    if (strcmp(got, want) == 0) continue;
    printf("# %s answers %s, not %s\n", name, got, want);
    return false;
  }
  return true;
}

static bool check_load(void) {
  const mrpc_report *report = mrpc_runtime_report(S.runtime);
  if (!report->ok) {
    if (is_sound(true)) printf("# failed: %s\n", stage_faults(report));
    return !is_sound(true);
  }
  if (!is_sound(false)) return false;
  for (int i = 0; i < PUBLIC; i++)
    serving[i] = now.there[PRIVATE + i] ? value_of(PRIVATE + i, 0) : -1;
  return true;
}

/* One load, which later edits may overtake. */
static bool play(void) {
  for (uint32_t edits = pick(3) + 1; edits; edits--) edit();
  if (pick(4)) mend();
  mrpc_load_mode mode = pick(10) ? MRPC_LOAD_CHANGES : (mrpc_load_mode)pick(3);
  if (mrpc_loader_request(S.runtime->loader, mode)) return false;
  while (pick(3) == 0) {
    for (uint32_t steps = pick(6); steps; steps--) stage_step(&S);
    if (mrpc_runtime_is_loading(S.runtime) && !answers()) return false;
    if (!mrpc_runtime_is_loading(S.runtime) && !check_load()) return false;
    edit();
    if (mrpc_loader_request(S.runtime->loader, MRPC_LOAD_CHANGES)) return false;
  }
  return stage_settle(&S) == 0 && check_load() && answers();
}

static void chaos(uint32_t seed, int rounds) {
  oom o = {0};
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = &o};
  S = (stage){0};
  memset(&now, 0, sizeof now);
  pick_state = seed;
  if (stage_open(&S, &config)) abort();
  for (int i = 0; i < PUBLIC; i++) serving[i] = -1;
  for (int i = 0; i < FILES; i++)
    snprintf(paths[i], sizeof paths[i], is_public(i) ? "f%d.lua" : "_p%d.lua",
             is_public(i) ? i - PRIVATE : i);
  int done = 0;
  while (done < rounds && play()) done++;
  ok(done == rounds, "seed %u: %d loads, generation %u", seed, done,
     mrpc_runtime_report(S.runtime)->generation);
  stage_close(&S);
  ok(o.live == 0, "seed %u: all memory came back", seed);
}

int main(void) {
  for (uint32_t seed = 1; seed <= 20; seed++) chaos(seed, 200);
  return tap_finish();
}
