/* SPDX-License-Identifier: MIT
 *
 * Loads a JSON-RPC server by WebSocket and checks its answers.
 *
 *   wsload [-c CONNECTIONS] [-f IN_FLIGHT] [-m METHOD] [-s SECONDS]
 *          [-w WARM_UP] [-e] -p PORT
 *
 * It keeps IN_FLIGHT calls in flight on each connection; with -e the server
 * is one that echoes messages. It reads the connections in turn, again and
 * again, instead of asking which is ready: that costs less than the server
 * must spend, so that the server is what is measured.
 *
 * One line of key=value pairs on stdout says what was seen.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"
#include "tool.h"
#include "wsclient.h"

enum { SPINS = 200 /* fruitless rounds before it sleeps */ };

typedef struct connection {
  ws ws;
  uint32_t free[MAX_SLOTS]; /* a stack of idle slots */
  uint32_t free_count;
} connection;

typedef struct load {
  const char *method;
  int port;
  uint32_t connections, in_flight;
  connection *all;
  ledger calls;
} load;

static void put_calls(load *l, connection *c) {
  uint64_t time = tool_now();
  size_t len = l->calls.request_len;
  char *at;
  /* A quarter at a time, so that the server has work meanwhile. */
  for (uint32_t n = l->in_flight / 4 + 1;
       n && c->free_count && ledger_wants_call(&l->calls); n--) {
    if (!(at = ws_begin(&c->ws, len))) return;
    ledger_put(&l->calls, c->free[--c->free_count], at, time);
    ws_end(&c->ws, at, len);
  }
}

static void send_calls(load *l, connection *c) {
  do {
    put_calls(l, c);
    ws_flush(&c->ws);
  } while (c->free_count && ledger_wants_call(&l->calls) &&
           c->ws.out_from == c->ws.out_len);
}

static bool take_answers(load *l, connection *c) {
  uint64_t time;
  const char *text;
  size_t len;
  if (!ws_receive(&c->ws)) return false;
  time = tool_now();
  while (ws_take(&c->ws, &text, &len))
    c->free[c->free_count++] = ledger_take(&l->calls, text, len, time);
  return true;
}

/* Looks at each connection in turn; false when none had anything. */
static bool make_round(load *l) {
  bool found = false;
  for (uint32_t i = 0; i < l->connections; i++) {
    connection *c = &l->all[i];
    if (!take_answers(l, c)) continue;
    send_calls(l, c);
    found = true;
  }
  return found;
}

static void sleep_until_news(load *l) {
  struct pollfd fds[MAX_SLOTS];
  int ready;
  for (uint32_t i = 0; i < l->connections; i++)
    fds[i] = (struct pollfd){.fd = l->all[i].ws.fd, .events = POLLIN};
  ready = poll(fds, l->connections, PATIENCE);
  if (ready < 0 && errno != EINTR) tool_fail("poll: %s", strerror(errno));
  if (ready == 0) tool_fail("no answer for %d seconds", PATIENCE / 1000);
}

static void wait_for_server(load *l) {
  for (int spin = 0; spin < SPINS; spin++)
    if (make_round(l)) return;
  sleep_until_news(l);
}

static void open_all(load *l) {
  l->all = calloc(l->connections, sizeof *l->all);
  if (!l->all) tool_fail("out of memory");
  for (uint32_t i = 0; i < l->connections; i++) {
    connection *c = &l->all[i];
    ws_open(&c->ws, l->port);
    for (uint32_t k = 0; k < l->in_flight; k++)
      c->free[c->free_count++] = i * l->in_flight + k;
  }
}

static void run(load *l) {
  ledger_look_at_clock(&l->calls);
  for (uint32_t i = 0; i < l->connections; i++) send_calls(l, &l->all[i]);
  while (!l->calls.stopped || l->calls.answered < l->calls.sent) {
    wait_for_server(l);
    if (!l->calls.stopped) ledger_look_at_clock(&l->calls);
  }
}

static void read_options(load *l, int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "c:ef:m:p:s:w:")) != -1) {
    if (option == 'c')
      l->connections = (uint32_t)atoi(optarg);
    else if (option == 'e')
      l->calls.echo = true;
    else if (option == 'f')
      l->in_flight = (uint32_t)atoi(optarg);
    else if (option == 'm')
      l->method = optarg;
    else if (option == 'p')
      l->port = atoi(optarg);
    else if (option == 's')
      l->calls.seconds = strtod(optarg, NULL);
    else if (option == 'w')
      l->calls.warm_up = strtod(optarg, NULL);
    else
      exit(2);
  }
  if (!l->port || !l->connections || !l->in_flight ||
      l->in_flight > MAX_SLOTS / l->connections) {
    fputs(
        "usage: wsload [-c CONNECTIONS] [-f IN_FLIGHT] [-m METHOD]\n"
        "              [-s SECONDS] [-w WARM_UP] [-e] -p PORT\n",
        stderr);
    exit(2);
  }
}

int main(int argc, char **argv) {
  static load l = {.method = "subtract",
                   .connections = 1,
                   .in_flight = 1,
                   .calls = {.seconds = 2}};
  read_options(&l, argc, argv);
  open_all(&l);
  ledger_init(&l.calls, l.method);
  run(&l);
  ledger_report(&l.calls);
  return 0;
}
