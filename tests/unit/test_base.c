/* SPDX-License-Identifier: MIT
 *
 * The base: memory, buffers, arena, lists, environment. Maps and timers have
 * files of their own. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/list.h"
#include "oom.h"

static oom counter;
static const mrpc_mem mem = {oom_alloc, &counter};

/* Memory. */

static void memory(void) {
  char *ptr = mrpc_mem_new(&mem, 100);
  bool is_zero = true;
  for (int i = 0; i < 100; i++) is_zero = is_zero && !ptr[i];
  ok(is_zero, "new memory is zero");
  memset(ptr, 'x', 100);
  ptr = mrpc_mem_resize(&mem, ptr, 100, 200);
  ok(ptr[0] == 'x' && ptr[99] == 'x' && counter.live == 200,
     "a resize keeps the content");
  mrpc_mem_free(&mem, ptr, 200);
  mrpc_mem_free(&mem, NULL, 7);
  char *copy = mrpc_mem_copy(&mem, "a\0b", 3);
  is_bytes(copy, 4, "a\0b\0", 4, "a copy is terminated");
  mrpc_mem_free(&mem, copy, 4);
  copy = mrpc_mem_copy(&mem, NULL, 0);
  ok(copy && !*copy, "a copy of nothing");
  mrpc_mem_free(&mem, copy, 1);
  counter.fail_at = counter.count + 1;
  ok(!mrpc_mem_copy(&mem, "x", 1), "a copy may fail");
  counter.fail_at = counter.count + 1;
  ok(!mrpc_mem_new(&mem, 1), "new memory may, too");
  ok(counter.live == 0, "all memory came back");
}

/* Buffers. */

static void buffer(void) {
  mrpc_buf b;
  mrpc_buf_init(&b, &mem, 1000);
  ok(b.cap == 0 && mrpc_buf_reserve(&b, 0) == NULL && b.err == MRPC_OK,
     "an empty buffer has no memory, and nothing fails");
  mrpc_buf_add(&b, NULL, 0);
  mrpc_buf_lit(&b, "one ");
  mrpc_buf_adds(&b, "two ");
  mrpc_buf_addc(&b, '3');
  mrpc_buf_addu(&b, 0);
  mrpc_buf_addu(&b, UINT64_MAX);
  is_bytes(b.data, b.len, "one two 3018446744073709551615", 30, "additions");
  mrpc_buf_consume(&b, 4);
  is_bytes(b.data, b.len, "two 3018446744073709551615", 26, "consumed");
  mrpc_buf_consume(&b, 26);
  mrpc_buf_relax(&b, b.cap);
  ok(b.cap > 0, "a small one keeps its memory");
  mrpc_buf_relax(&b, b.cap - 1);
  ok(b.cap == 0 && counter.live == 0, "a large one gives it back");
  mrpc_buf_lit(&b, "x");
  mrpc_buf_relax(&b, 0);
  ok(b.len == 1 && b.data[0] == 'x', "but not while there is something in it");
  mrpc_buf_clear(&b);
  mrpc_buf_clear(&b);
  ok(counter.live == 0 && b.limit == 1000, "all memory came back");
}

static void buffer_limit(void) {
  mrpc_buf b;
  mrpc_buf_init(&b, &mem, 600);
  for (int i = 0; i < 600; i++) mrpc_buf_addc(&b, (char)('0' + i % 10));
  ok(b.len == 600 && b.err == MRPC_OK && b.cap <= 600, "up to the limit");
  mrpc_buf_addc(&b, 'x');
  ok(b.len == 600 && b.err == MRPC_ELIMIT, "and not a byte further");
  mrpc_buf_truncate(&b, 599);
  mrpc_buf_add(&b, "ab", 2);
  mrpc_buf_add(&b, "a", 1);
  ok(b.len == 599 && b.err == MRPC_ELIMIT, "a failure stays");
  mrpc_buf_truncate(&b, 599);
  mrpc_buf_add(&b, "a", 1);
  ok(b.len == 600 && b.err == MRPC_OK, "until it is forgiven");
  mrpc_buf_add(&b, "a", SIZE_MAX);
  ok(b.err == MRPC_ELIMIT, "an absurd length doesn't wrap around");
  mrpc_buf_clear(&b);
  mrpc_buf_init(&b, &mem, 0);
  mrpc_buf_addc(&b, 'x');
  ok(b.err == MRPC_ELIMIT && !b.data, "a limit of nothing takes nothing");
  mrpc_buf_clear(&b);
}

