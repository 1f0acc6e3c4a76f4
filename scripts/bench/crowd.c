/* SPDX-License-Identifier: MIT
 *
 * Many WebSocket connections to one server, of which each has called once:
 *
 *   crowd -p PORT [-c CONNECTIONS] [-s SECONDS] [-w WARM_UP] [-f IN_FLIGHT]
 *   crowd -p PORT [-c CONNECTIONS] -i
 *
 * They join a topic; then the first publishes IN_FLIGHT notifications of 200
 * bytes, and another whenever one has reached all. Each connection must get
 * each of them, in order. With -i they stay idle until the process is ended.
 * It reads the connections in turn instead of asking which is ready, so that
 * it costs the server as little as can be, and isn't the bottleneck.
 *
 * One line of key=value pairs on stdout says what was seen, or that all the
 * connections are open.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tool.h"
#include "wsclient.h"

enum {
  NEWS = 200,      /* bytes of a notification */
  FIRST = 1000000, /* number of the first; all have seven digits */
  MAX_IN_FLIGHT = 64,
  SPINS = 20 /* fruitless rounds before it sleeps */
};

typedef struct reader {
  ws ws;
  uint32_t next; /* number of the notification that must come next */
} reader;

typedef struct crowd {
  int port;
  uint32_t count, in_flight;
  bool idle;
  double seconds, warm_up;
  reader *all;
  struct pollfd *fds;

  uint32_t published, complete;      /* numbers, as in reader.next */
  uint32_t missing[MAX_IN_FLIGHT];   /* of number n: readers without it, at
                                        n % MAX_IN_FLIGHT */
  uint64_t counted;                  /* deliveries since the warm-up ended */
  uint64_t start, counting, stopped; /* times; 0 until they come */
} crowd;

static void send_text(reader *r, const char *text) {
  size_t len = strlen(text);
  char *at = ws_begin(&r->ws, len);
  if (!at) tool_fail("the server doesn't read");
  memcpy(at, text, len);
  ws_end(&r->ws, at, len);
  ws_flush(&r->ws);
}

/* Calls and waits for the answer. */
static void call(reader *r, const char *request, const char *result) {
  struct pollfd fd = {.fd = r->ws.fd, .events = POLLIN};
  const char *text;
  size_t len;
  send_text(r, request);
  do {
    if (poll(&fd, 1, PATIENCE) <= 0) tool_fail("no answer to %s", request);
    ws_receive(&r->ws);
  } while (!ws_take(&r->ws, &text, &len));
  if (!memmem(text, len, result, strlen(result)))
    tool_fail("not the answer to %s: %.*s", request, (int)len, text);
}

static void open_all(crowd *c) {
  const char *request = c->idle
                            ? "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\","
                              "\"params\":[42,23],\"id\":1}"
                            : "{\"jsonrpc\":\"2.0\",\"method\":\"news.join\","
                              "\"params\":[],\"id\":1}";
  c->all = calloc(c->count, sizeof *c->all);
  c->fds = calloc(c->count, sizeof *c->fds);
  if (!c->all || !c->fds) tool_fail("out of memory");
  for (uint32_t i = 0; i < c->count; i++) {
    reader *r = &c->all[i];
    r->next = FIRST;
    ws_open(&r->ws, c->port);
    call(r, request, c->idle ? "\"result\":19" : "\"result\":true");
  }
}

static void publish(crowd *c) {
  char text[128];
  while (!c->stopped && c->published - c->complete < c->in_flight) {
    c->missing[c->published % MAX_IN_FLIGHT] = c->count;
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"method\":\"news.publish\","
             "\"params\":[%" PRIu32 "]}",
             c->published++);
    send_text(&c->all[0], text);
  }
}

