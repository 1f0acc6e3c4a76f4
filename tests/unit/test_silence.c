/* SPDX-License-Identifier: MIT
 *
 * File systems that don't tell of what happens in them, as those that other
 * machines write to. This program stands in for libc's statfs, which calls a
 * directory's file system by another name, and inotify_add_watch, which
 * watches it for nothing that will happen. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <uv.h>

#include "tap.h"
#include "transport/watch.h"

static char root[] = "/tmp/mrpc-silence-XXXXXX";
static mrpc_env *env;
static mrpc_loop *loop;
static mrpc_watch *watch;
static unsigned told, warned, relieved;
static unsigned magic; /* of the file system at "far"; 0: it has a good name */

static bool is_far(const char *path) {
  return strstr(path, "/far") != NULL;
}

int statfs(const char *path, struct statfs *out) {
  typedef int (*function)(const char *, struct statfs *);
  static function real;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "statfs");
  int rc = real(path, out);
  if (!rc && magic && is_far(path)) {
    memset(&out->f_type, 0, sizeof out->f_type);
    memcpy(&out->f_type, &magic, sizeof magic);
  }
  return rc;
}

int inotify_add_watch(int fd, const char *path, uint32_t mask) {
  typedef int (*function)(int, const char *, uint32_t);
  static function real;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "inotify_add_watch");
  return real(fd, path, is_far(path) ? IN_UNMOUNT : mask);
}

static void on_change(void *ud) {
  (void)ud;
  told++;
}

static void on_log(const mrpc_log_entry *entry, void *ud) {
  (void)ud;
  if (entry->level == MRPC_LOG_WARN) warned++;
  if (entry->level == MRPC_LOG_INFO) relieved++;
}

static void on_time(uv_timer_t *timer) {
  (void)timer;
}

static double seconds(void) {
  return (double)uv_hrtime() * 1e-9;
}

/* How long it takes until the watch tells; at most `limit` seconds. */
static double wait_told(double limit) {
  double begin = seconds();
  unsigned before = told;
  while (told == before && seconds() - begin < limit) {
    mrpc_loop_step(loop, 0);
    if (told == before) usleep(500);
  }
  return seconds() - begin;
}

static const char *full(const char *path) {
  static char text[2][512];
  static int at;
  at = !at;
  snprintf(text[at], sizeof text[at], "%s/%s", root, path);
  return text[at];
}

static void put(const char *path) {
  FILE *file = fopen(full(path), "w");
  if (!file) abort();
  fputs("return 1", file);
  fclose(file);
}

static void start(const char *path) {
  warned = relieved = 0;
  if (mrpc_watch_new(loop, full(path), on_change, NULL, &watch)) abort();
}

static void stop(void) {
  mrpc_watch_free(watch);
  wait_told(0.05);
}

static void test_names(void) {
  static const struct {
    unsigned magic;
    const char *name;
  } systems[] = {
      {0x6969, "NFS"},      {0x517b, "SMB"},     {0xfe534d42, "SMB2"},
      {0xff534d42, "CIFS"}, {0x01021997, "9P"},  {0x65735546, "FUSE"},
      {0x00c36400, "Ceph"}, {0x5346414f, "AFS"}, {0x0bd00bd0, "Lustre"}};
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
    magic = systems[i].magic;
    start("far");
    ok(mrpc_watch_polls(watch) && warned == 1, "%s: it polls, and says so",
       systems[i].name);
    stop();
  }
  magic = 0;
  start("far");
  ok(!mrpc_watch_polls(watch) && !warned, "it trusts all others");
  put("far/x.lua");
  ok(wait_told(1.5) >= 1.5, "here in vain: there are no events");
  stop();
}

static void test_looks(void) {
  magic = 0x6969;
  start("far");
  for (int i = 0; i < 2; i++) {
    double waited = wait_told(10);
    ok(waited > 0.5 && waited < 5, "it looks once a second: %.2f s", waited);
  }
  ok(warned == 1 && !relieved, "which it says once");
  magic = 0;
  wait_told(10);
  ok(!mrpc_watch_polls(watch) && relieved == 1, "until it needn't");
  ok(wait_told(1.5) >= 1.5, "then it doesn't");
  stop();
}

/* What is looked through may lie elsewhere than its root. The temporary
 * directory and /dev/shm are two file systems. */
static void test_elsewhere(const char *path, const char *what) {
  magic = 0x6969;
  start(path);
  ok(mrpc_watch_polls(watch) && warned == 1, "%s is asked for", what);
  ok(wait_told(10) < 5, "and looked at");
  stop();
}

static void prepare_elsewhere(const char *shm) {
  char file[600];
  snprintf(file, sizeof file, "%s/far/x.lua", shm);
  if (mkdir(full("a"), 0777) || mkdir(full("b"), 0777)) abort();
  snprintf(file, sizeof file, "%s/far", shm);
  if (mkdir(file, 0777) || symlink(file, full("a/far"))) abort();
  snprintf(file, sizeof file, "%s/far/x.lua", shm);
  FILE *made = fopen(file, "w");
  if (!made || fclose(made) || symlink(file, full("b/far.lua"))) abort();
}

static bool is_another(const char *shm) {
  struct stat here, there;
  return stat(root, &here) == 0 && stat(shm, &there) == 0 &&
         here.st_dev != there.st_dev;
}

int main(void) {
  char shm[] = "/dev/shm/mrpc-silence-XXXXXX", command[600];
  mrpc_env_config config = {.log = on_log, .log_level = MRPC_LOG_INFO};
  uv_timer_t alive; /* a watch keeps no loop alive */
  if (!mkdtemp(root) || mrpc_env_new(&config, &env)) return 1;
  if (mrpc_loop_new(env, NULL, &loop)) return 1;
  uv_timer_init(loop->uv, &alive);
  uv_timer_start(&alive, on_time, 3600000, 0);
  if (mkdir(full("far"), 0777)) return 1;
  put("far/x.lua");
  test_names();
  test_looks();
  bool has_shm = mkdtemp(shm) != NULL;
  if (has_shm && is_another(shm)) {
    prepare_elsewhere(shm);
    test_elsewhere("a", "a directory that a link leads to");
    test_elsewhere("b", "a file that a link leads to");
  }
  mrpc_loop_free(loop);
  mrpc_env_free(env);
  snprintf(command, sizeof command, "rm -rf %s %s", root, has_shm ? shm : "");
  if (system(command)) return 1;
  return tap_finish();
}
