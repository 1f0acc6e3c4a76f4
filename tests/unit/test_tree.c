/* SPDX-License-Identifier: MIT */
#include "runtime/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "oom.h"
#include "runtime/directory.h"
#include "tap.h"

enum { SECOND = 1000000000 };

static mrpc_env *new_env(fake *f) {
  mrpc_env *env = NULL;
  mrpc_env_config config = {.clock = fake_clock, .clock_ud = f};
  if (mrpc_env_new(&config, &env)) abort();
  f->now = 100 * (uint64_t)SECOND;
  return env;
}

static mrpc_tree_node *get(const mrpc_tree *tree, const char *path) {
  return mrpc_tree_find(tree, path, strlen(path));
}

/* Scans and reads what is stale; how many changes that brought. */
static uint32_t look(mrpc_tree *tree) {
  uint32_t before = tree->changes;
  if (mrpc_tree_scan(tree)) abort();
  for (mrpc_link *at = tree->nodes.next; at != &tree->nodes; at = at->next) {
    mrpc_tree_node *node = mrpc_list_of(at, mrpc_tree_node, link);
    if (node->is_stale && mrpc_tree_read(tree, node)) abort();
  }
  return tree->changes - before;
}

static void test_changes(void) {
  fake f = {0};
  mrpc_env *env = new_env(&f);
  mrpc_source source = fake_source(&f);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);

  fake_put(&f, "math.lua", "return {}");
  fake_put(&f, "_lib/util.lua", "return 1");
  fake_put(&f, "user/_x.lua", "return 2");
  fake_put(&f, "a_b/c_d.lua", "return 2");
  ok(look(&tree) > 0, "new files are a change");
  mrpc_tree_node *math = get(&tree, "math.lua");
  ok(math && math->is_present && !math->is_private, "a public file");
  is_bytes(math->text.data, math->text.len, "return {}", 9, "its text is kept");
  ok(get(&tree, "_lib/util.lua")->is_private, "_lib/ is private");
  ok(get(&tree, "user/_x.lua")->is_private, "_x.lua is private");
  ok(!get(&tree, "a_b/c_d.lua")->is_private, "a_b/c_d.lua isn't");

  f.reads = 0;
  ok(look(&tree) == 0 && f.reads == 0, "nothing changed, nothing is read");
  uint64_t hash = math->hash;
  fake_put(&f, "math.lua", "return {}");
  look(&tree);
  ok(f.reads == 1 && math->hash == hash, "a touch is read, the hash stays");
  fake_put(&f, "math.lua", "return 11");
  ok(look(&tree) > 0 && math->hash != hash, "same size, other content");

  fake_remove(&f, "math.lua");
  ok(look(&tree) == 1 && !math->is_present, "a deleted file is a change");
  ok(math->text.len == 0, "its text is dropped");
  mrpc_tree_prune(&tree);
  ok(!get(&tree, "math.lua"), "and it is forgotten");
  ok(get(&tree, "_lib/util.lua") != NULL, "others are not");

  mrpc_tree_node *absent = mrpc_tree_expect(&tree, "x.lua", 5);
  absent->users = 1;
  mrpc_tree_prune(&tree);
  ok(get(&tree, "x.lua") == absent && !absent->is_present, "one can wait");
  fake_put(&f, "x.lua", "return 1");
  look(&tree);
  ok(absent->is_present, "for a file to come");

  mrpc_tree_clear(&tree);
  mrpc_env_free(env);
}

static void test_doubt(void) {
  fake f = {0};
  mrpc_env *env = new_env(&f);
  mrpc_source source = fake_source(&f);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  fake_file *file = fake_put(&f, "a.lua", "return 1");
  file->age = 0.001;
  look(&tree);
  file->text = "return 2";
  ok(look(&tree) == 1, "a young file is read though its stamp is the same");
  file->age = 5;
  f.reads = 0;
  ok(look(&tree) == 0 && f.reads == 1, "once more when it is old");
  ok(look(&tree) == 0 && f.reads == 1, "then its stamp is believed");
  mrpc_tree_clear(&tree);
  mrpc_env_free(env);
}

