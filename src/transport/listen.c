/* SPDX-License-Identifier: MIT
 *
 * libuv holds one connection back when its callback doesn't accept, and stops
 * to look for more: that is all that the limit of connections needs. */
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

enum { BACKLOG = 511 };
static const uint64_t second = UINT64_C(1000000000); /* in ns */

struct mrpc_listener {
  union {
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  } handle;
  mrpc_loop *loop;
  mrpc_accept_fn fn;
  void *ud;
  bool accepts;     /* it has been told to */
  bool waits;       /* libuv holds a connection for us */
  bool is_full;     /* that was told, its end wasn't */
  mrpc_timer retry; /* in a trouble; always started, mostly for never */
  uint64_t warned;  /* when we last complained that accepting fails */
  char *path;       /* of the socket file, absolute, or NULL */
  dev_t dev;        /* the file as we made it */
  ino_t ino;
};

static void on_closed(uv_handle_t *handle) {
  mrpc_listener *l = handle->data;
  mrpc_loop *loop = l->loop;
  loop->handles--;
  if (l->path) mrpc_mem_free(&loop->env->mem, l->path, strlen(l->path) + 1);
  mrpc_mem_free(&loop->env->mem, l, sizeof *l);
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
  uv_close((uv_handle_t *)&l->handle.stream, on_closed);
}

/* Moving a timer needs no memory. */
static void look_later(mrpc_listener *l) {
  mrpc_env *env = l->loop->env;
  (void)mrpc_timer_start(&env->timers, &l->retry, mrpc_env_now(env) + second);
}

/* The limit is told when it strikes, and when nobody waits at a look: so
 * connections that come and go at the limit aren't told one by one. */
static void tell_full(mrpc_listener *l) {
  const mrpc_loop *loop = l->loop;
  char limit[24];
  l->is_full = true;
  look_later(l);
  snprintf(limit, sizeof limit, "%lu", (unsigned long)loop->max_streams);
  mrpc_log(loop->env, MRPC_LOG_WARN, "new connections wait", "limit",
           loop->max_name, "value", limit, NULL);
}

static void tell_room(mrpc_listener *l) {
  l->is_full = false;
  mrpc_log(l->loop->env, MRPC_LOG_INFO, "new connections are accepted again",
           NULL);
}

static void on_retry(mrpc_timer *timer) {
  mrpc_listener *l = mrpc_list_of(timer, mrpc_listener, retry);
  (void)mrpc_timer_start(&l->loop->env->timers, timer, UINT64_MAX);
  if (l->accepts) mrpc_listener_accept(l);
  if (l->is_full && l->waits)
    look_later(l);
  else if (l->is_full)
    tell_room(l);
}

static int new_listener(mrpc_loop *loop, bool is_tcp, mrpc_accept_fn fn,
                        void *ud, mrpc_listener **out) {
  mrpc_listener *l = mrpc_mem_new(&loop->env->mem, sizeof *l);
  if (!l) return MRPC_ENOMEM;
  *l = (mrpc_listener){.loop = loop, .fn = fn, .ud = ud};
  l->retry.fn = on_retry;
  if (mrpc_timer_start(&loop->env->timers, &l->retry, UINT64_MAX)) {
    mrpc_mem_free(&loop->env->mem, l, sizeof *l);
    return MRPC_ENOMEM;
  }
  if (is_tcp)
    uv_tcp_init(loop->uv, &l->handle.tcp);
  else
    uv_pipe_init(loop->uv, &l->handle.pipe, 0);
  l->handle.stream.data = l;
  loop->handles++;
  *out = l;
  return MRPC_OK;
}

/* Accepting. */

/* Without memory the connection waits a second. */
static void take(mrpc_listener *l) {
  mrpc_conn *stream;
  bool is_tcp = l->handle.stream.type == UV_TCP;
  l->waits = mrpc_conn_new(l->loop, is_tcp, &stream) != MRPC_OK;
  if (l->waits) {
    look_later(l);
    return;
  }
  if (uv_accept(&l->handle.stream, &stream->handle.stream)) {
    mrpc_conn_close(stream);
    return;
  }
  if (is_tcp) uv_tcp_nodelay(&stream->handle.tcp, 1);
  l->fn(stream, l->ud);
}

static bool has_room(const mrpc_listener *l) {
  return l->accepts && l->loop->stream_count < l->loop->max_streams;
}

/* libuv survives the want of descriptors by itself: it closes what it can't
 * take. We say so, once a second. */
static void complain(mrpc_listener *l, int status) {
  uint64_t now = mrpc_env_now(l->loop->env);
  if (l->warned && now - l->warned < second) return;
  l->warned = now;
  mrpc_log(l->loop->env, MRPC_LOG_ERROR, "can't accept a connection", "error",
           uv_strerror(status), NULL);
}

static void hold(mrpc_listener *l) {
  l->waits = true;
  if (l->accepts && !l->is_full) tell_full(l);
}

static void on_connection(uv_stream_t *server, int status) {
  mrpc_listener *l = server->data;
  l->loop->work++;
  if (status)
    complain(l, status);
  else if (has_room(l))
    take(l);
  else
    hold(l);
}

void mrpc_listener_accept(mrpc_listener *l) {
  l->accepts = true;
  if (l->waits && has_room(l)) take(l);
}

/* TCP. */

static int bind_tcp(mrpc_listener *l, const struct sockaddr *addr) {
  int status = uv_tcp_bind(&l->handle.tcp, addr, 0);
  return status ? status : uv_listen(&l->handle.stream, BACKLOG, on_connection);
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
  status = bind_tcp(l, (struct sockaddr *)&addr);
  if (status) {
    mrpc_listener_close(l);
    return mrpc_loop_fail(loop, "can't listen", status);
  }
  *out = l;
  return MRPC_OK;
}

uint16_t mrpc_listener_port(const mrpc_listener *l) {
  struct sockaddr_storage addr;
  int len = sizeof addr;
  if (l->path ||
      uv_tcp_getsockname(&l->handle.tcp, (struct sockaddr *)&addr, &len))
    return 0;
  return ntohs(addr.ss_family == AF_INET6
                   ? ((struct sockaddr_in6 *)&addr)->sin6_port
                   : ((struct sockaddr_in *)&addr)->sin_port);
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
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int status = bind_unix(fd, addr);
  struct stat st;
  if (!status && lstat(addr->sun_path, &st)) status = -errno;
  if (!status) {
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    status = uv_pipe_open(&l->handle.pipe, fd);
  }
  if (status) {
    close(fd);
    return status;
  }
  return uv_listen(&l->handle.stream, BACKLOG, on_connection);
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
