/* SPDX-License-Identifier: MIT
 *
 * A spot is a directory and, where only one name in it counts, that name:
 *
 *   /srv/current -> /srv/releases/7     watched are /srv for "current",
 *                                       /srv/releases for "7", and all
 *                                       directories below /srv/releases/7
 *
 * The kernel watches the inode, not the path. A directory that was moved away
 * or replaced tells so, and the next walk watches the path anew. */
#include "transport/spot.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "transport/silence.h"

enum { MAX_SPOTS = 8192, MAX_DEPTH = 16, MAX_LINKS = 40, MAX_PATH = 2048 };
enum { FLOOD = 1024 }; /* events, less than the kernel keeps for us */

typedef struct spot {
  uv_fs_event_t handle;
  mrpc_link link;
  mrpc_loop *loop;
  mrpc_spots *spots; /* NULL: it is being closed */
  char *key;         /* the path, NUL, the name or "" */
  size_t key_len;    /* both with their NUL in between */
  const char *name;  /* in key; "" when every name counts */
  uint32_t walk;     /* that needed it last */
  dev_t device;
  ino_t inode;
  bool is_doubtful; /* the inode may have left the path */
} spot;

/* A path that is being built, and the directories that it goes through. */
typedef struct trail {
  const struct trail *up;
  dev_t device;
  ino_t inode;
  unsigned depth;
} trail;

static void walk_directory(mrpc_spots *spots, char *path, size_t len,
                           const trail *up);

/* Spots. */

void mrpc_spots_init(mrpc_spots *spots, mrpc_loop *loop,
                     void (*on_event)(void *ud), void *ud) {
  *spots = (mrpc_spots){.loop = loop, .on_event = on_event, .ud = ud};
  mrpc_list_init(&spots->list);
  mrpc_map_init(&spots->map, &loop->env->mem, loop->env->seed);
}

static void free_spot(spot *s) {
  const mrpc_mem *mem = &s->loop->env->mem;
  mrpc_mem_free(mem, s->key, s->key_len + 1);
  mrpc_mem_free(mem, s, sizeof *s);
}

static void on_closed(uv_handle_t *handle) {
  spot *s = handle->data;
  s->loop->handles--;
  free_spot(s);
}

static void close_spot(spot *s) {
  mrpc_map_remove(&s->spots->map, s->key, s->key_len);
  mrpc_list_remove(&s->link);
  s->spots = NULL;
  uv_close((uv_handle_t *)&s->handle, on_closed);
}

void mrpc_spots_clear(mrpc_spots *spots) {
  while (!mrpc_list_is_empty(&spots->list))
    close_spot(mrpc_list_of(spots->list.next, spot, link));
  mrpc_map_clear(&spots->map);
}

static size_t make_key(char *key, const char *path, size_t len,
                       const char *name) {
  size_t more = strlen(name);
  if (len + more + 2 > MAX_PATH) return 0;
  memcpy(key, path, len);
  key[len] = '\0';
  memcpy(key + len + 1, name, more + 1);
  return len + 1 + more;
}

static spot *find_spot(const mrpc_spots *spots, const char *path, size_t len,
                       const char *name) {
  char key[MAX_PATH];
  size_t key_len = make_key(key, path, len, name);
  return key_len ? mrpc_map_get(&spots->map, key, key_len) : NULL;
}

/* Events. */

static bool ends_in_lua(const char *name) {
  size_t len = strlen(name);
  return len > 4 && strcmp(name + len - 4, ".lua") == 0;
}

/* Other programs keep their logs and locks where they like; a file that is no
 * script is no reason to look. Hidden names count when a link leads over them
 * (a mounted ConfigMap turns "..data"), and directories when they are new or
 * were watched. */
