/* SPDX-License-Identifier: MIT
 *
 * Connections are accepted by ourselves, not by libuv, which closes those that
 * it has no descriptor for without a word. What can't be taken, by the limit of
 * connections or for want of descriptors or memory, stays in the kernel's queue
 * while we don't listen to it: until a stream ends, or a second has passed.
 *
 * Such a trouble is told when it begins. Whether it is over is looked at once a
 * second, so that connections that come and go at the limit aren't told one by
 * one. */
#include "transport/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/path.h"
#include "transport/stream.h"

enum {
  BACKLOG = 511,
  BURST = 64, /* connections taken in a row */
  /* What a listening socket never has: it keeps the handle, and so the loop,
   * alive. */
  NOTHING = UV_PRIORITIZED
};
static const uint64_t second = UINT64_C(1000000000); /* in ns */

struct mrpc_listener {
  uv_poll_t poll; /* open when the socket listens */
  int fd;
  bool is_tcp;
  mrpc_loop *loop;
  mrpc_accept_fn fn;
  void *ud;
  bool accepts;     /* it has been told to */
  bool waits;       /* it doesn't listen to the queue, for a trouble's sake */
  bool is_troubled; /* that was told, its end wasn't */
  int pending;      /* accepted, but there was no memory for it; or -1 */
  mrpc_timer retry; /* in a trouble; always started, mostly for never */
  char *path;       /* of the socket file, absolute, or NULL */
  dev_t dev;        /* the file as we made it */
  ino_t ino;
};

static void on_retry(mrpc_timer *timer);

static int new_listener(mrpc_loop *loop, bool is_tcp, mrpc_accept_fn fn,
                        void *ud, mrpc_listener **out) {
  mrpc_listener *l = mrpc_mem_new(&loop->env->mem, sizeof *l);
  if (!l) return MRPC_ENOMEM;
  *l = (mrpc_listener){.fd = -1,
                       .pending = -1,
                       .is_tcp = is_tcp,
                       .loop = loop,
                       .fn = fn,
                       .ud = ud};
  l->retry.fn = on_retry;
  if (mrpc_timer_start(&loop->env->timers, &l->retry, UINT64_MAX)) {
    mrpc_mem_free(&loop->env->mem, l, sizeof *l);
    return MRPC_ENOMEM;
  }
  *out = l;
  return MRPC_OK;
}

static void free_listener(mrpc_listener *l) {
  const mrpc_mem *mem = &l->loop->env->mem;
  if (l->path) mrpc_mem_free(mem, l->path, strlen(l->path) + 1);
  mrpc_mem_free(mem, l, sizeof *l);
}

static void on_closed(uv_handle_t *handle) {
  mrpc_listener *l = handle->data;
  l->loop->handles--;
  free_listener(l);
}

static void remove_file(const mrpc_listener *l) {
  struct stat st;
  if (l->path && l->ino && lstat(l->path, &st) == 0 && st.st_dev == l->dev &&
      st.st_ino == l->ino)
    unlink(l->path);
}

void mrpc_listener_close(mrpc_listener *l) {
  if (!l) return;
  remove_file(l);
  mrpc_timer_stop(&l->loop->env->timers, &l->retry);
  l->accepts = false;
  bool is_open = l->poll.data != NULL;
  if (is_open) uv_close((uv_handle_t *)&l->poll, on_closed);
  if (l->pending >= 0) close(l->pending);
  if (l->fd >= 0) close(l->fd);
  if (!is_open) free_listener(l);
}

/* Troubles. */