static void take_news(crowd *c, reader *r, const char *text, size_t len) {
  static const char before[] =
      "{\"jsonrpc\":\"2.0\",\"method\":\"news\",\"params\":[";
  if (len != NEWS || memcmp(text, before, sizeof before - 1) != 0 ||
      strtoul(text + sizeof before - 1, NULL, 10) != r->next)
    tool_fail("not number %" PRIu32 " of the news: %.*s", r->next, (int)len,
              text);
  if (c->counting && !c->stopped) c->counted++;
  c->missing[r->next++ % MAX_IN_FLIGHT]--;
  while (c->complete < c->published &&
         c->missing[c->complete % MAX_IN_FLIGHT] == 0)
    c->complete++;
}

static bool take_all(crowd *c, reader *r) {
  const char *text;
  size_t len;
  if (!ws_receive(&r->ws)) return false;
  while (ws_take(&r->ws, &text, &len)) take_news(c, r, text, len);
  return true;
}

/* Reads each connection in turn; false when none had anything. */
static bool make_round(crowd *c) {
  bool found = false;
  for (uint32_t i = 0; i < c->count; i++)
    found = take_all(c, &c->all[i]) || found;
  return found;
}

static void sleep_until_news(crowd *c) {
  int ready;
  for (uint32_t i = 0; i < c->count; i++)
    c->fds[i] = (struct pollfd){.fd = c->all[i].ws.fd, .events = POLLIN};
  ready = poll(c->fds, c->count, c->idle ? -1 : PATIENCE);
  if (ready < 0 && errno != EINTR) tool_fail("poll: %s", strerror(errno));
  if (ready == 0)
    tool_fail("no news for %d seconds, %" PRIu32 " readers wait",
              PATIENCE / 1000, c->missing[c->complete % MAX_IN_FLIGHT]);
}

static void wait_for_news(crowd *c) {
  for (int spin = 0; spin < SPINS; spin++)
    if (make_round(c)) return;
  sleep_until_news(c);
}

static void look_at_clock(crowd *c) {
  uint64_t time = tool_now();
  double elapsed = (double)(time - c->start) / 1e9;
  if (!c->counting && elapsed >= c->warm_up) c->counting = time;
  if (!c->stopped && elapsed >= c->warm_up + c->seconds) c->stopped = time;
}

static void run(crowd *c) {
  double seconds;
  c->start = tool_now();
  c->published = c->complete = FIRST;
  do {
    look_at_clock(c);
    publish(c);
    if (c->complete < c->published) wait_for_news(c);
  } while (!c->stopped || c->complete < c->published);
  seconds = (double)(c->stopped - c->counting) / 1e9;
  printf(
      "deliveries=%" PRIu64 " published=%" PRIu32 " seconds=%.6f rate=%.0f\n",
      c->counted, c->published - FIRST, seconds, (double)c->counted / seconds);
}

static void raise_file_limit(void) {
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

static void read_options(crowd *c, int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "c:f:ip:s:w:")) != -1) {
    if (option == 'c')
      c->count = (uint32_t)atoi(optarg);
    else if (option == 'f')
      c->in_flight = (uint32_t)atoi(optarg);
    else if (option == 'i')
      c->idle = true;
    else if (option == 'p')
      c->port = atoi(optarg);
    else if (option == 's')
      c->seconds = strtod(optarg, NULL);
    else if (option == 'w')
      c->warm_up = strtod(optarg, NULL);
    else
      exit(2);
  }
  if (c->port && c->count && c->in_flight && c->in_flight <= MAX_IN_FLIGHT)
    return;
  fputs(
      "usage: crowd -p PORT [-c CONNECTIONS] [-f IN_FLIGHT] [-s SECONDS]\n"
      "             [-w WARM_UP] [-i]\n",
      stderr);
  exit(2);
}

int main(int argc, char **argv) {
  static crowd c = {.count = 1000, .in_flight = 1, .seconds = 2};
  read_options(&c, argc, argv);
  raise_file_limit();
  open_all(&c);
  if (!c.idle) {
    run(&c);
    return 0;
  }
  printf("open=%" PRIu32 "\n", c.count);
  fflush(stdout);
  while (true) wait_for_news(&c);
}
