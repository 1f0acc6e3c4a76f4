/* SPDX-License-Identifier: MIT
 *
 * moonrpc bench: every connection keeps its calls in flight; each answer sends
 * the next call. A slot is one call in flight, or one batch, whose calls are
 * sent when the last of them is answered. A call's latency is the time from
 * its sending to its answer, counted in a histogram of fixed size. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/histogram.h"
#include "cli/params.h"
#include "cli/session.h"

typedef struct bench bench;
typedef struct connection connection;

typedef struct slot {
  connection *of;
  uint64_t since;   /* when its calls were sent */
  unsigned waiting; /* of them, those without an answer */
} slot;

struct connection {
  bench *bench;
  mrpc_peer *peer;  /* NULL: not connected */
  bool is_answered; /* at least once */
  slot *slots;
};

struct bench {
  session session;
  const char *method;
  char *params;
  unsigned connections, in_flight, batch; /* batch 0: none */
  double duration;
  connection *list;
  slot *slots;
  unsigned opening; /* connections that are being made */
  unsigned open;
  bool is_measuring, has_ended, is_stuck;
  int code;
  uint64_t begun, ended; /* of the measuring, in nanoseconds */
  uint64_t errors, lost; /* answers that are errors, calls without answer */
  uint64_t reconnects;
  char first_error[200];
  histogram latency;
};

static const double connect_time = 10; /* seconds for all connections */

enum { CONNECTIONS, IN_FLIGHT, DURATION, BATCH };
static const option_rule rules[] = {{"-c", true, CONNECTIONS},
                                    {"-n", true, IN_FLIGHT},
                                    {"-d", true, DURATION},
                                    {"-b", true, BATCH},
                                    {0}};

static bool read_count(const char *text, unsigned *out) {
  char *end;
  unsigned long value = strtoul(text, &end, 10);
  *out = (unsigned)value;
  return end != text && !*end && *text != '-' && value >= 1 && value <= 100000;
}

static int on_option(const command *self, int id, const char *value, void *ud) {
  static const char letters[] = {'c', 'n', 'd', 'b'};
  bench *b = ud;
  unsigned *const counts[] = {&b->connections, &b->in_flight, NULL, &b->batch};
  if (id == DURATION ? cli_seconds(value, &b->duration)
                     : read_count(value, counts[id]))
    return EXIT_DONE;
  return cli_usage(self, "-%c takes %s, not %s", letters[id],
                   id == DURATION ? "seconds" : "a number from 1 to 100000",
                   value);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The end. */

static void end(bench *b, int code) {
  if (b->has_ended) return;
  b->has_ended = true;
  b->ended = now();
  b->code = code;
  mrpc_host_stop(b->session.host);
}

/* The connecting has taken too long, or the time is over. */
static void on_signal(mrpc_host *host, void *ud) {
  bench *b = ud;
  (void)host;
  if (b->has_ended) return;
  b->is_stuck = b->opening > 0;
  if (b->is_measuring)
    end(b, EXIT_DONE);
  else if (session_is_interrupted())
    end(b, EXIT_INTERRUPTED);
  else
    end(b, session_complain_late(&b->session, connect_time));
}

/* Calls. */

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud);

static bool ask(bench *b, slot *s) {
  int rc =
      mrpc_peer_call(s->of->peer, b->method, b->params, 0, on_answer, s, NULL);
  if (rc == MRPC_OK) s->waiting++;
  return rc == MRPC_OK;
}

/* What can't be sent now isn't sent any more: the connection is ending. */
static void send(bench *b, slot *s) {
  mrpc_peer *peer = s->of->peer;
  s->since = now();
  if (!b->batch) {
    ask(b, s);
    return;
  }
  mrpc_peer_batch_begin(peer);
  for (unsigned i = 0; i < b->batch && ask(b, s); i++) continue;
  mrpc_peer_batch_end(peer);
}

