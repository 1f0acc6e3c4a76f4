/* SPDX-License-Identifier: MIT
 *
 * Loads a newline-delimited JSON-RPC server and checks its answers.
 *
 *   load [options] -p PORT           a server that listens on TCP
 *   load [options] -- COMMAND...     a child that speaks on its stdio
 *
 * It keeps N calls in flight: a slot holds one call, and whenever an answer
 * frees its slot the slot sends its next call at once, in writes of a quarter
 * of the slots, and it looks for answers without sleeping for a while: so
 * client and server work at the same time instead of by turns, and the server
 * is what is measured. The id tells slot and turn, and the params
 * are made from the id, so that each answer can be checked by itself:
 * subtract(id, 23) must come back as id - 23, once, in any order.
 *
 * One line of key=value pairs on stdout says what was seen.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_SLOTS = 1024,
  FIRST_ID = 1000000, /* ids have seven digits, so requests have one length */
  TURNS = 8000,       /* turns of a slot until its ids come again */
  MAX_REQUEST = 160,
  SPINS = 1000,    /* looks for an answer before it sleeps */
  PATIENCE = 10000 /* milliseconds without an answer until we give up */
};

typedef struct slot {
  uint32_t turn;
  bool busy;
  uint64_t sent; /* when its call was written */
} slot;

typedef struct load {
  const char *method;
  int port;
  char **command;
  uint32_t slots_used;
  double seconds, warm_up;
  uint64_t calls; /* stop after so many, when not 0 */

  int in, out;
  pid_t child;
  char request[MAX_REQUEST];
  size_t request_len, param_at, id_at;
  slot slots[MAX_SLOTS];
  uint32_t free[MAX_SLOTS]; /* a stack of idle slots */
  uint32_t free_count;

  char output[MAX_SLOTS * MAX_REQUEST];
  size_t output_from, output_len;
  char input[256 * 1024];
  size_t input_len;

  uint64_t sent, answered;    /* since the start */
  uint64_t counted, longest;  /* since the warm-up ended */
  uint64_t counting, stopped; /* times; 0 until they come */
} load;

static void fail(const load *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("load: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  if (l->child > 0) kill(l->child, SIGKILL);
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- in: answers ---------------------------------------------------------- */

/* The whole number behind `name` in an answer. */
static uint32_t member(const load *l, const char *line, size_t len,
                       const char *name, size_t name_len) {
  const char *at = memmem(line, len, name, name_len);
  uint32_t value = 0;
  if (!at) fail(l, "not an answer: %.*s", (int)len, line);
  for (at += name_len; *at == ' '; at++) continue;
  if (*at < '0' || *at > '9') fail(l, "no number: %.*s", (int)len, line);
  for (; *at >= '0' && *at <= '9'; at++)
    value = value * 10 + (uint32_t)(*at - '0');
  return value;
}

static void take_answer(load *l, const char *line, size_t len, uint64_t time) {
  uint32_t result = member(l, line, len, "\"result\":", 9);
  uint32_t id = member(l, line, len, "\"id\":", 5);
  uint32_t index = (id - FIRST_ID) % MAX_SLOTS;
  slot *s = &l->slots[index];
  if (!s->busy || id != FIRST_ID + s->turn * MAX_SLOTS + index)
    fail(l, "an answer to no call: %.*s", (int)len, line);
  if (result != id - 23) fail(l, "a wrong answer: %.*s", (int)len, line);
  s->busy = false;
  s->turn = (s->turn + 1) % TURNS;
  l->free[l->free_count++] = index;
  l->answered++;
  if (!l->counting || l->stopped) return;
  l->counted++;
  if (time - s->sent > l->longest) l->longest = time - s->sent;
}

static void take_answers(load *l) {
  char *line = l->input, *end = l->input + l->input_len, *newline;
  uint64_t time = now();
  while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
    take_answer(l, line, (size_t)(newline - line), time);
    line = newline + 1;
  }
  l->input_len = (size_t)(end - line);
  memmove(l->input, line, l->input_len);
}

static void receive(load *l) {
  ssize_t n =
      read(l->in, l->input + l->input_len, sizeof l->input - 1 - l->input_len);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) fail(l, "the server went away");
  l->input_len += (size_t)n;
  l->input[l->input_len] = 0;
  take_answers(l);
}

/* --- out: calls ----------------------------------------------------------- */

