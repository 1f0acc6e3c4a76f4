/* SPDX-License-Identifier: MIT
 *
 * Plays with real directories: each step changes something and runs the loop
 * until the watch tells of it, or, where it must not, until its time for that
 * is over. */
#include "transport/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "tap.h"

static char root[] = "/tmp/mrpc-watch-XXXXXX";
static mrpc_env *env;
static mrpc_loop *loop;
static mrpc_watch *watch;
static unsigned told;
static double patience = 5;

static void on_change(void *ud) {
  (void)ud;
  told++;
}

static void on_log(const mrpc_log_entry *entry, void *ud) {
  (void)entry;
  ++*(unsigned *)ud;
}

static void on_time(uv_timer_t *timer) {
  (void)timer;
}

/* A watch keeps no loop alive, and one that isn't alive polls nothing. */
static mrpc_loop *new_loop(mrpc_env *of, uv_timer_t *alive) {
  mrpc_loop *made;
  if (mrpc_loop_new(of, NULL, &made)) abort();
  uv_timer_init(made->uv, alive);
  uv_timer_start(alive, on_time, 3600000, 0);
  return made;
}

static const char *full(const char *path) {
  static char text[2][512];
  static int at;
  at = !at;
  snprintf(text[at], sizeof text[at], "%s/%s", root, path);
  return text[at];
}

static void put(const char *path, const char *content) {
  FILE *file = fopen(full(path), "w");
  if (!file) abort();
  fputs(content, file);
  fclose(file);
}

static void make_dir(const char *path) {
  if (mkdir(full(path), 0777)) abort();
}

static void turn_link(const char *to, const char *path) {
  if (symlink(to, full("link.new"))) abort();
  if (rename(full("link.new"), full(path))) abort();
}

static double seconds(void) {
  return (double)uv_hrtime() * 1e-9;
}

/* Runs the loop until the watch tells, or `limit` seconds have passed. */
static bool wait_told(double limit) {
  double end = seconds() + limit;
  unsigned before = told;
  while (told == before && seconds() < end) {
    mrpc_loop_step(loop, 0);
    if (told == before) usleep(500);
  }
  return told != before;
}

/* Nothing more comes of what has been done. */
static void calm(void) {
  while (wait_told(0.15)) continue;
}

static void tells(const char *what) {
  ok(wait_told(patience), "%s", what);
  calm();
}

static void is_silent(const char *what) {
  ok(!wait_told(0.15), "%s", what);
}

static void start(const char *path) {
  if (mrpc_watch_new(loop, full(path), on_change, NULL, &watch)) abort();
}

static void test_files(void) {
  make_dir("a");
  start("a");
  ok(!mrpc_watch_polls(watch), "the system has watches");
  is_silent("nothing happens");
  put("a/x.lua", "return 1");
  tells("a new file");
  put("a/x.lua", "return 2");
  tells("a file that is written in place");
  put("a/x.tmp", "return 3");
  is_silent("not a file that is no script");
  put("a/.x.lua.swp", "");
  put("a/x.lua~", "");
  put("a/#x.lua#", "");
  is_silent("nor what editors leave");
  if (rename(full("a/x.tmp"), full("a/x.lua"))) abort();
  tells("a save by rename");
  put("a/x.lua", "return 4");
  tells("and a write to the new file");
  unlink(full("a/x.lua"));
  tells("a deletion");
  mrpc_watch_free(watch);
}

/* What the kernel has no room to tell of is lost without a word of libuv's;
 * two names in turn, since equal events behind each other are told once. */
static void test_flood(void) {
  int log1 = open(full("a/1.log"), O_CREAT | O_WRONLY, 0666);
  int log2 = open(full("a/2.log"), O_CREAT | O_WRONLY, 0666);
  unsigned long room = 16384;
  FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
  if (file && fscanf(file, "%lu", &room) != 1) abort();
  if (file) fclose(file);
  start("a");
  calm();
  for (unsigned long i = 0; i < room; i++)
    if (write(i % 2 ? log1 : log2, "x", 1) != 1) abort();
  put("a/x.lua", "return 5");
  tells("a change behind more events than the kernel keeps");
  close(log1);
  close(log2);
  mrpc_watch_free(watch);
}

static void test_directories(void) {
  make_dir("b");
  start("b");
  make_dir("b/sub");
  tells("a new directory");
  put("b/sub/x.lua", "");
  tells("a file in it");
  make_dir("b/sub/deep");
  put("b/sub/deep/x.lua", "");
  tells("a new directory with a file");
  put("b/sub/deep/x.lua", "return 1");
  tells("a write to that");
  make_dir("b/.git");
  put("b/.git/x.lua", "");
  is_silent("not hidden directories");
  if (rename(full("b/sub"), full("b/other"))) abort();
  tells("a directory's new name");
  put("b/other/deep/x.lua", "return 2");
  tells("a write below it");
  unlink(full("b/other/deep/x.lua"));
  rmdir(full("b/other/deep"));
  tells("a deleted directory");
  make_dir("b/other/deep");
  tells("that comes again");
  put("b/other/deep/x.lua", "return 3");
  tells("and is written to");
  mrpc_watch_free(watch);
}