/* `value` and `limit` may be NULL. */
static void tell(const mrpc_listener *l, int level, const char *text,
                 const char *name, const char *value, const char *limit) {
  char at[24];
  snprintf(at, sizeof at, "port %u", mrpc_listener_port(l));
  mrpc_log(l->loop->env, level, text, "at", l->path ? l->path : at, name, value,
           "value", limit, NULL);
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void listen_to(mrpc_listener *l, int events) {
  l->waits = events == NOTHING;
  uv_poll_start(&l->poll, events, on_ready);
}

static void look_later(mrpc_listener *l) {
  mrpc_env *env = l->loop->env;
  (void)mrpc_timer_start(&env->timers, &l->retry, mrpc_env_now(env) + second);
}

/* True when this is news. */
static bool hold(mrpc_listener *l) {
  bool is_news = !l->is_troubled;
  l->is_troubled = true;
  listen_to(l, NOTHING);
  if (is_news) look_later(l);
  return is_news;
}

static void hold_full(mrpc_listener *l) {
  char limit[24];
  if (!hold(l)) return;
  snprintf(limit, sizeof limit, "%lu", (unsigned long)l->loop->max_streams);
  tell(l, MRPC_LOG_WARN, "new connections wait: the limit is reached", "limit",
       l->loop->max_name, limit);
}

static void hold_failed(mrpc_listener *l, int status) {
  if (hold(l))
    tell(l, MRPC_LOG_ERROR, "new connections wait: they can't be accepted",
         "error", uv_strerror(status), NULL);
}

static bool has_room(const mrpc_listener *l) {
  return l->accepts && l->loop->stream_count < l->loop->max_streams;
}

static void resume(mrpc_listener *l) {
  if (l->waits && has_room(l)) listen_to(l, UV_READABLE);
  if (l->pending >= 0) on_ready(&l->poll, 0, UV_READABLE);
}

static void on_retry(mrpc_timer *timer) {
  mrpc_listener *l = mrpc_list_of(timer, mrpc_listener, retry);
  (void)mrpc_timer_start(&l->loop->env->timers, timer, UINT64_MAX);
  if (!l->is_troubled || !l->accepts) return;
  if (l->waits) {
    look_later(l);
    resume(l);
    return;
  }
  l->is_troubled = false;
  tell(l, MRPC_LOG_INFO, "new connections are accepted again", NULL, NULL,
       NULL);
}

/* Accepting. */

/* Makes a stream of the descriptor, or closes it; but MRPC_ENOMEM leaves it. */
static int take(mrpc_listener *l, int fd) {
  mrpc_conn *stream;
  int rc = mrpc_conn_new(l->loop, l->is_tcp, &stream);
  if (rc) return rc;
  int status = l->is_tcp ? uv_tcp_open(&stream->handle.tcp, fd)
                         : uv_pipe_open(&stream->handle.pipe, fd);
  if (status) {
    close(fd);
    mrpc_conn_close(stream);
    return MRPC_OK;
  }
  if (l->is_tcp) uv_tcp_nodelay(&stream->handle.tcp, 1);
  l->fn(stream, l->ud);
  return MRPC_OK;
}

/* A descriptor or a negative errno. One that was lost while it waited is none
 * of our business. */
static int accept_next(mrpc_listener *l) {
  int fd = l->pending;
  l->pending = -1;
  while (fd < 0) {
    fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && errno != EINTR && errno != ECONNABORTED && errno != EPROTO)
      return -errno;
  }
  return fd;
}

/* False when there is no more, for now. */
static bool accept_one(mrpc_listener *l) {
  int fd = accept_next(l);
  if (fd == -EAGAIN || fd == -EWOULDBLOCK) return false;
  if (fd < 0) {
    hold_failed(l, fd);
    return false;
  }
  if (take(l, fd) == MRPC_OK) return true;
  l->pending = fd;
  hold_failed(l, UV_ENOMEM);
  return false;
}

static void on_ready(uv_poll_t *poll, int status, int events) {
  mrpc_listener *l = poll->data;
  if (status || !(events & UV_READABLE)) return;
  l->loop->work++;
  if (!l->accepts)
    listen_to(l, NOTHING);
  else if (!has_room(l))
    hold_full(l);
  for (int i = 0; i < BURST && has_room(l); i++)
    if (!accept_one(l)) return;
}

void mrpc_listener_accept(mrpc_listener *l) {
  l->accepts = true;
  resume(l);
}

/* From now on others can connect; they wait until they are accepted. */
static int start(mrpc_listener *l) {
  if (listen(l->fd, BACKLOG)) return -errno;
  int status = uv_poll_init(l->loop->uv, &l->poll, l->fd);
  if (status) return status;
  l->poll.data = l;
  l->loop->handles++;
  listen_to(l, UV_READABLE);
  return 0;
}

/* TCP. */

static int open_tcp(mrpc_listener *l, const struct sockaddr_storage *addr) {
  int yes = 1, no = 0;
  bool is_ip6 = addr->ss_family == AF_INET6;
  socklen_t len =
      is_ip6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
  l->fd =
      socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (l->fd < 0 ||
      setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
      (is_ip6 &&
       setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no)) ||
      bind(l->fd, (const struct sockaddr *)addr, len))
    return -errno;
  return start(l);
}

/* "localhost" needs no resolver; clients try the IPv4 address in any case. */
static int resolve(mrpc_loop *loop, const char *host, uint16_t port,
                   struct sockaddr_storage *out) {
  if (!strcmp(host, "localhost")) host = "127.0.0.1";
  if (!uv_ip4_addr(host, port, (struct sockaddr_in *)out)) return 0;
  if (!uv_ip6_addr(host, port, (struct sockaddr_in6 *)out)) return 0;
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  uv_getaddrinfo_t req;
  int status = uv_getaddrinfo(loop->uv, &req, NULL, host, service, &hints);
  if (status) return status;
  memcpy(out, req.addrinfo->ai_addr, req.addrinfo->ai_addrlen);
  uv_freeaddrinfo(req.addrinfo);
  return 0;
}

