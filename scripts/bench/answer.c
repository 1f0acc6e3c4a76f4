/* SPDX-License-Identifier: MIT
 *
 * The client of a server that calls its client:
 *
 *   answer [-f IN_FLIGHT] [-s SECONDS] [-w WARM_UP] -- COMMAND...
 *
 * Starts a child, which speaks on its stdio in messages with Content-Length,
 * and calls drive.start(IN_FLIGHT). From then on the child calls us,
 * subtract(n, 23), with so many calls in flight, until we say drive.stop; it
 * checks our answers and says at last how many were right. That must be as
 * many as we gave. Answers leave in writes of a quarter of the calls in flight,
 * so that both sides work at the same time instead of by turns.
 *
 * One line of key=value pairs on stdout says what was seen.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

enum { SPINS = 1000 /* looks for a call before it sleeps */ };

typedef struct client {
  char **command;
  int in_flight;
  double seconds, warm_up;

  int in, out;
  char input[256 * 1024], output[256 * 1024];
  size_t input_len, output_from, output_len;

  uint64_t answered, counted;
  uint64_t start, counting, stopped; /* times; 0 until they come */
  int64_t right; /* as the child says at the end; -1 until then */
} client;

static void flush(client *c) {
  size_t len = c->output_len - c->output_from;
  ssize_t n = len ? write(c->out, c->output + c->output_from, len) : 0;
  if (n < 0 && errno != EAGAIN && errno != EINTR)
    tool_fail("can't write: %s", strerror(errno));
  if (n > 0) c->output_from += (size_t)n;
  if (c->output_from == c->output_len) c->output_from = c->output_len = 0;
}

static void put(client *c, const char *text, size_t len) {
  if (c->output_len + len + 32 > sizeof c->output)
    tool_fail("the child doesn't read");
  c->output_len += (size_t)sprintf(c->output + c->output_len,
                                   "Content-Length: %zu\r\n\r\n", len);
  memcpy(c->output + c->output_len, text, len);
  c->output_len += len;
}

/* What stands behind `name` in a message; NULL: it has no such member. */
static const char *member(const char *text, size_t len, const char *name) {
  size_t name_len = strlen(name);
  const char *at = memmem(text, len, name, name_len);
  return at ? at + name_len : NULL;
}

static void take_call(client *c, const char *text, size_t len) {
  const char *params = member(text, len, "\"params\":[");
  const char *id = member(text, len, "\"id\":");
  char answer[128];
  int n;
  if (!params || !id || !member(text, len, "\"subtract\""))
    tool_fail("not a call of ours: %.*s", (int)len, text);
  n = snprintf(answer, sizeof answer,
               "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%ld}",
               strtol(id, NULL, 10), strtol(params, NULL, 10) - 23);
  put(c, answer, (size_t)n);
  if (++c->answered % (unsigned)(c->in_flight / 4 + 1) == 0) flush(c);
  if (c->counting && !c->stopped) c->counted++;
}

static void take_message(client *c, const char *text, size_t len) {
  const char *result;
  if (member(text, len, "\"method\":")) {
    take_call(c, text, len);
  } else if ((result = member(text, len, "\"result\":"))) {
    c->right = strtol(result, NULL, 10);
  } else {
    tool_fail("not a call and no result: %.*s", (int)len, text);
  }
}

/* Takes the message at the front; its bytes, 0 when it isn't there as a whole.
 */
static size_t take_first(client *c, const char *at, size_t have) {
  const char *body = memmem(at, have, "\r\n\r\n", 4);
  const char *len_at;
  size_t head, len;
  if (!body) return 0;
  head = (size_t)(body + 4 - at);
  len_at = member(at, head, "Content-Length: ");
  if (!len_at) tool_fail("not a message: %.*s", (int)head, at);
  len = strtoul(len_at, NULL, 10);
  if (have - head < len) return 0;
  take_message(c, at + head, len);
  return head + len;
}

static void receive(client *c) {
  size_t from = 0, taken;
  ssize_t n =
      read(c->in, c->input + c->input_len, sizeof c->input - 1 - c->input_len);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) tool_fail("the server went away");
  c->input_len += (size_t)n;
  c->input[c->input_len] = 0;
  while ((taken = take_first(c, c->input + from, c->input_len - from)))
    from += taken;
  c->input_len -= from;
  memmove(c->input, c->input + from, c->input_len);
}

static void wait_for_child(client *c) {
  struct pollfd fds[2] = {{.fd = c->in, .events = POLLIN},
                          {.fd = c->out, .events = POLLOUT}};
  nfds_t count = c->output_len ? 2 : 1;
  int ready = 0;
  for (int spin = 0; spin < SPINS && ready == 0; spin++)
    ready = poll(fds, count, 0);
  if (ready == 0) ready = poll(fds, count, PATIENCE);
  if (ready < 0 && errno != EINTR) tool_fail("poll: %s", strerror(errno));
  if (ready == 0) tool_fail("no call for %d seconds", PATIENCE / 1000);
}

static void look_at_clock(client *c) {
  static const char stop[] = "{\"jsonrpc\":\"2.0\",\"method\":\"drive.stop\"}";
  uint64_t time = tool_now();
  double elapsed = (double)(time - c->start) / 1e9;
  if (!c->counting && elapsed >= c->warm_up) c->counting = time;
  if (c->stopped || elapsed < c->warm_up + c->seconds) return;
  c->stopped = time;
  put(c, stop, sizeof stop - 1);
}

static void run(client *c) {
  char text[128];
  int n = snprintf(text, sizeof text,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"drive.start\","
                   "\"params\":[%d],\"id\":1}",
                   c->in_flight);
  put(c, text, (size_t)n);
  c->start = tool_now();
  while (c->right < 0) {
    flush(c);
    wait_for_child(c);
    receive(c);
    look_at_clock(c);
  }
  if ((uint64_t)c->right != c->answered)
    tool_fail("%" PRIu64 " answers given, %" PRId64 " of them right",
              c->answered, c->right);
}

static void read_options(client *c, int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "+f:s:w:")) != -1) {
    if (option == 'f')
      c->in_flight = atoi(optarg);
    else if (option == 's')
      c->seconds = strtod(optarg, NULL);
    else if (option == 'w')
      c->warm_up = strtod(optarg, NULL);
    else
      exit(2);
  }
  c->command = argv + optind;
  if (optind < argc) return;
  fputs(
      "usage: answer [-f IN_FLIGHT] [-s SECONDS] [-w WARM_UP] -- COMMAND...\n",
      stderr);
  exit(2);
}

int main(int argc, char **argv) {
  static client c = {.in_flight = 64, .seconds = 2, .right = -1};
  double seconds;
  signal(SIGPIPE, SIG_IGN);
  read_options(&c, argc, argv);
  tool_start_child(c.command, &c.in, &c.out);
  tool_set_nonblocking(c.in);
  tool_set_nonblocking(c.out);
  run(&c);
  tool_end_child(c.in, c.out);
  seconds = (double)(c.stopped - c.counting) / 1e9;
  printf("calls=%" PRIu64 " seconds=%.6f rate=%.0f\n", c.counted, seconds,
         (double)c.counted / seconds);
  return 0;
}
