/* SPDX-License-Identifier: MIT
 *
 * Who is on the other side of a stream. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/stream.h"

mrpc_conn *mrpc_conn_find(mrpc_loop *loop, const mrpc_peer *peer) {
  for (mrpc_link *l = loop->streams.next; l != &loop->streams; l = l->next) {
    mrpc_conn *s = mrpc_list_of(l, mrpc_conn, link);
    if (s->peer == peer) return s;
  }
  return NULL;
}

void mrpc_conn_address(const mrpc_conn *s, char *out, size_t size) {
  struct sockaddr_storage addr;
  int len = sizeof addr;
  char host[64];
  out[0] = '\0';
  if (!s->in || s->in->type != UV_TCP) return;
  struct sockaddr *sa = (struct sockaddr *)&addr;
  if (uv_tcp_getpeername(&s->handle.tcp, sa, &len) ||
      uv_ip_name(sa, host, sizeof host))
    return;
  bool six = sa->sa_family == AF_INET6;
  unsigned port = six ? ((struct sockaddr_in6 *)&addr)->sin6_port
                      : ((struct sockaddr_in *)&addr)->sin_port;
  snprintf(out, size, six ? "[%s]:%u" : "%s:%u", host,
           (port >> 8 | port << 8) & 0xffff);
}

bool mrpc_conn_is_owner(const mrpc_conn *s) {
  uv_os_fd_t fd;
  if (!s->in || s->in != s->out || s->in->type != UV_NAMED_PIPE ||
      uv_fileno((const uv_handle_t *)s->in, &fd))
    return false;
#ifdef SO_PEERCRED
  struct ucred who;
  socklen_t len = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
         who.uid == geteuid();
#else
  uid_t uid;
  gid_t gid;
  return getpeereid(fd, &uid, &gid) == 0 && uid == geteuid();
#endif
}
