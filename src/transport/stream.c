/* SPDX-License-Identifier: MIT
 *
 * Everything leads to settle: flush what the peer has, read or not as it
 * wishes, and begin to close when it's done.
 *
 *   open -> [read: recv, settle]* -> finish -> (linger) -> close -> free
 *
 * A server that closes a TCP socket with unread input sends a reset, and the
 * reset may destroy an answer which the other side hasn't read yet (a 413 in
 * the middle of an upload). So the end is: shut the sending side, throw away
 * what still arrives for a short time, close. */
#include "transport/stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/peer.h"

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

/* What one uv_write holds: after each chunk the peer learns of progress. */
enum { CHUNK = 256 << 10 };
static const double linger_time = 2.0; /* seconds */
static const double look_time = 0.5;   /* between looks for a hang-up */

static void start_linger(mrpc_conn *s);
static void set_reading(mrpc_conn *s, bool on);
static void look(mrpc_conn *s);

/* Birth. */

static void on_time(mrpc_timer *timer) {
  mrpc_conn *s = mrpc_list_of(timer, mrpc_conn, timer);
  if (s->lingering)
    mrpc_conn_close(s);
  else
    look(s);
}

void mrpc_conn_join(mrpc_conn *s, mrpc_loop *loop) {
  s->loop = loop;
  s->timer.fn = on_time;
  mrpc_list_init(&s->woken);
  mrpc_list_insert(&loop->streams, &s->link);
  loop->stream_count++;
  loop->handles += s->handles;
}

static void free_stream(mrpc_conn *s, void *ud) {
  (void)ud;
  mrpc_mem_free(&s->loop->env->mem, s, sizeof *s);
}

int mrpc_conn_new(mrpc_loop *loop, bool is_tcp, mrpc_conn **out) {
  mrpc_conn *s = mrpc_mem_new(&loop->env->mem, sizeof *s);
  if (!s) return MRPC_ENOMEM;
  int status = is_tcp ? uv_tcp_init(loop->uv, &s->handle.tcp)
                      : uv_pipe_init(loop->uv, &s->handle.pipe, 0);
  if (status) {
    mrpc_mem_free(&loop->env->mem, s, sizeof *s);
    return mrpc_loop_fail(loop, "socket", status);
  }
  s->in = s->out = &s->handle.stream;
  s->in->data = s;
  s->in_fd = s->out_fd = -1;
  s->handles = 1;
  s->on_free = free_stream;
  mrpc_conn_join(s, loop);
  *out = s;
  return MRPC_OK;
}

void mrpc_conn_open(mrpc_conn *s, mrpc_peer *peer) {
  s->peer = peer;
  mrpc_conn_settle(s);
}

/* What comes in. */

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf) {
  (void)hint;
  mrpc_loop *loop = ((mrpc_conn *)handle->data)->loop;
  bool later =
      loop->until && loop->work != loop->first && uv_hrtime() >= loop->until;
  *buf = later ? uv_buf_init(NULL, 0) : uv_buf_init(loop->room, MRPC_ROOM);
}

/* The other side has gone: is the end put off? */
static bool is_held(mrpc_conn *s) {
  if (!s->on_lost || !s->on_lost(s)) return false;
  set_reading(s, false);
  return true;
}

void mrpc_conn_end(mrpc_conn *s) {
  if (s->broken) {
    mrpc_conn_close(s);
    return;
  }
  s->eof = true;
  mrpc_peer_eof(s->peer);
  mrpc_conn_settle(s);
}

/* The other side learns of the end, though the stream stays open. */
static void hang_up(const mrpc_conn *s) {
  uv_os_fd_t fd;
  if (s->out && uv_fileno((const uv_handle_t *)s->out, &fd) == 0)
    shutdown(fd, SHUT_RDWR);
}

/* The other side is dead, or the peer has given it up. What goes on all the
 * same (a notification that HTTP has answered) keeps the stream, which is one
 * of the connections so long. */
static void lose(mrpc_conn *s) {
  s->broken = s->lost = true;
  set_reading(s, false);
  mrpc_peer_drop(s->peer);
  if (mrpc_peer_is_done(s->peer))
    mrpc_conn_close(s);
  else
    hang_up(s);
}

/* Nothing more can be sent. */
static void break_off(mrpc_conn *s) {
  s->broken = true;
  if (!is_held(s)) lose(s);
}

void mrpc_conn_feed(mrpc_conn *s, const char *bytes, ssize_t len) {
  s->loop->work++;
  if (len > 0) {
    if (s->lingering) return;
    s->failed = mrpc_peer_recv(s->peer, bytes, (size_t)len) != MRPC_OK;
    mrpc_conn_settle(s);
  } else if (s->lingering) {
    mrpc_conn_close(s);
  } else if (len < 0) {
    lose(s);
  } else if (!is_held(s)) {
    mrpc_conn_end(s);
  }
}