static void note_error(bench *b, const mrpc_answer *answer) {
  b->errors++;
  if (*b->first_error) return;
  snprintf(b->first_error, sizeof b->first_error, "%.*s", (int)answer->len,
           answer->json);
}

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  slot *s = ud;
  bench *b = s->of->bench;
  (void)peer;
  s->waiting--;
  if (b->has_ended) return;
  if (answer->result != MRPC_OK)
    b->lost++;
  else if (answer->is_error)
    note_error(b, answer);
  if (answer->result == MRPC_OK) s->of->is_answered = true;
  if (answer->result == MRPC_OK) histogram_add(&b->latency, now() - s->since);
  if (answer->result != MRPC_ECLOSED && s->waiting == 0 && s->of->peer)
    send(b, s);
}

/* Connections. */

static void on_open(mrpc_peer *peer, void *ud);

static void start_calls(bench *b, connection *c) {
  for (unsigned i = 0; i < b->in_flight; i++) send(b, &c->slots[i]);
}

/* The clock runs from when all are there. */
static void begin(bench *b) {
  b->is_measuring = true;
  b->begun = now();
  session_alarm(b->duration);
  for (unsigned i = 0; i < b->connections; i++)
    if (b->list[i].peer) start_calls(b, &b->list[i]);
}

/* A server may end a connection when it likes: that isn't an error, but for
 * the calls that were in flight. */
static void on_close(mrpc_peer *peer, void *ud) {
  connection *c = ud;
  bench *b = c->bench;
  (void)peer;
  c->peer = NULL;
  b->open--;
  if (b->has_ended) return;
  if (!b->is_measuring || *mrpc_host_error(b->session.host)) {
    if (!*mrpc_host_error(b->session.host))
      end(b, session_complain(&b->session,
                              "the server has closed the connection"));
    else
      end(b, session_complain_host(&b->session));
    return;
  }
  b->reconnects++;
  b->opening++;
  if (mrpc_host_connect(b->session.host, b->session.url, on_open, on_close, c))
    end(b, session_complain_host(&b->session));
}

static void on_open(mrpc_peer *peer, void *ud) {
  connection *c = ud;
  bench *b = c->bench;
  b->opening--;
  if (!peer) {
    if (!b->has_ended) end(b, session_complain_host(&b->session));
    return;
  }
  c->peer = peer;
  b->open++;
  if (b->has_ended) return;
  if (b->is_measuring)
    start_calls(b, c);
  else if (b->opening == 0)
    begin(b);
}

static int connect_all(bench *b) {
  for (unsigned i = 0; i < b->connections; i++) {
    b->list[i] =
        (connection){.bench = b, .slots = b->slots + (size_t)i * b->in_flight};
    for (unsigned j = 0; j < b->in_flight; j++)
      b->list[i].slots[j].of = &b->list[i];
  }
  for (unsigned i = 0; i < b->connections; i++) {
    int code = session_connect(&b->session, on_open, on_close, &b->list[i]);
    if (code) return code;
    b->opening++;
  }
  return EXIT_DONE;
}

/* The report. */

static double milliseconds(const bench *b, double share) {
  return (double)histogram_at(&b->latency, share) / 1e6;
}

/* A server that takes no more connections leaves them with its kernel, where
 * they look like any other until nobody answers. */
static unsigned count_silent(const bench *b) {
  unsigned count = 0;
  for (unsigned i = 0; i < b->connections; i++)
    if (!b->list[i].is_answered) count++;
  return count;
}