static void test_links(void) {
  make_dir("releases");
  make_dir("releases/1");
  make_dir("releases/2");
  make_dir("shared");
  put("releases/1/x.lua", "1");
  put("releases/2/x.lua", "2");
  put("shared/y.lua", "1");
  if (symlink("releases/1", full("current"))) abort();
  start("current");
  put("releases/1/x.lua", "3");
  tells("a write behind the link");
  turn_link("releases/2", "current");
  tells("the link is turned");
  put("releases/2/x.lua", "4");
  tells("a write behind it now");
  put("releases/1/x.lua", "5");
  is_silent("not where it led before");
  if (symlink("../../shared/y.lua", full("releases/2/y.lua"))) abort();
  tells("a link to a file");
  put("shared/y.lua", "2");
  tells("a write to that file");
  put("shared/z.lua", "2");
  is_silent("not to its neighbour");
  mrpc_watch_free(watch);
}

/* As Kubernetes mounts it: the files are links by "..data", which is turned. */
static void test_config_map(void) {
  make_dir("map");
  make_dir("map/..1");
  make_dir("map/..2");
  put("map/..1/x.lua", "1");
  put("map/..2/x.lua", "2");
  if (symlink("..1", full("map/..data"))) abort();
  if (symlink("..data/x.lua", full("map/x.lua"))) abort();
  start("map");
  turn_link("..2", "map/..data");
  tells("a swap of the data");
  make_dir("map/..3");
  put("map/..3/x.lua", "3");
  is_silent("not what isn't in use yet");
  turn_link("..3", "map/..data");
  tells("until it is");
  mrpc_watch_free(watch);
}

static void test_absence(void) {
  start("later/on");
  make_dir("later");
  tells("the way to the directory comes");
  make_dir("later/on");
  tells("the directory comes");
  put("later/on/x.lua", "1");
  tells("a file in it");
  unlink(full("later/on/x.lua"));
  rmdir(full("later/on"));
  tells("it goes");
  make_dir("later/on");
  put("later/on/x.lua", "2");
  tells("and comes again");
  put("later/on/x.lua", "3");
  tells("with a file");
  mrpc_watch_free(watch);
}

static void test_debounce(void) {
  make_dir("c");
  start("c");
  unsigned before = told;
  double begin = seconds(), last = begin;
  while (seconds() < begin + 1.4) {
    if (seconds() - last > 0.01) {
      last = seconds();
      put("c/x.lua", "1");
    }
    mrpc_loop_step(loop, 0);
    usleep(500);
  }
  ok(told - before >= 1 && told - before < 6,
     "writes without a pause are told of once a second: %u", told - before);
  tells("and once at their end");
  mrpc_watch_free(watch);
}

static unsigned count_files(void) {
  unsigned count = 0;
  DIR *dir = opendir("/proc/self/fd");
  if (!dir) return 0;
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

/* A loop of its own, whose inotify descriptor can't be had. */
static void test_polling(void) {
  unsigned logged = 0;
  mrpc_env_config config = {.log = on_log, .log_ud = &logged};
  mrpc_env *env2;
  mrpc_loop *loop2;
  mrpc_watch *watch2;
  struct rlimit limit, none;
  uv_timer_t alive;
  if (mrpc_env_new(&config, &env2)) abort();
  loop2 = new_loop(env2, &alive);
  getrlimit(RLIMIT_NOFILE, &limit);
  none = limit;
  none.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &none);
  int rc = mrpc_watch_new(loop2, full("c"), on_change, NULL, &watch2);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (rc) abort();
  ok(mrpc_watch_polls(watch2) != NULL && logged == 1,
     "no watches, and loud: %s", mrpc_watch_polls(watch2));
  unsigned before = told;
  double begin = seconds();
  while (told == before && seconds() < begin + patience)
    mrpc_loop_step(loop2, 0), usleep(1000);
  ok(told > before && seconds() - begin > 0.5, "it looks once a second");
  ok(!mrpc_watch_polls(watch2) && logged == 2, "until there is room again");
  mrpc_watch_free(watch2);
  mrpc_loop_free(loop2);
  mrpc_env_free(env2);
}

int main(void) {
  mrpc_env_config config = {0};
  const char *given = getenv("MOONRPC_PATIENCE");
  if (given) patience = atof(given);
  if (!mkdtemp(root)) return 1;
  if (mrpc_env_new(&config, &env)) return 1;
  uv_timer_t alive;
  loop = new_loop(env, &alive);
  test_files();
  test_flood();
  test_directories();
  test_links();
  test_config_map();
  test_absence();
  test_debounce();
  mrpc_loop_free(loop);
  unsigned files = count_files();
  test_polling();
  ok(count_files() == files, "no descriptor is left");
  mrpc_env_free(env);
  char command[600];
  snprintf(command, sizeof command, "rm -rf %s", root);
  if (system(command)) return 1;
  return tap_finish();
}