static void test_settling(void) {
  fake f = {0};
  mrpc_env *env = new_env(&f);
  mrpc_source source = fake_source(&f);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  fake_put(&f, "old.lua", "");
  look(&tree);
  ok(!mrpc_tree_is_settling(&tree), "an old empty file is what it is");
  fake_put(&f, "a.lua", "return 1");
  look(&tree);
  ok(!mrpc_tree_is_settling(&tree), "a file with content too");
  fake_put(&f, "a.lua", "")->age = 0;
  look(&tree);
  ok(mrpc_tree_is_settling(&tree), "a truncated file is being written");
  f.now += SECOND / 2;
  fake_put(&f, "a.lua", "");
  look(&tree);
  ok(mrpc_tree_is_settling(&tree), "half a second later too");
  f.now += SECOND / 2;
  look(&tree);
  ok(!mrpc_tree_is_settling(&tree), "after a second it is empty");
  fake_put(&f, "new.lua", "")->age = 0.01;
  look(&tree);
  ok(mrpc_tree_is_settling(&tree), "a new empty file is being written");
  fake_put(&f, "new.lua", "return 1");
  look(&tree);
  ok(!mrpc_tree_is_settling(&tree), "until it has content");
  mrpc_tree_clear(&tree);
  mrpc_env_free(env);
}

static void test_faults(void) {
  fake f = {0};
  mrpc_env *env = new_env(&f);
  mrpc_source source = fake_source(&f);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  fake_put(&f, "a.lua", NULL);
  ok(look(&tree) > 0, "an unreadable file is a change");
  ok(get(&tree, "a.lua")->fault != NULL, "and has a fault");
  f.reads = 0;
  ok(look(&tree) == 0 && f.reads == 1, "it is tried again, with no change");
  fake_find(&f, "a.lua")->text = "return 1";
  ok(look(&tree) == 1 && !get(&tree, "a.lua")->fault, "until it can be read");

  f.list_result = MRPC_EIO;
  fake_remove(&f, "a.lua");
  ok(mrpc_tree_scan(&tree) == MRPC_EIO, "a failed listing is told");
  ok(get(&tree, "a.lua")->is_present, "and deletes nothing");
  f.list_result = MRPC_OK;
  ok(look(&tree) == 1, "the next one does");
  mrpc_tree_clear(&tree);
  mrpc_env_free(env);
}

/* The directory. */

static char root[] = "/tmp/mrpc-tree-XXXXXX";

static void put(const char *path, const char *text) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  FILE *file = fopen(full, "w");
  if (!file) abort();
  fputs(text, file);
  fclose(file);
}

static void make_dir(const char *path) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  if (mkdir(full, 0777)) abort();
}

static void make_link(const char *to, const char *path) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  if (symlink(to, full)) abort();
}

static void test_directory(void) {
  mrpc_env *env = NULL;
  mrpc_env_config config = {0};
  if (mrpc_env_new(&config, &env)) abort();
  char real[512], current[512];
  make_dir("releases");
  make_dir("releases/1");
  make_dir("releases/1/user");
  make_dir("releases/1/user/deep");
  make_dir("releases/1/.git");
  make_dir("releases/1/dir.lua");
  make_dir("shared");
  put("releases/1/math.lua", "return 1");
  put("releases/1/user/init.lua", "return 2");
  put("releases/1/user/deep/x.lua", "return 3");
  put("releases/1/.git/hook.lua", "");
  put("releases/1/.hidden.lua", "");
  put("releases/1/math.lua~", "");
  put("releases/1/.math.lua.swp", "");
  put("releases/1/#math.lua#", "");
  put("releases/1/4913", "");
  put("releases/1/notes.txt", "");
  put("releases/1/.lua", "");
  put("shared/s.lua", "return 4");
  make_link("../../shared", "releases/1/linked");
  make_link("../../shared/s.lua", "releases/1/one.lua");
  make_link("..", "releases/1/user/up");
  make_link("nowhere", "releases/1/dangling.lua");
  make_link("releases/1", "current");
  snprintf(real, sizeof real, "%s/releases/1/fifo.lua", root);
  if (mkfifo(real, 0666)) abort();
  snprintf(current, sizeof current, "%s/current", root);

  mrpc_directory *dir = NULL;
  ok(mrpc_directory_new(env, current, &dir) == MRPC_OK, "directory");
  mrpc_source source = mrpc_directory_source(dir);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  look(&tree);
  ok(tree.present == 5, "five files: %u", tree.present);
  ok(get(&tree, "math.lua") && get(&tree, "user/init.lua") &&
         get(&tree, "user/deep/x.lua"),
     "files and directories");
  ok(get(&tree, "linked/s.lua") && get(&tree, "one.lua"), "links are followed");
  is_bytes(get(&tree, "one.lua")->text.data, 8, "return 4", 8, "and read");
  ok(look(&tree) == 0, "nothing changes by itself");

  make_dir("releases/2");
  put("releases/2/math.lua", "return 5");
  if (unlink(current)) abort();
  make_link("releases/2", "current");
  ok(look(&tree) > 0, "the directory is swapped by its link");
  ok(tree.present == 1, "what was in the old one is gone");
  is_bytes(get(&tree, "math.lua")->text.data, 8, "return 5", 8, "new content");

  if (unlink(current)) abort();
  ok(mrpc_tree_scan(&tree) == MRPC_ENOTFOUND, "no directory");
  mrpc_tree_clear(&tree);
  mrpc_directory_free(dir);
  mrpc_env_free(env);
}