int mrpc_listen_tcp(mrpc_loop *loop, const char *host, uint16_t port,
                    mrpc_accept_fn fn, void *ud, mrpc_listener **out) {
  struct sockaddr_storage addr;
  int status = resolve(loop, host, port, &addr);
  if (status) return mrpc_loop_fail(loop, host, status);
  mrpc_listener *l;
  int rc = new_listener(loop, true, fn, ud, &l);
  if (rc) return rc;
  status = open_tcp(l, &addr);
  if (status) {
    mrpc_listener_close(l);
    return mrpc_loop_fail(loop, "can't listen", status);
  }
  *out = l;
  return MRPC_OK;
}

/* IPv4 has its port at the same place. */
uint16_t mrpc_listener_port(const mrpc_listener *l) {
  struct sockaddr_in6 addr = {0};
  socklen_t len = sizeof addr;
  if (l->path || getsockname(l->fd, (struct sockaddr *)&addr, &len)) return 0;
  return ntohs(addr.sin6_port);
}

/* Unix. */

static int fill_address(const char *path, struct sockaddr_un *addr) {
  *addr = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof addr->sun_path) return UV_ENAMETOOLONG;
  memcpy(addr->sun_path, path, strlen(path) + 1);
  return 0;
}

/* Does nobody listen behind this socket file? A queue that is full belongs to
 * somebody. */
static bool is_stale(const struct sockaddr_un *addr) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  int rc = connect(fd, (const struct sockaddr *)addr, sizeof *addr);
  bool stale = rc && errno == ECONNREFUSED;
  close(fd);
  return stale;
}

/* Removes the file that was tried, not one that has come in its place. */
static int remove_stale(const struct sockaddr_un *addr) {
  struct stat before, after;
  if (lstat(addr->sun_path, &before)) return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK(before.st_mode)) return UV_EEXIST;
  if (!is_stale(addr)) return UV_EADDRINUSE;
  if (lstat(addr->sun_path, &after)) return 0;
  if (before.st_ino != after.st_ino || before.st_dev != after.st_dev)
    return UV_EADDRINUSE;
  return unlink(addr->sun_path) && errno != ENOENT ? -errno : 0;
}

/* The mode of the file is that of the socket at bind, so there's no moment in
 * which others could connect, and the process's umask is left alone; systems
 * that don't know this get a chmod. */
static int bind_unix(int fd, const struct sockaddr_un *addr) {
  if (fchmod(fd, 0600) && errno != EINVAL) return -errno;
  const struct sockaddr *sa = (const struct sockaddr *)addr;
  if (bind(fd, sa, sizeof *addr)) {
    if (errno != EADDRINUSE) return -errno;
    int status = remove_stale(addr);
    if (status) return status;
    if (bind(fd, sa, sizeof *addr)) return -errno;
  }
  return chmod(addr->sun_path, 0600) ? -errno : 0;
}

static int open_unix(mrpc_listener *l, const struct sockaddr_un *addr) {
  l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (l->fd < 0) return -errno;
  int status = bind_unix(l->fd, addr);
  struct stat st;
  if (!status && lstat(addr->sun_path, &st)) status = -errno;
  if (status) return status;
  l->dev = st.st_dev;
  l->ino = st.st_ino;
  return start(l);
}

int mrpc_listen_unix(mrpc_loop *loop, const char *path, mrpc_accept_fn fn,
                     void *ud, mrpc_listener **out) {
  mrpc_listener *l;
  struct sockaddr_un addr;
  int status = fill_address(path, &addr);
  if (status) return mrpc_loop_fail(loop, path, status);
  char absolute[MRPC_PATH_MAX];
  int rc = mrpc_path_absolute(path, absolute, sizeof absolute);
  if (!rc) rc = new_listener(loop, false, fn, ud, &l);
  if (rc) return rc;
  l->path = mrpc_mem_copy(&loop->env->mem, absolute, strlen(absolute));
  status = l->path ? open_unix(l, &addr) : UV_ENOMEM;
  if (!status) {
    *out = l;
    return MRPC_OK;
  }
  mrpc_listener_close(l);
  rc = mrpc_loop_fail(loop, "can't listen", status);
  bool taken = status == UV_EEXIST || status == UV_EADDRINUSE;
  return taken ? MRPC_EEXIST : rc;
}
