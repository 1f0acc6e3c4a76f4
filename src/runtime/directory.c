/* SPDX-License-Identifier: MIT
 *
 * Walks with openat and fstatat, so that each step costs one look-up however
 * deep it is. Links are followed. A directory that is its own ancestor (a link
 * that leads up) is skipped; depth and path length are bounded. What vanishes
 * between two calls is taken as never having been there: whoever watches is
 * told of it and asks again. */
#include "runtime/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEPTH = 16, MAX_PATH = 1024, PIECE = 16384 };

struct mrpc_directory {
  mrpc_env *env;
  char *path;
  size_t len;
};

/* A directory on the way from the root to where the walk is. */
typedef struct place {
  const struct place *parent;
  dev_t device;
  ino_t inode;
  unsigned depth;
} place;

typedef struct walk {
  mrpc_script_fn found;
  void *to;
  struct timespec now;
  char path[MAX_PATH]; /* of the entry at hand, relative to the root */
} walk;

static int walk_directory(walk *w, DIR *stream, const place *parent,
                          size_t len);

int mrpc_directory_new(mrpc_env *env, const char *path, mrpc_directory **out) {
  mrpc_directory *dir = mrpc_mem_new(&env->mem, sizeof *dir);
  if (!dir) return MRPC_ENOMEM;
  dir->env = env;
  dir->len = strlen(path);
  dir->path = mrpc_mem_copy(&env->mem, path, dir->len);
  if (!dir->path) {
    mrpc_mem_free(&env->mem, dir, sizeof *dir);
    return MRPC_ENOMEM;
  }
  *out = dir;
  return MRPC_OK;
}

void mrpc_directory_free(mrpc_directory *dir) {
  if (!dir) return;
  mrpc_env *env = dir->env;
  mrpc_mem_free(&env->mem, dir->path, dir->len + 1);
  mrpc_mem_free(&env->mem, dir, sizeof *dir);
}

static const char *explain(int err) {
  switch (err) {
    case EACCES:
    case EPERM: return "permission denied";
    case EMFILE:
    case ENFILE: return "too many open files";
    case ELOOP: return "too many symbolic links";
    case ENOMEM: return "not enough memory";
    default: return "it can't be read";
  }
}

/* Ends in ".lua" and has something before it. Whatever begins with "." or "#"
 * has been left out already. */
static bool is_script_name(const char *name) {
  size_t len = strlen(name);
  return len > 4 && memcmp(name + len - 4, ".lua", 4) == 0;
}

static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
  return h ^ (h >> 32);
}

/* The device and inode say which file the path leads to now. The time of the
 * last status change is the one that no program can set back. */
static uint64_t make_stamp(const struct stat *st) {
  uint64_t h = mix((uint64_t)st->st_dev, (uint64_t)st->st_ino);
  h = mix(h, (uint64_t)st->st_size);
  h = mix(h, (uint64_t)st->st_mtim.tv_sec);
  h = mix(h, (uint64_t)st->st_mtim.tv_nsec);
  h = mix(h, (uint64_t)st->st_ctim.tv_sec);
  return mix(h, (uint64_t)st->st_ctim.tv_nsec);
}

static double seconds_between(const struct timespec *a,
                              const struct timespec *b) {
  return (double)(b->tv_sec - a->tv_sec) +
         (double)(b->tv_nsec - a->tv_nsec) * 1e-9;
}

/* Since the latest of both times: a copy may keep that of its content. */
static double find_age(const struct stat *st, const struct timespec *now) {
  double written = seconds_between(&st->st_mtim, now);
  double changed = seconds_between(&st->st_ctim, now);
  return written < changed ? written : changed;
}

static int tell_file(walk *w, const struct stat *st) {
  mrpc_script script = {w->path, make_stamp(st), (uint64_t)st->st_size,
                        find_age(st, &w->now), NULL};
  return w->found(&script, w->to);
}

static int tell_fault(walk *w, const char *why) {
  mrpc_script script = {.path = w->path, .fault = why};
  return w->found(&script, w->to);
}

static bool is_inside_itself(const place *at) {
  for (const place *up = at->parent; up; up = up->parent)
    if (up->device == at->device && up->inode == at->inode) return true;
  return false;
}