/* As `cp -p` and `rsync -t` write: the time of the content is that of another
 * file, so only the time of the change tells how young the content is. */
static void test_kept_time(void) {
  mrpc_env *env = NULL;
  mrpc_env_config config = {0};
  if (mrpc_env_new(&config, &env)) abort();
  char full[512];
  const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
  make_dir("kept");
  put("kept/a.lua", "return 1");
  snprintf(full, sizeof full, "%s/kept/a.lua", root);
  if (utimensat(AT_FDCWD, full, times, 0)) abort();
  snprintf(full, sizeof full, "%s/kept", root);
  mrpc_directory *dir = NULL;
  if (mrpc_directory_new(env, full, &dir)) abort();
  mrpc_source source = mrpc_directory_source(dir);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  look(&tree);
  ok(get(&tree, "a.lua")->is_doubted, "a young copy with an old time is young");
  mrpc_tree_clear(&tree);
  mrpc_directory_free(dir);
  mrpc_env_free(env);
}

static void test_limits(void) {
  mrpc_env *env = NULL;
  mrpc_env_config config = {0};
  if (mrpc_env_new(&config, &env)) abort();
  char path[512] = "deep", full[512];
  make_dir(path);
  for (int i = 0; i < 20; i++) {
    strcat(path, "/d");
    make_dir(path);
  }
  snprintf(full, sizeof full, "%s/deep", root);
  mrpc_directory *dir = NULL;
  if (mrpc_directory_new(env, full, &dir)) abort();
  mrpc_source source = mrpc_directory_source(dir);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  look(&tree);
  mrpc_tree_node *node = get(&tree, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d");
  ok(node && node->fault, "too deep is told: %s", node ? node->fault : "");
  mrpc_tree_clear(&tree);
  mrpc_directory_free(dir);
  mrpc_env_free(env);
}

static double seconds(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void test_thousand(void) {
  mrpc_env *env = NULL;
  mrpc_env_config config = {0};
  if (mrpc_env_new(&config, &env)) abort();
  char path[64], full[512];
  make_dir("many");
  for (int i = 0; i < 1000; i++) {
    snprintf(path, sizeof path, "many/f%d.lua", i);
    put(path, "return { f = function() return 1 end }");
  }
  snprintf(full, sizeof full, "%s/many", root);
  mrpc_directory *dir = NULL;
  if (mrpc_directory_new(env, full, &dir)) abort();
  mrpc_source source = mrpc_directory_source(dir);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  look(&tree);
  double start = seconds();
  if (mrpc_tree_scan(&tree)) abort();
  double took = seconds() - start;
  ok(tree.present == 1000 && took < 0.1, "1,000 files in %.2f ms", took * 1e3);
  mrpc_tree_clear(&tree);
  mrpc_directory_free(dir);
  mrpc_env_free(env);
}

static void scenario(oom *o) {
  fake f = {0};
  mrpc_env *env = NULL;
  mrpc_env_config config = {.alloc = oom_alloc, .alloc_ud = o};
  if (mrpc_env_new(&config, &env)) return;
  mrpc_source source = fake_source(&f);
  mrpc_tree tree;
  mrpc_tree_init(&tree, env, &source);
  fake_put(&f, "a.lua", "return 1");
  fake_put(&f, "b.lua", "return 2");
  if (mrpc_tree_scan(&tree) == MRPC_OK)
    mrpc_tree_read(&tree, get(&tree, "a.lua"));
  mrpc_tree_expect(&tree, "x.lua", 5);
  mrpc_tree_clear(&tree);
  mrpc_directory *dir = NULL;
  if (mrpc_directory_new(env, "/", &dir) == MRPC_OK) mrpc_directory_free(dir);
  mrpc_env_free(env);
}

int main(void) {
  if (!mkdtemp(root)) return 1;
  test_changes();
  test_doubt();
  test_settling();
  test_faults();
  test_directory();
  test_kept_time();
  test_limits();
  test_thousand();
  oom_each("tree", scenario, false);
  char command[600];
  snprintf(command, sizeof command, "rm -rf %s", root);
  if (system(command)) return 1;
  return tap_finish();
}
