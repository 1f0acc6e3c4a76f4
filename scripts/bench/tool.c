/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t child;

uint64_t tool_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void tool_fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  if (child > 0) kill(child, SIGKILL);
  exit(1);
}

int tool_connect(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
    tool_fail("can't connect to port %d: %s", port, strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

void tool_start_child(char **command, int *in, int *out) {
  int to[2], from[2];
  if (pipe(to) || pipe(from) || (child = fork()) < 0)
    tool_fail("can't start a child: %s", strerror(errno));
  if (child == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execvp(command[0], command);
    _exit(127);
  }
  close(to[0]), close(from[1]);
  *out = to[1];
  *in = from[0];
}

void tool_end_child(int in, int out) {
  struct pollfd fd = {.fd = in, .events = POLLIN};
  int status = 0;
  close(out);
  if (poll(&fd, 1, PATIENCE) <= 0) tool_fail("the child outlives its input");
  waitpid(child, &status, 0);
  child = 0;
  if (status) tool_fail("the child ended with status %d", status);
}

void tool_set_nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}