static int enter(walk *w, int dirfd, const char *name, const place *parent,
                 size_t len) {
  if (parent->depth >= MAX_DEPTH) return tell_fault(w, "nested too deep");
  int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = fd < 0 ? NULL : fdopendir(fd);
  if (stream) return walk_directory(w, stream, parent, len);
  int err = errno;
  if (fd >= 0) close(fd);
  if (err == ENOENT || err == ENOTDIR) return MRPC_OK;
  return tell_fault(w, explain(err));
}

/* One entry, whose path stands in w->path with length `len`. */
static int visit(walk *w, int dirfd, const struct dirent *entry,
                 const place *parent, size_t len) {
  const char *name = entry->d_name;
  if (entry->d_type == DT_DIR) return enter(w, dirfd, name, parent, len);
  bool is_script = is_script_name(name);
  if (entry->d_type == DT_REG && !is_script) return MRPC_OK;
  struct stat st;
  if (fstatat(dirfd, name, &st, 0)) {
    if (errno == ENOENT || errno == ENOTDIR) return MRPC_OK;
    return tell_fault(w, explain(errno));
  }
  if (S_ISDIR(st.st_mode)) return enter(w, dirfd, name, parent, len);
  return is_script && S_ISREG(st.st_mode) ? tell_file(w, &st) : MRPC_OK;
}

/* Puts the entry's name behind the first `len` bytes of the path. */
static int extend(walk *w, size_t *len, const char *name) {
  size_t more = strlen(name);
  size_t at = *len;
  if (at + more + 2 > sizeof w->path) return tell_fault(w, "path too long");
  if (at) w->path[at++] = '/';
  memcpy(w->path + at, name, more + 1);
  *len = at + more;
  return MRPC_OK;
}

/* A listing that breaks off must not look like one whose last files were
 * deleted, so readdir's errors count. */
static int visit_all(walk *w, DIR *stream, const place *here, size_t len) {
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(stream);
    if (!entry) return errno ? MRPC_EIO : MRPC_OK;
    if (entry->d_name[0] == '.' || entry->d_name[0] == '#') continue;
    size_t entry_len = len;
    int rc = extend(w, &entry_len, entry->d_name);
    if (!rc && entry_len > len)
      rc = visit(w, dirfd(stream), entry, here, entry_len);
    w->path[len] = '\0';
    if (rc) return rc;
  }
}

/* Closes the stream. */
static int walk_directory(walk *w, DIR *stream, const place *parent,
                          size_t len) {
  int rc = MRPC_EIO;
  struct stat st;
  if (fstat(dirfd(stream), &st) == 0) {
    place here = {parent, st.st_dev, st.st_ino, parent ? parent->depth + 1 : 0};
    rc = is_inside_itself(&here) ? MRPC_OK : visit_all(w, stream, &here, len);
  }
  closedir(stream);
  return rc;
}

static int list(void *ud, mrpc_script_fn found, void *to) {
  const mrpc_directory *dir = ud;
  walk w = {.found = found, .to = to};
  clock_gettime(CLOCK_REALTIME, &w.now);
  int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR ? MRPC_ENOTFOUND : MRPC_EIO;
  DIR *stream = fdopendir(fd);
  if (!stream) {
    close(fd);
    return MRPC_EIO;
  }
  return walk_directory(&w, stream, NULL, 0);
}

static int hand_over(int fd, mrpc_text_fn text, void *to) {
  char piece[PIECE];
  for (;;) {
    ssize_t got = read(fd, piece, sizeof piece);
    if (got == 0) return MRPC_OK;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MRPC_EIO;
    int rc = text(piece, (size_t)got, to);
    if (rc) return rc;
  }
}

/* O_NONBLOCK, since a FIFO that took the script's place must not hold us. */
static int read_script(void *ud, const char *path, mrpc_text_fn text,
                       void *to) {
  const mrpc_directory *dir = ud;
  char full[2 * MAX_PATH];
  size_t len = strlen(path);
  if (dir->len + len + 2 > sizeof full) return MRPC_EIO;
  memcpy(full, dir->path, dir->len);
  full[dir->len] = '/';
  memcpy(full + dir->len + 1, path, len + 1);
  int fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR ? MRPC_ENOTFOUND : MRPC_EIO;
  struct stat st;
  int rc = MRPC_EIO;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) rc = hand_over(fd, text, to);
  close(fd);
  return rc;
}

mrpc_source mrpc_directory_source(mrpc_directory *dir) {
  return (mrpc_source){.list = list, .read = read_script, .ud = dir};
}
