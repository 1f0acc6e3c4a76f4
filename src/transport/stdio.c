/* SPDX-License-Identifier: MIT
 *
 * Whether reads block is a property of the open file, and others have the
 * same file open: the shell, the parent, the process on the other side of a
 * `2>&1`. So a pipe is opened once more through /proc and only our own copy
 * is made non-blocking; libuv does the same for terminals. What can't be
 * opened again (a socket) gets its flags back at the end. */
#include "transport/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "transport/stream.h"

typedef union any_handle {
  uv_stream_t stream;
  uv_tcp_t tcp;
  uv_pipe_t pipe;
  uv_tty_t tty;
} any_handle;

typedef struct stdio {
  mrpc_conn stream; /* its own handle is an idle one, for files */
  any_handle in;
  any_handle out;
  int flags[2];  /* of descriptors that others share, -1: nothing to do */
  int shared[2]; /* copies to restore the flags by */
} stdio;

/* A private copy of `fd` above the standard ones, on its own open file if
 * possible; `*shared` tells whether it isn't. */
static int open_copy(int fd, int mode, bool *shared) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  uv_handle_type type = uv_guess_handle(fd);
  *shared = type == UV_NAMED_PIPE || type == UV_TCP;
  int copy = *shared ? open(path, mode | O_NONBLOCK | O_CLOEXEC) : -1;
  if (copy >= 0) *shared = false;
  return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Takes descriptor `fd` (0 or 1) away; the new one or a negative errno. */
static int take(stdio *io, int fd, int mode) {
  bool shared;
  int copy = open_copy(fd, mode, &shared);
  if (copy < 0) return -errno;
  if (shared) {
    io->flags[fd] = fcntl(copy, F_GETFL);
    io->shared[fd] = fcntl(copy, F_DUPFD_CLOEXEC, 3);
  }
  return copy;
}

static void restore_flags(stdio *io) {
  for (int i = 0; i < 2; i++) {
    if (io->shared[i] < 0) continue;
    fcntl(io->shared[i], F_SETFL, io->flags[i]);
    close(io->shared[i]);
  }
}

/* Puts /dev/null in the place of stdin, stderr in that of stdout. */
static int move_standard(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return -errno;
  int status = dup2(null, 0) < 0 ? -errno : 0;
  bool has_stderr = fcntl(2, F_GETFD) >= 0;
  if (!status && dup2(has_stderr ? 2 : null, 1) < 0) status = -errno;
  if (null > 2) close(null);
  return status;
}

/* Makes the handle of one end; `*made` is set when it has to be closed.
 * UV_ENOTSUP: it's a file, or something else that can't be polled. */
static int open_end(uv_loop_t *uv, any_handle *h, int fd, bool is_in,
                    uv_stream_t **made) {
  int status = UV_ENOTSUP;
  uv_handle_type type = uv_guess_handle(fd);
  if (type == UV_TTY) status = uv_tty_init(uv, &h->tty, fd, is_in);
  if (type == UV_TCP) status = uv_tcp_init(uv, &h->tcp);
  if (type == UV_NAMED_PIPE) status = uv_pipe_init(uv, &h->pipe, 0);
  if (status) return status;
  *made = &h->stream;
  if (type == UV_TCP) status = uv_tcp_open(&h->tcp, fd);
  if (type == UV_NAMED_PIPE) status = uv_pipe_open(&h->pipe, fd);
  return status;
}

static void free_stdio(mrpc_conn *stream, void *ud) {
  (void)ud;
  stdio *io = (stdio *)stream;
  restore_flags(io);
  if (stream->in_fd >= 0) close(stream->in_fd);
  if (stream->out_fd >= 0) close(stream->out_fd);
  mrpc_mem_free(&stream->loop->env->mem, io, sizeof *io);
}

/* Makes both ends; what was made when one fails is closed with the stream. */
static int open_ends(stdio *io, uv_loop_t *uv) {
  mrpc_conn *s = &io->stream;
  uv_idle_init(uv, &s->handle.idle);
  s->handle.idle.data = s;
  s->handles = 1;
  int status = open_end(uv, &io->in, s->in_fd, true, &s->in);
  if (!status) s->in_fd = -1;
  if (status && status != UV_ENOTSUP) return status;
  status = open_end(uv, &io->out, s->out_fd, false, &s->out);
  if (!status) s->out_fd = -1;
  return status == UV_ENOTSUP ? 0 : status;
}

/* The handles that exist belong to the stream from here on. */
static void adopt(mrpc_conn *s, mrpc_loop *loop) {
  if (s->in) s->in->data = s;
  if (s->out) s->out->data = s;
  s->handles += (s->in ? 1U : 0U) + (s->out ? 1U : 0U);
  s->on_free = free_stdio;
  mrpc_conn_join(s, loop);
}

int mrpc_stdio_new(mrpc_loop *loop, mrpc_conn **out) {
  stdio *io = mrpc_mem_new(&loop->env->mem, sizeof *io);
  if (!io) return MRPC_ENOMEM;
  mrpc_conn *s = &io->stream;
  io->shared[0] = io->shared[1] = -1;
  s->loop = loop;
  s->out_fd = -1;
  s->in_fd = take(io, 0, O_RDONLY);
  int status = s->in_fd < 0 ? s->in_fd : 0;
  if (!status) s->out_fd = take(io, 1, O_WRONLY);
  if (!status && s->out_fd < 0) status = s->out_fd;
  if (!status) status = move_standard();
  if (status) {
    free_stdio(s, NULL);
    return mrpc_loop_fail(loop, "standard input and output", status);
  }
  status = open_ends(io, loop->uv);
  adopt(s, loop);
  *out = s;
  if (!status) return MRPC_OK;
  mrpc_conn_close(s);
  return mrpc_loop_fail(loop, "standard input and output", status);
}
