/* SPDX-License-Identifier: MIT
 *
 * Loads a newline-delimited JSON-RPC server and checks its answers.
 *
 *   load [options] -p PORT           a server that listens on TCP
 *   load [options] -- COMMAND...     a child that speaks on its stdio
 *
 * It keeps N calls in flight: whenever an answer frees its slot the slot sends
 * its next call at once, in writes of a quarter of the slots, and it looks for
 * answers without sleeping for a while: so client and server work at the same
 * time instead of by turns, and the server is what is measured.
 *
 * One line of key=value pairs on stdout says what was seen.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"
#include "tool.h"

enum { SPINS = 1000 /* looks for an answer before it sleeps */ };

typedef struct load {
  const char *method;
  int port;
  char **command;
  uint32_t slots_used;

  int in, out;
  ledger calls;
  uint32_t free[MAX_SLOTS]; /* a stack of idle slots */
  uint32_t free_count;

  char output[MAX_SLOTS * MAX_REQUEST];
  size_t output_from, output_len;
  char input[256 * 1024];
  size_t input_len;
} load;

static void take_answers(load *l) {
  char *line = l->input, *end = l->input + l->input_len, *newline;
  uint64_t time = tool_now();
  while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
    l->free[l->free_count++] =
        ledger_take(&l->calls, line, (size_t)(newline - line), time);
    line = newline + 1;
  }
  l->input_len = (size_t)(end - line);
  memmove(l->input, line, l->input_len);
}

static void receive(load *l) {
  ssize_t n =
      read(l->in, l->input + l->input_len, sizeof l->input - 1 - l->input_len);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) tool_fail("the server went away");
  l->input_len += (size_t)n;
  l->input[l->input_len] = 0;
  take_answers(l);
}

static bool has_calls(const load *l) {
  return l->free_count && ledger_wants_call(&l->calls) &&
         l->output_len + l->calls.request_len < sizeof l->output;
}

static void put_calls(load *l) {
  uint64_t time = tool_now();
  if (l->output_from == l->output_len) l->output_from = l->output_len = 0;
  for (uint32_t n = l->slots_used / 4 + 1; n && has_calls(l); n--) {
    char *at = l->output + l->output_len;
    ledger_put(&l->calls, l->free[--l->free_count], at, time);
    at[l->calls.request_len] = '\n';
    l->output_len += l->calls.request_len + 1;
  }
}

static void flush(load *l) {
  size_t len = l->output_len - l->output_from;
  ssize_t n = len ? write(l->out, l->output + l->output_from, len) : 0;
  if (n < 0 && errno != EAGAIN && errno != EINTR)
    tool_fail("can't write: %s", strerror(errno));
  if (n > 0) l->output_from += (size_t)n;
}

static void wait_for_server(load *l) {
  struct pollfd fds[2] = {{.fd = l->in, .events = POLLIN},
                          {.fd = l->out, .events = POLLOUT}};
  nfds_t count = l->output_from < l->output_len ? 2 : 1;
  int ready = 0;
  for (int spin = 0; spin < SPINS && ready == 0; spin++)
    ready = poll(fds, count, 0);
  if (ready == 0) ready = poll(fds, count, PATIENCE);
  if (ready < 0 && errno != EINTR) tool_fail("poll: %s", strerror(errno));
  if (ready == 0) tool_fail("no answer for %d seconds", PATIENCE / 1000);
}

static void run(load *l) {
  ledger_look_at_clock(&l->calls);
  while (!l->calls.stopped) {
    do {
      put_calls(l);
      flush(l);
    } while (has_calls(l));
    wait_for_server(l);
    receive(l);
    ledger_look_at_clock(&l->calls);
  }
  while (l->calls.answered < l->calls.sent) {
    flush(l);
    wait_for_server(l);
    receive(l);
  }
}

static void read_options(load *l, int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "+f:m:n:p:s:w:")) != -1) {
    if (option == 'f')
      l->slots_used = (uint32_t)atoi(optarg);
    else if (option == 'm')
      l->method = optarg;
    else if (option == 'n')
      l->calls.calls = strtoull(optarg, NULL, 10);
    else if (option == 'p')
      l->port = atoi(optarg);
    else if (option == 's')
      l->calls.seconds = strtod(optarg, NULL);
    else if (option == 'w')
      l->calls.warm_up = strtod(optarg, NULL);
    else
      exit(2);
  }
  if (optind < argc) l->command = argv + optind;
  if (!l->port == !l->command || l->slots_used < 1 ||
      l->slots_used > MAX_SLOTS) {
    fputs(
        "usage: load [-f IN_FLIGHT] [-m METHOD] [-n CALLS] [-s SECONDS]\n"
        "            [-w WARM_UP] (-p PORT | -- COMMAND...)\n",
        stderr);
    exit(2);
  }
}

int main(int argc, char **argv) {
  static load l = {
      .method = "subtract", .slots_used = 64, .calls = {.seconds = 2}};
  signal(SIGPIPE, SIG_IGN);
  read_options(&l, argc, argv);
  while (l.free_count < l.slots_used) {
    l.free[l.free_count] = l.free_count;
    l.free_count++;
  }
  if (l.port)
    l.in = l.out = tool_connect(l.port);
  else
    tool_start_child(l.command, &l.in, &l.out);
  tool_set_nonblocking(l.in);
  tool_set_nonblocking(l.out);
  ledger_init(&l.calls, l.method);
  run(&l);
  if (!l.port) tool_end_child(l.in, l.out);
  ledger_report(&l.calls);
  return 0;
}
