/* SPDX-License-Identifier: MIT
 *
 * Each address gets a socket of its own; the first that connects wins. An
 * attempt that is given up from outside (the stream is closed with the host)
 * ends through its connect callback like one that fails. */
#include "transport/connect.h"

#include <stdio.h>

#include "transport/stream.h"

typedef struct attempt {
  mrpc_loop *loop;
  mrpc_connect_fn fn;
  void *ud;
  mrpc_conn *stream; /* that is being connected */
  struct addrinfo *list;
  struct addrinfo *next; /* to try */
  uv_getaddrinfo_t resolve;
  uv_connect_t connect;
  char subject[128]; /* for messages: the address as the caller gave it */
} attempt;

static void try_next(attempt *a, int status);

static void finish(attempt *a, mrpc_conn *stream, int status) {
  mrpc_loop *loop = a->loop;
  mrpc_connect_fn fn = a->fn;
  void *ud = a->ud;
  if (status) mrpc_loop_fail(loop, a->subject, status);
  uv_freeaddrinfo(a->list);
  mrpc_mem_free(&loop->env->mem, a, sizeof *a);
  loop->handles--;
  fn(stream, ud);
}

static void on_connect(uv_connect_t *req, int status) {
  attempt *a = req->data;
  if (status == 0) {
    if (a->stream->handle.stream.type == UV_TCP)
      uv_tcp_nodelay(&a->stream->handle.tcp, 1);
    finish(a, a->stream, 0);
  } else {
    if (status != UV_ECANCELED) mrpc_conn_close(a->stream);
    try_next(a, status);
  }
}

/* Tries the next address; `status` is why the one before failed. */
static void try_next(attempt *a, int status) {
  while (a->next && status != UV_ECANCELED) {
    const struct sockaddr *addr = a->next->ai_addr;
    a->next = a->next->ai_next;
    status = mrpc_conn_new(a->loop, true, &a->stream) ? UV_ENOMEM : 0;
    if (status) break;
    a->connect.data = a;
    status =
        uv_tcp_connect(&a->connect, &a->stream->handle.tcp, addr, on_connect);
    if (!status) return;
    mrpc_conn_close(a->stream);
  }
  finish(a, NULL, status);
}

static void on_resolved(uv_getaddrinfo_t *req, int status,
                        struct addrinfo *list) {
  attempt *a = req->data;
  a->list = a->next = list;
  try_next(a, a->loop->closing ? UV_ECANCELED : status);
}

static attempt *new_attempt(mrpc_loop *loop, mrpc_connect_fn fn, void *ud) {
  attempt *a = mrpc_mem_new(&loop->env->mem, sizeof *a);
  if (!a) return NULL;
  a->loop = loop;
  a->fn = fn;
  a->ud = ud;
  loop->handles++;
  return a;
}

static int give_up(attempt *a, int status) {
  mrpc_loop *loop = a->loop;
  mrpc_loop_fail(loop, a->subject, status);
  mrpc_mem_free(&loop->env->mem, a, sizeof *a);
  loop->handles--;
  return MRPC_EIO;
}

int mrpc_connect_tcp(mrpc_loop *loop, const char *host, uint16_t port,
                     mrpc_connect_fn fn, void *ud) {
  attempt *a = new_attempt(loop, fn, ud);
  if (!a) return MRPC_ENOMEM;
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  snprintf(a->subject, sizeof a->subject, "%s port %u", host, port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  a->resolve.data = a;
  int status =
      uv_getaddrinfo(loop->uv, &a->resolve, on_resolved, host, service, &hints);
  return status ? give_up(a, status) : MRPC_OK;
}

int mrpc_connect_unix(mrpc_loop *loop, const char *path, mrpc_connect_fn fn,
                      void *ud) {
  attempt *a = new_attempt(loop, fn, ud);
  if (!a) return MRPC_ENOMEM;
  snprintf(a->subject, sizeof a->subject, "%s", path);
  int status = mrpc_conn_new(loop, false, &a->stream) ? UV_ENOMEM : 0;
  if (status) return give_up(a, status);
  a->connect.data = a;
  uv_pipe_connect(&a->connect, &a->stream->handle.pipe, path, on_connect);
  return MRPC_OK;
}