static void put_digits(char *at, uint32_t value) {
  for (int i = 6; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
}

static void put_call(load *l, uint32_t index, uint64_t time) {
  slot *s = &l->slots[index];
  char *at = l->output + l->output_len;
  uint32_t id = FIRST_ID + s->turn * MAX_SLOTS + index;
  memcpy(at, l->request, l->request_len);
  put_digits(at + l->param_at, id);
  put_digits(at + l->id_at, id);
  l->output_len += l->request_len;
  s->busy = true;
  s->sent = time;
  l->sent++;
}

static bool has_calls(const load *l) {
  return l->free_count && !l->stopped && (!l->calls || l->sent < l->calls) &&
         l->output_len + l->request_len <= sizeof l->output;
}

static void put_calls(load *l) {
  uint64_t time = now();
  if (l->output_from == l->output_len) l->output_from = l->output_len = 0;
  for (uint32_t n = l->slots_used / 4 + 1; n && has_calls(l); n--)
    put_call(l, l->free[--l->free_count], time);
}

static void flush(load *l) {
  size_t len = l->output_len - l->output_from;
  ssize_t n = len ? write(l->out, l->output + l->output_from, len) : 0;
  if (n < 0 && errno != EAGAIN && errno != EINTR)
    fail(l, "can't write: %s", strerror(errno));
  if (n > 0) l->output_from += (size_t)n;
}

/* --- the run -------------------------------------------------------------- */

static void wait_for_server(load *l) {
  struct pollfd fds[2] = {{.fd = l->in, .events = POLLIN},
                          {.fd = l->out, .events = POLLOUT}};
  nfds_t count = l->output_from < l->output_len ? 2 : 1;
  int ready = 0;
  for (int spin = 0; spin < SPINS && ready == 0; spin++)
    ready = poll(fds, count, 0);
  if (ready == 0) ready = poll(fds, count, PATIENCE);
  if (ready < 0 && errno != EINTR) fail(l, "poll: %s", strerror(errno));
  if (ready == 0) fail(l, "no answer for %d seconds", PATIENCE / 1000);
}

static void look_at_clock(load *l, uint64_t start) {
  uint64_t time = now();
  double elapsed = (double)(time - start) / 1e9;
  if (!l->counting && (l->calls || elapsed >= l->warm_up)) l->counting = time;
  if (l->calls ? l->answered >= l->calls : elapsed >= l->warm_up + l->seconds)
    l->stopped = time;
}

static void run(load *l) {
  uint64_t start = now();
  look_at_clock(l, start);
  while (!l->stopped) {
    do {
      put_calls(l);
      flush(l);
    } while (has_calls(l));
    wait_for_server(l);
    receive(l);
    look_at_clock(l, start);
  }
  while (l->answered < l->sent) {
    flush(l);
    wait_for_server(l);
    receive(l);
  }
}

static void report(const load *l) {
  double seconds = (double)(l->stopped - l->counting) / 1e9;
  printf("calls=%" PRIu64 " seconds=%.6f rate=%.0f longest=%.6f\n", l->counted,
         seconds, (double)l->counted / seconds, (double)l->longest / 1e9);
}

/* --- the server's end ----------------------------------------------------- */

static void connect_to(load *l) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)l->port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
    fail(l, "can't connect to port %d: %s", l->port, strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  l->in = l->out = fd;
}

static void start_child(load *l) {
  int to[2], from[2];
  if (pipe(to) || pipe(from) || (l->child = fork()) < 0)
    fail(l, "can't start a child: %s", strerror(errno));
  if (l->child == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execvp(l->command[0], l->command);
    _exit(127);
  }
  close(to[0]), close(from[1]);
  l->out = to[1];
  l->in = from[0];
}

/* A child that serves its stdio must end by itself when its input does. */
static void end_child(load *l) {
  struct pollfd fd = {.fd = l->in, .events = POLLIN};
  int status = 0;
  if (l->child <= 0) return;
  close(l->out);
  if (poll(&fd, 1, PATIENCE) <= 0) fail(l, "the child outlives its input");
  waitpid(l->child, &status, 0);
  l->child = 0;
  if (status) fail(l, "the child ended with status %d", status);
}

/* --- the command line ----------------------------------------------------- */

static void make_request(load *l) {
  int n = snprintf(l->request, sizeof l->request,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"%s\","
                   "\"params\":[0000000,23],\"id\":0000000}\n",
                   l->method);
  if (n < 0 || (size_t)n >= sizeof l->request) fail(l, "method name too long");
  l->request_len = (size_t)n;
  l->param_at = (size_t)(strstr(l->request, "[0") + 1 - l->request);
  l->id_at = l->request_len - 9;
}

static void read_options(load *l, int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "+f:m:n:p:s:w:")) != -1) {
    if (option == 'f')
      l->slots_used = (uint32_t)atoi(optarg);
    else if (option == 'm')
      l->method = optarg;
    else if (option == 'n')
      l->calls = strtoull(optarg, NULL, 10);
    else if (option == 'p')
      l->port = atoi(optarg);
    else if (option == 's')
      l->seconds = strtod(optarg, NULL);
    else if (option == 'w')
      l->warm_up = strtod(optarg, NULL);
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
  static load l = {.method = "subtract", .slots_used = 64, .seconds = 2};
  signal(SIGPIPE, SIG_IGN);
  read_options(&l, argc, argv);
  make_request(&l);
  while (l.free_count < l.slots_used) {
    l.free[l.free_count] = l.free_count;
    l.free_count++;
  }
  if (l.port)
    connect_to(&l);
  else
    start_child(&l);
  fcntl(l.in, F_SETFL, fcntl(l.in, F_GETFL) | O_NONBLOCK);
  fcntl(l.out, F_SETFL, fcntl(l.out, F_GETFL) | O_NONBLOCK);
  run(&l);
  end_child(&l);
  report(&l);
  return 0;
}