static int report(const bench *b) {
  double seconds = (double)(b->ended - b->begun) / 1e9;
  uint64_t count = b->latency.count;
  printf("%-11s %u, in flight on each %u", "connections", b->connections,
         b->in_flight);
  if (b->batch) printf(" batches of %u", b->batch);
  printf("\n%-11s %llu in %.2f s, %.0f a second\n", "answers",
         (unsigned long long)count, seconds,
         seconds > 0 ? (double)count / seconds : 0);
  printf("%-11s %llu errors, %llu calls lost, %llu reconnects\n", "of them",
         (unsigned long long)b->errors, (unsigned long long)b->lost,
         (unsigned long long)b->reconnects);
  printf("%-11s p50 %.3f, p99 %.3f, p99.9 %.3f, max %.3f ms\n", "latency",
         milliseconds(b, 0.5), milliseconds(b, 0.99), milliseconds(b, 0.999),
         (double)b->latency.max / 1e6);
  unsigned silent = count_silent(b);
  if (silent && count)
    printf(
        "%-11s %u connections, of which no call was answered: does the "
        "server allow so many?\n",
        "silent", silent);
  fflush(stdout);
  if (*b->first_error) fprintf(stderr, "the first error: %s\n", b->first_error);
  if (count == 0) return session_complain(&b->session, "no call was answered");
  return b->errors || b->lost || silent ? EXIT_FAULT : EXIT_DONE;
}

/* Descriptors for all connections, and some for everything else; programs that
 * we start take three each. */
static int check_descriptors(const bench *b, const command *self) {
  uint64_t has = cli_raise_file_limit();
  unsigned each = strncmp(b->session.url, "exec", 4) ? 1 : 3;
  uint64_t needed = (uint64_t)b->connections * each + 32;
  if (needed <= has) return EXIT_DONE;
  return cli_usage(self,
                   "-c %u takes %llu descriptors, and the system allows %llu "
                   "(ulimit -Hn)",
                   b->connections, (unsigned long long)needed,
                   (unsigned long long)has);
}

static int measure(bench *b) {
  int code = connect_all(b);
  if (code) return code;
  session_alarm(connect_time);
  mrpc_host_run(b->session.host);
  session_alarm(0);
  if (!b->is_measuring) return b->code;
  code = report(b);
  return b->code ? b->code : code;
}

static int run_all(bench *b, const command *self, int argc, char **argv) {
  mrpc_limits limits = {.in_flight = MRPC_UNLIMITED, .output = MRPC_UNLIMITED};
  int code = session_open(&b->session, self, argv[1], &limits, on_signal, b);
  if (code) return code;
  code = check_descriptors(b, self);
  if (code) return code;
  b->method = argv[2];
  code = params_make(self, b->session.env, argc - 3, argv + 3, &b->params);
  if (code) return code;
  b->list = calloc(b->connections, sizeof *b->list);
  b->slots = calloc((size_t)b->connections * b->in_flight, sizeof *b->slots);
  return b->list && b->slots ? measure(b) : EXIT_FAULT;
}

static int run(const command *self, int argc, char **argv) {
  bench *b = calloc(1, sizeof *b);
  if (!b) return EXIT_FAULT;
  b->connections = b->in_flight = 1;
  b->duration = 5;
  int code = cli_options(self, rules, 2, on_option, b, &argc, argv);
  if (!code && argc < 3)
    code = cli_usage(self, "a URL and a method are needed");
  if (!code) {
    code = run_all(b, self, argc, argv);
    session_close(&b->session, b->is_stuck, code);
  }
  free(b->params);
  free(b->slots);
  free(b->list);
  free(b);
  return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
}

const command cli_bench = {
    .name = "bench",
    .summary = "measure how fast a server answers",
    .help =
        "bench [OPTION]... URL METHOD [ARG]...\n"
        "\n"
        "Calls METHOD again and again and tells how many answers came and how\n"
        "long they took. URL and ARG are those of moonrpc call.\n"
        "\n"
        "  -c NUMBER   connections (1)\n"
        "  -n NUMBER   calls in flight on each, or batches with -b (1)\n"
        "  -d SECS     how long (5)\n"
        "  -b NUMBER   send batches of so many calls\n"
        "  --          what follows are arguments\n"
        "\n"
        "A latency is the time from a call's sending to its answer; with -n "
        "or\n"
        "-b it holds the time that the calls before it took. A connection "
        "that\n"
        "the server closes is made again. SIGINT ends it early. Exit codes: 0\n"
        "all were answered; 1 there were errors, or connections on which no\n"
        "call was answered; 2 a usage error, or more connections than the\n"
        "system allows; 3 the server can't be reached, or went away.\n",
    .run = run,
};