static void on_read(uv_stream_t *in, ssize_t nread, const uv_buf_t *buf) {
  if (nread == 0 || nread == UV_ENOBUFS) return;
  mrpc_conn_feed(in->data, buf->base, nread == UV_EOF ? 0 : nread);
}

static void on_idle(uv_idle_t *idle) {
  mrpc_conn *s = idle->data;
  ssize_t len = read(s->in_fd, s->loop->room, MRPC_ROOM);
  if (len < 0 && (errno == EINTR || errno == EAGAIN)) return;
  mrpc_conn_feed(s, s->loop->room, len);
}

/* What poll says of an end of the stream. */
static int poll_end(const uv_stream_t *stream, short events) {
  uv_os_fd_t fd;
  if (!stream || uv_fileno((const uv_handle_t *)stream, &fd)) return 0;
  struct pollfd end = {.fd = fd, .events = events};
  return poll(&end, 1, 0) > 0 ? end.revents : 0;
}

/* Who isn't read doesn't show that he has gone, except to who asks. The end
 * that we write to tells: a pipe's reading end hangs up at a half-close. */
static bool has_hung_up(const mrpc_conn *s) {
  return (poll_end(s->out, 0) & (POLLERR | POLLHUP)) != 0;
}

/* Nor does he show that he has ended his sending; that may be all there is to
 * see of a dead one. While nothing is read it starts the time for answers. */
static bool is_left(mrpc_conn *s) {
  const mrpc_env *env = s->loop->env;
  if (s->eof || !s->peer) return false;
  if (!(poll_end(s->in, POLLRDHUP) & (POLLRDHUP | POLLHUP))) return false;
  if (!s->left_at)
    s->left_at = mrpc_env_after(env, mrpc_peer_half_closed(s->peer));
  return mrpc_env_now(env) >= s->left_at;
}

/* Without memory for the timer it is looked for when reading stops again. */
static void look_later(mrpc_conn *s) {
  mrpc_env *env = s->loop->env;
  if (!mrpc_timer_is_started(&s->timer))
    (void)mrpc_timer_start(&env->timers, &s->timer,
                           mrpc_env_after(env, look_time));
}

static void look(mrpc_conn *s) {
  if (s->reading || s->broken) return;
  if (has_hung_up(s) || is_left(s))
    break_off(s);
  else
    look_later(s);
}

static void set_reading(mrpc_conn *s, bool on) {
  if (s->reading == on) return;
  s->reading = on;
  s->left_at = 0;
  if (!on) look_later(s);
  if (s->in && on)
    uv_read_start(s->in, on_alloc, on_read);
  else if (s->in)
    uv_read_stop(s->in);
  else if (on)
    uv_idle_start(&s->handle.idle, on_idle);
  else
    uv_idle_stop(&s->handle.idle);
}

/* What goes out. */

static void on_written(uv_write_t *req, int status) {
  mrpc_conn *s = req->data;
  size_t len = s->writing;
  s->writing = 0;
  if (s->closing || s->lost) return;
  if (status) {
    break_off(s);
    return;
  }
  mrpc_peer_sent(s->peer, len);
  mrpc_conn_settle(s);
}

/* The socket is full: libuv goes on with a chunk when it can. */
static int write_later(mrpc_conn *s, const char *bytes, size_t len) {
  if (len > CHUNK) len = CHUNK;
  uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
  s->req.write.data = s;
  int status = uv_write(&s->req.write, s->out, &buf, 1, on_written);
  if (status) return status;
  s->writing = len;
  return 0;
}

/* A regular file takes everything or fails. */
static ssize_t write_file(int fd, const char *bytes, size_t len) {
  for (;;) {
    ssize_t n = write(fd, bytes, len);
    if (n >= 0 || (errno != EINTR && errno != EAGAIN)) return n;
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    if (errno == EAGAIN) poll(&room, 1, -1);
  }
}

static ssize_t write_now(mrpc_conn *s, const char *bytes, size_t len) {
  if (!s->out) return write_file(s->out_fd, bytes, len);
  uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
  int n = uv_try_write(s->out, &buf, 1);
  return n == UV_EAGAIN ? 0 : n;
}

/* Sends what there is, as far as the socket takes it. False: it is dead. */
static bool send_now(mrpc_conn *s) {
  const char *bytes;
  size_t len;
  while (!s->writing && (len = mrpc_peer_output(s->peer, &bytes)) > 0) {
    ssize_t n = write_now(s, bytes, len);
    if (n < 0) return false;
    if (n > 0) mrpc_peer_sent(s->peer, (size_t)n);
    if ((size_t)n < len) break;
  }
  return true;
}