static void buffer_memory(void) {
  mrpc_buf b;
  mrpc_buf_init(&b, &mem, SIZE_MAX);
  mrpc_buf_lit(&b, "kept");
  counter.fail_at = counter.count + 1;
  char *to = mrpc_buf_reserve(&b, 10000);
  ok(!to && b.err == MRPC_ENOMEM && b.len == 4, "out of memory");
  mrpc_buf_lit(&b, "lost");
  is_bytes(b.data, b.len, "kept", 4, "what was there stays");
  mrpc_buf_truncate(&b, b.len);
  mrpc_buf_lit(&b, ", too");
  is_bytes(b.data, b.len, "kept, too", 9, "and it may go on");
  mrpc_buf_clear(&b);
  ok(counter.live == 0, "all memory came back");
}

/* Arena. */

static void arena(void) {
  mrpc_arena a;
  mrpc_arena_init(&a, &mem);
  bool is_aligned = true;
  char *last = NULL;
  for (size_t size = 0; size < 300; size++) {
    char *ptr = mrpc_arena_new(&a, size);
    is_aligned = is_aligned && (uintptr_t)ptr % _Alignof(max_align_t) == 0;
    if (size) memset(ptr, 'x', size);
    last = ptr;
  }
  ok(last && is_aligned, "pieces of all sizes, aligned");
  char *large = mrpc_arena_new(&a, 100000);
  memset(large, 'y', 100000);
  is_str(mrpc_arena_copy(&a, "copied", 3), "cop", "a copy");
  is_str(mrpc_arena_copy(&a, NULL, 0), "", "a copy of nothing");
  ok(last[298] == 'x', "nothing overlaps");
  ok(!mrpc_arena_new(&a, SIZE_MAX) && !mrpc_arena_new(&a, SIZE_MAX - 40) &&
         !mrpc_arena_copy(&a, "", SIZE_MAX),
     "absurd sizes fail");
  mrpc_arena_reset(&a);
  ok(counter.live > 0 && counter.live <= 4096, "a reset keeps one block");
  size_t before = counter.count;
  mrpc_arena_new(&a, 2000);
  ok(counter.count == before, "which is used again");
  mrpc_arena_clear(&a);
  ok(counter.live == 0, "all memory came back");
  mrpc_arena_new(&a, 100000);
  mrpc_arena_reset(&a);
  ok(counter.live == 0, "an outsized block isn't kept");
  counter.fail_at = counter.count + 1;
  ok(!mrpc_arena_new(&a, 1), "an arena may fail");
  mrpc_arena_clear(&a);
}

/* Lists. */

typedef struct item {
  int value;
  mrpc_link link;
} item;

static void list(void) {
  mrpc_link head;
  item a = {.value = 1}, b = {.value = 2}, c = {.value = 3};
  mrpc_list_init(&head);
  mrpc_list_init(&a.link);
  ok(mrpc_list_is_empty(&head), "an empty list");
  mrpc_list_remove(&a.link);
  mrpc_list_insert(&head, &a.link);
  mrpc_list_insert(&head, &c.link);
  mrpc_list_insert(&c.link, &b.link);
  int sum = 0;
  for (mrpc_link *at = head.next; at != &head; at = at->next)
    sum = sum * 10 + mrpc_list_of(at, item, link)->value;
  ok(sum == 123, "in order");
  mrpc_list_remove(&b.link);
  mrpc_list_remove(&b.link);
  ok(head.next == &a.link && a.link.next == &c.link && c.link.next == &head,
     "removed twice is removed once");
  mrpc_list_move(&head, &a.link);
  mrpc_list_move(&c.link, &b.link);
  ok(head.next == &b.link && b.link.next == &c.link && c.link.next == &a.link &&
         head.prev == &a.link && a.link.prev == &c.link,
     "moved to the end, and in from nowhere");
  mrpc_list_remove(&b.link);
  mrpc_list_remove(&a.link);
  mrpc_list_remove(&c.link);
  ok(mrpc_list_is_empty(&head), "empty again");
}