static bool is_relevant(const spot *s, const char *name) {
  char path[MAX_PATH];
  struct stat st;
  size_t len = strlen(s->key), more = strlen(name);
  if (s->name[0]) return strcmp(s->name, name) == 0;
  if (find_spot(s->spots, s->key, len, name)) return true;
  if (name[0] == '.' || name[0] == '#') return false;
  if (ends_in_lua(name)) return true;
  if (len + more + 2 > sizeof path) return false;
  memcpy(path, s->key, len);
  path[len] = '/';
  memcpy(path + len + 1, name, more + 1);
  if (find_spot(s->spots, path, len + 1 + more, "")) return true;
  return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* When the inode itself is moved or deleted, libuv names it by the last part
 * of its path. */
static bool is_about_itself(const spot *s, const char *name) {
  const char *slash = strrchr(s->key, '/');
  return strcmp(slash ? slash + 1 : s->key, name) == 0;
}

/* What the kernel has no room for it drops, and libuv doesn't tell; so many
 * events, whatever they are about, are a reason to look. */
static bool is_flood(mrpc_spots *spots) {
  return ++spots->idle % FLOOD == 0;
}

static void on_event(uv_fs_event_t *handle, const char *name, int events,
                     int status) {
  spot *s = handle->data;
  (void)events;
  if (!s->spots) return;
  bool is_lost = status < 0 || !name || is_about_itself(s, name);
  if (is_lost) s->is_doubtful = true;
  if (is_lost || is_relevant(s, name) || is_flood(s->spots))
    s->spots->on_event(s->spots->ud);
}

/* Adding. */

static spot *make_spot(mrpc_spots *spots, const char *key, size_t key_len) {
  const mrpc_mem *mem = &spots->loop->env->mem;
  spot *s = mrpc_mem_new(mem, sizeof *s);
  if (!s) return NULL;
  s->loop = spots->loop;
  s->key_len = key_len;
  s->key = mrpc_mem_copy(mem, key, key_len);
  if (s->key && uv_fs_event_init(spots->loop->uv, &s->handle) == 0) return s;
  if (s->key) mrpc_mem_free(mem, s->key, key_len + 1);
  mrpc_mem_free(mem, s, sizeof *s);
  return NULL;
}

/* From here on the handle is the loop's, which must be asked to close it. */
static int start_spot(mrpc_spots *spots, spot *s) {
  s->handle.data = s;
  s->loop->handles++;
  s->spots = spots;
  s->name = s->key + strlen(s->key) + 1;
  mrpc_list_insert(&spots->list, &s->link);
  int status = uv_fs_event_start(&s->handle, on_event, s->key, 0);
  if (!status && mrpc_map_set(&spots->map, s->key, s->key_len, s))
    status = UV_ENOMEM;
  if (status)
    close_spot(s);
  else
    uv_unref((uv_handle_t *)&s->handle);
  return status;
}

static void fail(mrpc_spots *spots, int status) {
  if (status == UV_ENOENT || status == UV_ENOTDIR) return;
  if (!spots->status) spots->status = status;
}

static void renew(const mrpc_spots *spots, spot *s, const struct stat *st) {
  s->walk = spots->walk;
  s->device = st->st_dev;
  s->inode = st->st_ino;
}

/* Watches a directory, all names in it or one. */
static void add_spot(mrpc_spots *spots, const char *path, size_t len,
                     const char *name, const struct stat *st) {
  char key[MAX_PATH];
  size_t key_len = make_key(key, path, len, name);
  if (!key_len) return;
  spot *s = mrpc_map_get(&spots->map, key, key_len);
  bool is_good =
      s && !s->is_doubtful && s->device == st->st_dev && s->inode == st->st_ino;
  if (s && !is_good) close_spot(s);
  if (is_good) {
    renew(spots, s, st);
    return;
  }
  if (spots->map.count >= MAX_SPOTS) {
    fail(spots, UV_ENOSPC);
    return;
  }
  s = make_spot(spots, key, key_len);
  if (!s) {
    fail(spots, UV_ENOMEM);
    return;
  }
  renew(spots, s, st);
  int status = start_spot(spots, s);
  if (status) fail(spots, status);
}

/* The way to a place. */

/* Watches a directory for one name in it. */
static void add_gate(mrpc_spots *spots, const char *path, size_t len,
                     const char *name) {
  char dir[MAX_PATH];
  struct stat st;
  memcpy(dir, path, len);
  dir[len] = '\0';
  if (len == 0) {
    dir[0] = '/';
    dir[len = 1] = '\0';
  }
  if (stat(dir, &st) == 0) add_spot(spots, dir, len, name, &st);
}

/* An absolute path on the way from its text to where it leads. */
typedef struct way {
  char done[MAX_PATH]; /* has no link in it; "" is the root directory */
  size_t len;
  size_t dir;          /* length of it without its last part */
  char rest[MAX_PATH]; /* still to go; without a "/" in front */
} way;

/* Moves the next part from the rest to what is done. False at the end. */
static bool go_on(way *w) {
  size_t skip = strspn(w->rest, "/");
  size_t part = strcspn(w->rest + skip, "/");
  if (part == 0 || w->len + part + 2 > sizeof w->done) return false;
  w->dir = w->len;
  w->done[w->len++] = '/';
  memcpy(w->done + w->len, w->rest + skip, part);
  w->len += part;
  w->done[w->len] = '\0';
  size_t used = skip + part;
  used += strspn(w->rest + used, "/");
  memmove(w->rest, w->rest + used, strlen(w->rest + used) + 1);
  return true;
}

/* "." and ".." lead nowhere new: what is done has no links. */
static bool step_back(way *w) {
  const char *part = w->done + w->dir + 1;
  bool is_up = strcmp(part, "..") == 0;
  if (!is_up && strcmp(part, ".")) return false;
  w->len = w->dir;
  if (is_up)
    while (w->len && w->done[--w->len] != '/') continue;
  w->done[w->len] = '\0';
  return true;
}

/* Goes on with what the link says, instead of it. */
static bool follow(way *w) {
  char target[MAX_PATH];
  ssize_t got = readlink(w->done, target, sizeof target - 1);
  size_t len = got > 0 ? (size_t)got : 0, rest = strlen(w->rest);
  if (len == 0 || len + 1 + rest + 1 > sizeof w->rest) return false;
  memmove(w->rest + len + 1, w->rest, rest + 1);
  memcpy(w->rest, target, len);
  w->rest[len] = '/';
  w->len = target[0] == '/' ? 0 : w->dir;
  w->done[w->len] = '\0';
  return true;
}

/* Watches what can change where an absolute path leads: every link on the way,
 * its end, and the first part that is missing. */
static void add_way(mrpc_spots *spots, const char *path) {
  way w = {.len = 0};
  struct stat st;
  if (strlen(path) >= sizeof w.rest) return;
  memcpy(w.rest, path, strlen(path) + 1);
  for (unsigned links = 0; links <= MAX_LINKS && go_on(&w);) {
    if (step_back(&w)) continue;
    const char *part = w.done + w.dir + 1;
    bool is_there = lstat(w.done, &st) == 0;
    bool is_link = is_there && S_ISLNK(st.st_mode);
    if (!is_there || is_link || !w.rest[0])
      add_gate(spots, w.done, w.dir, part);
    if (!is_there || (is_link && !follow(&w))) return;
    links += is_link;
  }
}

/* Walking. */

static bool is_inside_itself(const trail *at) {
  for (const trail *up = at->up; up; up = up->up)
    if (up->device == at->device && up->inode == at->inode) return true;
  return false;
}

/* One entry, whose path is complete. */
static void visit(mrpc_spots *spots, char *path, size_t len, int type,
                  const trail *here) {
  struct stat st;
  if (type == DT_UNKNOWN && lstat(path, &st) == 0)
    type = S_ISLNK(st.st_mode) ? DT_LNK : S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
  if (type == DT_LNK) add_way(spots, path);
  if (type == DT_LNK || type == DT_DIR) walk_directory(spots, path, len, here);
}

static void visit_all(mrpc_spots *spots, DIR *stream, char *path, size_t len,
                      const trail *here) {
  for (const struct dirent *entry; (entry = readdir(stream));) {
    const char *name = entry->d_name;
    size_t more = strlen(name);
    if (name[0] == '.' || name[0] == '#') continue;
    if (len + more + 2 > MAX_PATH) continue;
    path[len] = '/';
    memcpy(path + len + 1, name, more + 1);
    visit(spots, path, len + 1 + more, entry->d_type, here);
    path[len] = '\0';
  }
}

/* Each file system on the way is asked once, be it that of a file which a link
 * leads to. */
static void note_silence(mrpc_spots *spots, const char *path,
                         const struct stat *st, const trail *up) {
  if (!spots->silence && (!up || up->device != st->st_dev))
    spots->silence = mrpc_silence_find(path);
}

static void walk_directory(mrpc_spots *spots, char *path, size_t len,
                           const trail *up) {
  struct stat st;
  if (stat(path, &st)) return;
  note_silence(spots, path, &st, up);
  if (!S_ISDIR(st.st_mode)) return;
  trail here = {up, st.st_dev, st.st_ino, up ? up->depth + 1 : 0};
  if (here.depth > MAX_DEPTH || is_inside_itself(&here)) return;
  add_spot(spots, path, len, "", &st);
  DIR *stream = opendir(path);
  if (!stream) {
    if (errno == EMFILE || errno == ENFILE) fail(spots, UV_EMFILE);
    return;
  }
  visit_all(spots, stream, path, len, &here);
  closedir(stream);
}

void mrpc_spots_walk(mrpc_spots *spots, const char *root) {
  char path[MAX_PATH];
  size_t len = strlen(root);
  if (len >= sizeof path) return;
  memcpy(path, root, len + 1);
  spots->walk++;
  spots->status = 0;
  spots->silence = NULL;
  add_way(spots, root);
  walk_directory(spots, path, len, NULL);
  for (mrpc_link *at = spots->list.next, *next; at != &spots->list; at = next) {
    spot *s = mrpc_list_of(at, spot, link);
    next = at->next;
    if (s->walk != spots->walk) close_spot(s);
  }
}