/* The peer may have moved what is left when it heard of progress, so libuv
 * gets its pointer afterwards. */
static bool flush(mrpc_conn *s) {
  const char *bytes;
  if (!send_now(s)) return false;
  if (s->writing) return true;
  size_t len = mrpc_peer_output(s->peer, &bytes);
  return len == 0 || write_later(s, bytes, len) == 0;
}

/* What is said within one turn of the loop may be more than the peer holds. It
 * is sent as far as the socket takes it, so that who does read isn't taken for
 * one who doesn't; libuv gets nothing yet, since it would go on with that in
 * the next turn only. Settle sees what became of it. */
void mrpc_conn_wake(mrpc_peer *peer, void *stream) {
  mrpc_conn *s = stream;
  if (s->closing) return;
  if (mrpc_list_is_empty(&s->woken))
    mrpc_list_insert(&s->loop->woken, &s->woken);
  if (!s->finishing && !s->broken && s->peer && mrpc_peer_is_choked(peer))
    (void)send_now(s);
}

/* The end. */

/* Might the other side have sent, or go on to send, what nobody reads? A write
 * that still stands means that the peer gave up on its output. */
static bool should_linger(const mrpc_conn *s) {
  uv_os_fd_t fd;
  int unread = 0;
  if (s->eof || s->writing || !s->in || s->in != s->out) return false;
  if (mrpc_peer_is_moot(s->peer) || mrpc_peer_is_opening(s->peer)) return false;
  if (!s->draining || s->failed) return true;
  return uv_fileno((const uv_handle_t *)s->in, &fd) == 0 &&
         ioctl(fd, FIONREAD, &unread) == 0 && unread > 0;
}

static void on_shutdown(uv_shutdown_t *req, int status) {
  mrpc_conn *s = req->data;
  if (s->closing) return;
  if (status)
    mrpc_conn_close(s);
  else
    start_linger(s);
}

static void start_linger(mrpc_conn *s) {
  mrpc_env *env = s->loop->env;
  s->lingering = true;
  set_reading(s, true);
  if (mrpc_timer_start(&env->timers, &s->timer,
                       mrpc_env_after(env, linger_time)))
    mrpc_conn_close(s);
}

static void finish(mrpc_conn *s) {
  s->finishing = true;
  set_reading(s, false);
  s->req.shutdown.data = s;
  if (!should_linger(s) ||
      uv_shutdown(&s->req.shutdown, s->out, on_shutdown) != 0)
    mrpc_conn_close(s);
}

void mrpc_conn_settle(mrpc_conn *s) {
  if (s->lost && mrpc_peer_is_done(s->peer)) mrpc_conn_close(s);
  if (s->closing || s->finishing || s->broken || !s->peer) return;
  if (!flush(s)) {
    break_off(s);
    return;
  }
  if (mrpc_peer_is_done(s->peer))
    finish(s);
  else if (mrpc_peer_is_dropped(s->peer))
    lose(s);
  else
    set_reading(s, !s->eof && !s->failed && mrpc_peer_wants_read(s->peer));
}

void mrpc_conn_drain(mrpc_conn *s) {
  if (s->closing || !s->peer) return;
  s->draining = true;
  mrpc_peer_drain(s->peer);
  mrpc_conn_wake(s->peer, s);
}

static void on_closed(uv_handle_t *handle) {
  mrpc_conn *s = handle->data;
  mrpc_loop *loop = s->loop;
  loop->handles--;
  if (--s->handles) return;
  mrpc_peer_free(s->peer);
  s->on_free(s, s->ud);
}

static void close_handle(uv_handle_t *handle) {
  const mrpc_conn *s = handle->data;
  if (uv_is_closing(handle)) return;
  if (!s->resets || handle->type != UV_TCP ||
      uv_tcp_close_reset((uv_tcp_t *)handle, on_closed))
    uv_close(handle, on_closed);
}

void mrpc_conn_close(mrpc_conn *s) {
  if (s->closing) return;
  s->closing = true;
  mrpc_timer_stop(&s->loop->env->timers, &s->timer);
  mrpc_list_remove(&s->woken);
  mrpc_list_remove(&s->link);
  s->loop->stream_count--;
  if (s->peer) mrpc_peer_abandon(s->peer);
  if (s->on_close) s->on_close(s, s->ud);
  uv_handle_t *idle = (uv_handle_t *)&s->handle.idle;
  if (idle->type == UV_IDLE) close_handle(idle);
  if (s->in) close_handle((uv_handle_t *)s->in);
  if (s->out && s->out != s->in) close_handle((uv_handle_t *)s->out);
}