/* Environment. */

static uint64_t fixed_clock(void *ud) {
  return *(uint64_t *)ud;
}

static char logged[200];

static void log_entry(const mrpc_log_entry *entry, void *ud) {
  (void)ud;
  int at = snprintf(logged, sizeof logged, "%d %s", entry->level, entry->text);
  for (size_t i = 0; i < 2 * entry->count; i++)
    at += snprintf(logged + at, sizeof logged - (size_t)at, "%c%s",
                   i % 2 ? '=' : ' ', entry->pairs[i]);
}

static void env_clock(void) {
  uint64_t now = 1000;
  mrpc_env *env;
  mrpc_env_config config = {.alloc = oom_alloc,
                            .alloc_ud = &counter,
                            .clock = fixed_clock,
                            .clock_ud = &now};
  if (mrpc_env_new(&config, &env)) abort();
  ok(mrpc_env_now(env) == 1000 && mrpc_env_after(env, 1.5) == 1500001000 &&
         mrpc_env_after(env, 0) == 1000,
     "seconds from now");
  ok(mrpc_env_after(env, -1) == UINT64_MAX &&
         mrpc_env_after(env, 1e300) == UINT64_MAX &&
         mrpc_env_after(env, 0.0 / 0.0) == UINT64_MAX,
     "never");
  ok(mrpc_timer_next(env) == UINT64_MAX, "an environment without deadlines");
  mrpc_env_free(env);
  mrpc_env_free(NULL);
  ok(counter.live == 0, "all memory came back");
  counter.fail_at = counter.count + 1;
  ok(mrpc_env_new(&config, &env) == MRPC_ENOMEM, "it may fail");
}

static void env_log(void) {
  mrpc_env *env;
  mrpc_env_config config = {.log = log_entry};
  if (mrpc_env_new(&config, &env)) abort();
  mrpc_log(env, MRPC_LOG_WARN, "text", "a", "1", "b", "2", NULL);
  is_str(logged, "2 text a=1 b=2", "an entry with details");
  mrpc_log(env, MRPC_LOG_ERROR, "text", "a", "1", "b", NULL, NULL);
  is_str(logged, "1 text a=1", "a missing value ends them");
  mrpc_log(env, MRPC_LOG_INFO, "plain", NULL);
  is_str(logged, "3 plain", "none");
  logged[0] = '\0';
  mrpc_log(env, MRPC_LOG_DEBUG, "detail", NULL);
  ok(!logged[0] && !mrpc_log_wants(env, MRPC_LOG_DEBUG) &&
         mrpc_log_wants(env, MRPC_LOG_INFO),
     "below the level there is silence");
  uint64_t before = mrpc_env_now(env);
  ok(before > 0 && mrpc_env_now(env) >= before, "the clock of the house");
  mrpc_env_free(env);
  if (mrpc_env_new(&(mrpc_env_config){0}, &env)) abort();
  ok(!mrpc_log_wants(env, MRPC_LOG_ERROR), "no log function, no entries");
  mrpc_log(env, MRPC_LOG_ERROR, "text", NULL);
  mrpc_env_free(env);
}

static void limits(void) {
  mrpc_limits l = {.batch = 7, .wait = -1, .depth = MRPC_UNLIMITED};
  mrpc_limits_init(&l);
  ok(l.batch == 7 && l.wait == -1 && l.depth == MRPC_UNLIMITED,
     "what is set stays");
  ok(l.message == 4U << 20 && l.reply == 16U << 20 && l.in_flight == 1024 &&
         l.output == 1U << 20 && l.header == 16U << 10 && l.half_closed == 10,
     "zeros are defaults");
}

static void errors(void) {
  ok(!strcmp(mrpc_strerror(MRPC_OK), "success") &&
         !strcmp(mrpc_strerror(MRPC_ENOMEM), "out of memory") &&
         !strcmp(mrpc_strerror(12345), "unknown error"),
     "results have names");
}

int main(void) {
  memory();
  buffer();
  buffer_limit();
  buffer_memory();
  arena();
  list();
  env_clock();
  env_log();
  limits();
  errors();
  return tap_finish();
}
