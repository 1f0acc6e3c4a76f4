/* SPDX-License-Identifier: MIT
 *
 * Times a server from its start to its first answer.
 *
 *   start CORE PORT METHOD COMMAND...
 *
 * Starts COMMAND on CORE, tries to connect to PORT over and over, posts one
 * call by HTTP, and prints the seconds from the fork to the last byte of an
 * answer that holds "result":19. Then it ends the server.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 10 /* seconds */ };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t start_server(size_t core, char **command) {
  pid_t child = fork();
  if (child == 0) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    dup2(2, 1);
    execvp(command[0], command);
    _exit(127);
  }
  return child;
}

static int connect_to(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address)) {
    close(fd);
    return -1;
  }
  return fd;
}

static bool post_call(int fd, int port, const char *method) {
  char body[256], text[512];
  int len = snprintf(body, sizeof body,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"%s\","
                     "\"params\":[42,23],\"id\":1}",
                     method);
  len = snprintf(text, sizeof text,
                 "POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                 "Content-Type: application/json\r\n"
                 "Content-Length: %d\r\n\r\n%s",
                 port, len, body);
  return send(fd, text, (size_t)len, MSG_NOSIGNAL) == len;
}

static bool read_answer(int fd) {
  char text[4096] = {0};
  size_t len = 0;
  ssize_t n;
  while (len < sizeof text - 1 &&
         (n = recv(fd, text + len, sizeof text - 1 - len, 0)) > 0) {
    len += (size_t)n;
    text[len] = 0;
    if (strstr(text, "\"result\":19") && text[len - 1] == '}') return true;
  }
  fprintf(stderr, "start: not the answer: %s\n", text);
  return false;
}

static double first_answer(pid_t child, int port, const char *method,
                           double start) {
  const struct timespec pause = {.tv_nsec = 50000};
  bool answered;
  int fd;
  while ((fd = connect_to(port)) < 0) {
    if (now() - start > PATIENCE || waitpid(child, NULL, WNOHANG)) return -1;
    nanosleep(&pause, NULL);
  }
  answered = post_call(fd, port, method) && read_answer(fd);
  start = now() - start;
  close(fd);
  return answered ? start : -1;
}

int main(int argc, char **argv) {
  double start = now(), seconds;
  pid_t child;
  if (argc < 5) return 2;
  child = start_server(strtoul(argv[1], NULL, 10), argv + 4);
  if (child < 0) return 1;
  seconds = first_answer(child, atoi(argv[2]), argv[3], start);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  if (seconds < 0) return 1;
  printf("seconds=%.6f\n", seconds);
  return 0;
}
