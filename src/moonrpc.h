/* SPDX-License-Identifier: MIT
 *
 * moonrpc: a scriptable JSON-RPC 2.0 host.
 *
 * Two doors lead in. The first does no I/O: you give a peer bytes, take bytes
 * from it, and say what time it is (mrpc_env, mrpc_peer, mrpc_dispatch,
 * mrpc_runtime). The second (mrpc_host) drives the first with libuv.
 *
 * Ownership, once for the whole interface: what `new` made, `free` ends, and
 * `free(NULL)` is fine. Strings that you pass are copied unless a comment says
 * otherwise; strings that you get live until the next call on the same object.
 * Functions answer MRPC_OK or a negative MRPC_E* and give results through
 * their last parameters. In a config struct a zero field means the default,
 * so `= {0}` is always a valid start.
 *
 * One mrpc_env and all that was made with it belong to one thread at a time.
 * There are no globals: many environments live side by side.
 */
#ifndef MOONRPC_H
#define MOONRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRPC_VERSION "0.1.0"

/* Results. Codes below MRPC_EFATAL mean that the object may only be freed. */
enum {
  MRPC_OK = 0,
  MRPC_PARTIAL = 1,      /* more bytes are needed; not an error */
  MRPC_EINVAL = -1,      /* an argument is out of its range */
  MRPC_ESTATE = -2,      /* not possible in this state or on this transport */
  MRPC_ELIMIT = -3,      /* a limit of mrpc_limits struck */
  MRPC_ENOTFOUND = -4,   /* no such method, file or address */
  MRPC_EEXIST = -5,      /* the name is taken */
  MRPC_ESYNTAX = -6,     /* malformed JSON, URL or message */
  MRPC_ETYPE = -7,       /* a value that JSON can't represent */
  MRPC_ESCRIPT = -8,     /* a Lua error */
  MRPC_EIO = -9,         /* the operating system said no */
  MRPC_ETIMEOUT = -10,   /* a deadline passed */
  MRPC_ECANCELLED = -11, /* cancelled by the caller */
  MRPC_ECLOSED = -12,    /* the peer went away */
  MRPC_ESIGPIPE = -13,   /* SIGPIPE isn't ignored; see mrpc_host_new */
  MRPC_EFATAL = -100,
  MRPC_ENOMEM = -101, /* the allocator said no */
  MRPC_EPROTO = -102  /* the byte stream can't be followed any further */
};

/* A constant English phrase for a result code. */
const char *mrpc_strerror(int code);
/* Of two words the one that is nearer to `word`, if it can be what was meant;
 * else NULL, which `a` and `b` may be as well. */
const char *mrpc_nearer(const char *word, const char *a, const char *b);

/* JSON-RPC error codes (JSON-RPC 2.0 section 5.1, then the host's own). */
enum {
  MRPC_PARSE_ERROR = -32700,
  MRPC_INVALID_REQUEST = -32600,
  MRPC_METHOD_NOT_FOUND = -32601,
  MRPC_INVALID_PARAMS = -32602,
  MRPC_INTERNAL_ERROR = -32603,
  MRPC_BUSY = -32050,
  MRPC_TIMED_OUT = -32051,
  MRPC_REPLY_TOO_LARGE = -32052,
  MRPC_SCRIPT_LIMIT = -32053,
  MRPC_SHUTTING_DOWN = -32054,
  MRPC_NOT_AUTHORISED = -32055,
  MRPC_RATE_LIMITED = -32056,
  MRPC_PEER_GONE = -32057, /* of a call out: the connection has ended */
  MRPC_REQUEST_CANCELLED = -32800
};

/* What callers see in place of the host's own codes, where other protocols
 * mean something else by these. */
typedef struct mrpc_error_codes {
  int busy;            /* MRPC_BUSY */
  int timed_out;       /* MRPC_TIMED_OUT */
  int reply_too_large; /* MRPC_REPLY_TOO_LARGE */
  int script_limit;    /* MRPC_SCRIPT_LIMIT */
  int shutting_down;   /* MRPC_SHUTTING_DOWN */
  int not_authorised;  /* MRPC_NOT_AUTHORISED */
  int rate_limited;    /* MRPC_RATE_LIMITED */
  int peer_gone;       /* MRPC_PEER_GONE */
} mrpc_error_codes;

/* Limits. A zero field means its default; MRPC_UNLIMITED (or a negative
 * number of seconds) switches one off where that is safe. */
#define MRPC_UNLIMITED UINT32_MAX

typedef struct mrpc_limits {
  uint32_t message;     /* bytes of one message; 4 MiB */
  uint32_t depth;       /* nesting of JSON, both ways; 128 */
  uint32_t batch;       /* entries of a batch; 1000 */
  uint32_t reply;       /* bytes of one reply, a whole batch included; 16 MiB */
  uint32_t in_flight;   /* unanswered requests a peer; 1024 */
  uint32_t output;      /* bytes held for a peer until reading stops; 1 MiB */
  uint32_t header;      /* bytes of a header block; 16 KiB */
  uint32_t connections; /* open connections a host; 16384 */
  uint32_t memory;      /* bytes of the Lua heap; 256 MiB */
  double header_time;   /* seconds for a header block to arrive; 10 */
  double body_time;     /* seconds for a body to arrive; 30 */
  double idle_time;     /* seconds that an HTTP connection may idle; 60 */
  double write_time;    /* seconds that output may stand still; 30 */
  double half_closed;   /* seconds for answers after the peer's EOF; 10 */
  double wait;          /* seconds that a wait in Lua may last; 60 */
  double handler;       /* seconds of run time of one handler; 5 */
  double load;          /* seconds of run time of one load; 2 */
} mrpc_limits;

/* Replaces zero fields by their defaults. */
void mrpc_limits_init(mrpc_limits *limits);

/* Environment: what the embedder grants.
 *
 * Memory, time and a place for log entries, shared by all objects made with
 * it. It keeps the deadlines: ask mrpc_timer_next when to wake, then call
 * mrpc_timer_run. Times are nanoseconds of a monotonic clock. */

typedef struct mrpc_env mrpc_env;

/* Lua's own allocator signature. Frees when nsize is 0; osize is exact. */
typedef void *(*mrpc_alloc_fn)(void *ud, void *ptr, size_t osize, size_t nsize);
typedef uint64_t (*mrpc_clock_fn)(void *ud);

enum { MRPC_LOG_ERROR = 1, MRPC_LOG_WARN, MRPC_LOG_INFO, MRPC_LOG_DEBUG };

/* One log event: a constant phrase and named details (key, value, key, value;
 * all strings, `count` pairs). Valid during the callback only. */
typedef struct mrpc_log_entry {
  int level;
  const char *text;
  size_t count;
  const char *const *pairs;
} mrpc_log_entry;

typedef void (*mrpc_log_fn)(const mrpc_log_entry *entry, void *ud);

typedef struct mrpc_env_config {
  mrpc_alloc_fn alloc; /* default: realloc and free */
  void *alloc_ud;
  mrpc_clock_fn clock; /* default: CLOCK_MONOTONIC */
  void *clock_ud;
  mrpc_log_fn log; /* default: silence */
  void *log_ud;
  int log_level; /* entries above it are not made; MRPC_LOG_INFO */
} mrpc_env_config;

int mrpc_env_new(const mrpc_env_config *config, mrpc_env **out);
/* Every object made with the environment must be freed before. */
void mrpc_env_free(mrpc_env *env);

/* The time of the next deadline, UINT64_MAX when there is none. */
uint64_t mrpc_timer_next(const mrpc_env *env);
/* Runs what is due at `now`. */
void mrpc_timer_run(mrpc_env *env, uint64_t now);

/* Dispatch: names to methods.
 *
 * A table of methods that many peers share. C functions stand in it beside
 * Lua ones. */

typedef struct mrpc_dispatch mrpc_dispatch;
typedef struct mrpc_peer mrpc_peer;
typedef struct mrpc_call mrpc_call;

/* Starts one request or notification. The function answers it exactly once,
 * at once or later, by mrpc_call_reply or mrpc_call_error; a notification is
 * ended in the same way and nothing is sent. The params are readable until
 * the function returns. */
typedef void (*mrpc_call_fn)(mrpc_call *call, void *ud);

int mrpc_dispatch_new(mrpc_env *env, mrpc_dispatch **out);
void mrpc_dispatch_free(mrpc_dispatch *dispatch);
/* Registers a C method. MRPC_EEXIST if the name is taken; MRPC_EINVAL for a
 * name that begins with "rpc.", which belongs to the host (section 8). */
int mrpc_dispatch_add(mrpc_dispatch *dispatch, const char *name,
                      mrpc_call_fn fn, void *ud);
/* From now on the host's own codes are sent as `codes` say; copied. */
void mrpc_dispatch_set_codes(mrpc_dispatch *dispatch,
                             const mrpc_error_codes *codes);
/* Called for what is found under no name, but for "rpc." names: a proxy, or a
 * listener for whatever comes. NULL: nothing is. */
void mrpc_dispatch_set_default(mrpc_dispatch *dispatch, mrpc_call_fn fn,
                               void *ud);

/* The params as JSON text, "" when there are none. Valid until the method
 * function returns. */
const char *mrpc_call_params(const mrpc_call *call, size_t *len);
/* The method's name; valid until the method function returns. */
const char *mrpc_call_method(const mrpc_call *call, size_t *len);
bool mrpc_call_is_notification(const mrpc_call *call);
/* The peer that called; NULL once it has gone. */
mrpc_peer *mrpc_call_peer(const mrpc_call *call);
/* Has the caller cancelled, or gone away? It must be answered all the same. */
bool mrpc_call_is_cancelled(const mrpc_call *call);
/* Runs `fn(call, ud)` once when that happens. */
void mrpc_call_on_cancel(mrpc_call *call, mrpc_call_fn fn, void *ud);

/* Tells the caller how far it is, if its params ask for that: `json` is what a
 * $/progress notification bears beside the token that stood in workDoneToken,
 * partialResultToken or progressToken; or, where _meta.progressToken asked for
 * notifications/progress, an object whose members stand beside it (of a number
 * the member `progress` is made, else MRPC_EINVAL). MRPC_ENOTFOUND: it didn't
 * ask, or doesn't wait any more. MRPC_ESTATE and MRPC_ELIMIT as for
 * mrpc_peer_notify. */
int mrpc_call_progress(mrpc_call *call, const char *json, size_t len);

/* Answers with a JSON text, which is sent as it is (but line ends in it become
 * spaces where messages are lines): it must be valid. */
int mrpc_call_reply(mrpc_call *call, const char *json, size_t len);
/* Answers with an error. A code of the host's own (MRPC_BUSY, ...) is sent as
 * mrpc_dispatch_set_codes says. `message` is plain UTF-8 text, NULL: the
 * code's own phrase; `data` is JSON text or NULL. */
int mrpc_call_error(mrpc_call *call, int code, const char *message,
                    const char *data);

/* Peer: one conversation.
 *
 * Bytes in, bytes out, both directions equal. Feed what arrived to
 * mrpc_peer_recv; send what mrpc_peer_output shows; report it with
 * mrpc_peer_sent. recv and eof aren't re-entrant for one peer: don't call them
 * from its callbacks, nor free it there. Answering a call and mrpc_peer_drop
 * are allowed anywhere. */

typedef struct mrpc_framing mrpc_framing;

/* Framings. Each keeps its own scan state; a peer owns the one it is given.
 * So that no browser can post into a socket, line ends a stream whose first
 * line doesn't begin as JSON does, or that has a line like an HTTP request's.
 */
int mrpc_framing_line(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out); /* one message a line */
int mrpc_framing_header(mrpc_env *env, const mrpc_limits *limits,
                        mrpc_framing **out); /* Content-Length, as in LSP */
int mrpc_framing_auto(mrpc_env *env, const mrpc_limits *limits,
                      mrpc_framing **out); /* one of both, by first byte */

/* WebSocket on an HTTP endpoint. */
typedef struct mrpc_websocket_config {
  double ping; /* seconds of silence until a sign of life is asked for; 30,
                  negative: never */
  double pong; /* seconds in which it must come; 10 */
  bool binary; /* take messages in binary frames too */
  bool off;    /* don't speak WebSocket: who asks for it gets HTTP's answer */
  bool only;   /* speak nothing else: HTTP is answered by 426 */
  const char *const *protocols; /* subprotocols that may be chosen,
                                   NULL-terminated; NULL: none */
} mrpc_websocket_config;

typedef struct mrpc_http_config {
  const mrpc_limits *limits;
  const char *path;           /* of the endpoint; "/" */
  int notification_status;    /* 204, or 200 or 202 */
  bool dev;                   /* also take curl's default content type */
  const char *bound;          /* address that the listener is bound to, for the
                                 Host check; NULL: any Host (Unix sockets) */
  const char *const *hosts;   /* further Host names, NULL-terminated */
  const char *const *origins; /* allowed Origins, NULL-terminated */
  const char *const *headers; /* fields that their pages may send beside
                                 Content-Type, NULL-terminated */
  mrpc_websocket_config websocket;
} mrpc_http_config;

/* HTTP/1.1, server side, and WebSocket for who asks for it. Strings in the
 * config must outlive the framing. */
int mrpc_framing_http(mrpc_env *env, const mrpc_http_config *config,
                      mrpc_framing **out);
/* HTTP/1.1, client side: what we push is POSTed to `path` of `host`. */
int mrpc_framing_http_client(mrpc_env *env, const mrpc_limits *limits,
                             const char *host, const char *path,
                             mrpc_framing **out);
/* WebSocket, client side. `subprotocols` may be NULL, else it is a
 * NULL-terminated list, the preferred first, that must outlive the framing.
 * What is said before the server
 * has agreed is held until then. MRPC_EIO: the system has no random numbers. */
int mrpc_framing_ws_client(mrpc_env *env, const mrpc_limits *limits,
                           const char *host, const char *path,
                           const char *const *subprotocols, mrpc_framing **out);

typedef void (*mrpc_peer_fn)(mrpc_peer *peer, void *ud);

typedef struct mrpc_peer_config {
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  const mrpc_limits *limits; /* copied; NULL: the defaults */
  const char *transport;     /* "http", "tcp", "unix", "stdio", ...; constant */
  const char *address;       /* of the other side; NULL: "" */
  mrpc_peer_fn on_wake;      /* there is output, or wants_read or is_done
                                changed, outside of recv, eof and drain; often
                                in the midst of an answer: take output, or make
                                a note, but don't free the peer from here. From
                                inside of recv, too, before a message of ours
                                is refused because more than limits.output is
                                held: what is sent from here makes room */
  bool reject_duplicate_ids; /* refuse an id that is in flight */
  bool explain;              /* tell the other side what was wrong with its
                                message, in the error's data */
  void *ud;
} mrpc_peer_config;

/* Takes ownership of the framing, in failure too. */
int mrpc_peer_new(const mrpc_peer_config *config, mrpc_framing *framing,
                  mrpc_peer **out);
/* Cancels the calls in from it and fails the calls out to it. */
void mrpc_peer_free(mrpc_peer *peer);
void *mrpc_peer_ud(const mrpc_peer *peer);

/* Takes all `len` bytes (it keeps what it can't use yet). Answers MRPC_OK, or
 * a fatal code after which nothing more is read; what output there is should
 * still be sent. */
int mrpc_peer_recv(mrpc_peer *peer, const void *bytes, size_t len);
/* The other side has ended its sending: half-close. */
int mrpc_peer_eof(mrpc_peer *peer);
/* The connection is dead: cancels and fails everything, but for notifications
 * over HTTP, which have had their answers: is_done when those have ended. Who
 * frees the peer before cancels them. */
void mrpc_peer_drop(mrpc_peer *peer);
/* No new requests are taken; is_done when the calls in flight have ended. */
void mrpc_peer_drain(mrpc_peer *peer);
/* Ends the conversation from our side. Nothing more is taken; calls of ours
 * fail with MRPC_ECLOSED before anything else happens to the peer (not from
 * inside this function); calls in flight may be answered for
 * limits.half_closed seconds, then it is_done. `reason`, which may be NULL, is
 * told to the other side where the transport has room for it. */
void mrpc_peer_close(mrpc_peer *peer, const char *reason);

/* Should more be read now? False while a limit holds the peer back. */
bool mrpc_peer_wants_read(const mrpc_peer *peer);
/* The bytes to send, 0 if none. They stay in place until sent reports them. */
size_t mrpc_peer_output(mrpc_peer *peer, const char **bytes);
void mrpc_peer_sent(mrpc_peer *peer, size_t len);
/* The conversation is over and all output is sent: close the connection. */
bool mrpc_peer_is_done(const mrpc_peer *peer);

/* What became of a call of ours. */
typedef struct mrpc_answer {
  int result;       /* MRPC_OK: answered; MRPC_ETIMEOUT, MRPC_ECLOSED: not */
  bool is_error;    /* the answer is an error object */
  const char *json; /* the result, or the whole error object, as text */
  size_t len;
} mrpc_answer;

/* `answer` is valid during the callback. Called exactly once, never from
 * inside mrpc_peer_call; not at all after mrpc_peer_cancel. */
typedef void (*mrpc_answer_fn)(mrpc_peer *peer, const mrpc_answer *answer,
                               void *ud);

/* Calls a method of the other side. `params` is JSON text of an array or an
 * object, or NULL. `timeout` in seconds; 0: limits.wait. `id`, which may be
 * NULL, becomes what mrpc_peer_cancel asks for; it is never 0. MRPC_ESTATE
 * where the transport can't carry it or the peer has ended; MRPC_ELIMIT while
 * more than limits.output is held for it though on_wake was asked to take it,
 * or limits.in_flight calls wait for its answers. */
int mrpc_peer_call(mrpc_peer *peer, const char *method, const char *params,
                   double timeout, mrpc_answer_fn fn, void *ud, int64_t *id);
/* Gives up a call of ours: its function isn't called any more, and the other
 * side is told, as it is of a call that has timed out: by $/cancelRequest, or
 * notifications/cancelled when it speaks that way itself; not on HTTP.
 * MRPC_ENOTFOUND: it has ended before. */
int mrpc_peer_cancel(mrpc_peer *peer, int64_t id);
/* MRPC_ESTATE and MRPC_ELIMIT as for mrpc_peer_call. */
int mrpc_peer_notify(mrpc_peer *peer, const char *method, const char *params);
/* What is called and notified between these two leaves together, as one batch
 * (JSON-RPC 2.0 section 6); nothing at all if that is nothing. Each call is
 * answered on its own. A batch that can't be sent (MRPC_ENOMEM) ends the
 * conversation; MRPC_ESTATE: that has ended meanwhile. */
void mrpc_peer_batch_begin(mrpc_peer *peer);
int mrpc_peer_batch_end(mrpc_peer *peer);

/* Runtime: a directory of Lua methods.
 *
 * Loads every Lua file below a directory and keeps a dispatch supplied with
 * the methods that they define. A reload builds the changed files aside, in
 * slices between which calls are served (they ride on the environment's
 * deadlines), and swaps them in one step; a fault leaves the old ones
 * serving. */

typedef struct mrpc_runtime mrpc_runtime;
typedef void (*mrpc_runtime_fn)(void *ud);

/* One fault of a load. */
typedef struct mrpc_fault {
  const char *file;    /* relative to the directory, "." for itself */
  int line;            /* 0 when unknown */
  const char *message; /* without the place */
} mrpc_fault;

/* What the latest load did. */
typedef struct mrpc_report {
  bool ok;
  uint32_t generation; /* of the methods that serve now; 0: none yet */
  uint32_t files;      /* that were (re)loaded */
  uint32_t methods;    /* that serve now */
  double seconds;      /* from its start to the swap or the failure */
  size_t fault_count;
  const mrpc_fault *faults;
} mrpc_report;

typedef void (*mrpc_report_fn)(const mrpc_report *report, void *ud);
/* A script asks for the end, by rpc.exit; `code` is 0 to 255. The script runs
 * on: don't free anything here, make a note. */
typedef void (*mrpc_exit_fn)(int code, void *ud);

/* A script as a source lists it. */
typedef struct mrpc_script {
  const char *path;  /* "user/admin.lua": relative, '/' between its parts */
  uint64_t stamp;    /* differs when the content does; may change without */
  uint64_t size;     /* in bytes */
  double age;        /* seconds since it was written; negative: unknown */
  const char *fault; /* it can't be had, and this is why; NULL: it can */
} mrpc_script;

typedef int (*mrpc_script_fn)(const mrpc_script *script, void *to);
typedef int (*mrpc_text_fn)(const char *bytes, size_t len, void *to);

/* Where scripts come from, if not from a directory. Both functions pass on a
 * result of the callback other than MRPC_OK at once. */
typedef struct mrpc_source {
  /* Names every script by `found(script, to)`, in any order. */
  int (*list)(void *ud, mrpc_script_fn found, void *to);
  /* Hands over a script's text by `text(bytes, len, to)`, whole or in pieces;
   * MRPC_ENOTFOUND when it has gone. */
  int (*read)(void *ud, const char *path, mrpc_text_fn text, void *to);
  void *ud;
} mrpc_source;

/* A connection that we opened. `peer` is NULL when it failed; it lives until
 * on_close with the same `ud`. */
typedef void (*mrpc_peer_open_fn)(mrpc_peer *peer, void *ud);

/* Who opens connections for rpc.connect. A host is one itself. */
typedef struct mrpc_dialer {
  /* As mrpc_host_connect: `on_open` once, from the loop; `on_close` at the end
   * of a connection that was opened. A failure at once calls neither. `header`
   * has further fields for HTTP and WebSocket, whole lines with CRLF; "": none.
   */
  int (*connect)(void *ud, const char *url, const char *header,
                 mrpc_peer_open_fn on_open, mrpc_peer_fn on_close, void *to);
  /* Why the latest failed or ended, while one of these functions runs or has
   * just failed; "" when there is no reason. */
  const char *(*error)(void *ud);
  void *ud;
} mrpc_dialer;

typedef struct mrpc_runtime_config {
  mrpc_env *env;
  mrpc_dispatch *dispatch;
  const mrpc_limits *limits; /* copied; NULL: the defaults */
  const char *dir;           /* of the methods */
  const mrpc_source *source; /* instead of a directory; copied; NULL: `dir` */
  bool dev;                  /* errors tell message and traceback in `data` */
  bool strict;               /* what nobody requires yet must compile too */
  bool hook;                 /* look at the run time by a standing hook, which
                                slows scripts down: for embedders that don't
                                call mrpc_runtime_interrupt */
  mrpc_report_fn on_report;  /* a load has ended */
  mrpc_exit_fn on_exit;      /* NULL: rpc.exit raises an error */
  const mrpc_dialer *dialer; /* copied; NULL: so does rpc.connect */
  void *ud;
} mrpc_runtime_config;

int mrpc_runtime_new(const mrpc_runtime_config *config, mrpc_runtime **out);
/* Not from inside a method. Ends all tasks (their calls are answered with
 * MRPC_SHUTTING_DOWN) and takes its methods out of the dispatch. */
void mrpc_runtime_free(mrpc_runtime *runtime);
/* Starts a load of what has changed, or of everything; one that is under way
 * is given up. on_report tells its end, never from inside this function. */
int mrpc_runtime_reload(mrpc_runtime *runtime, bool everything);
bool mrpc_runtime_is_loading(const mrpc_runtime *runtime);
/* Valid until the next load ends. */
const mrpc_report *mrpc_runtime_report(const mrpc_runtime *runtime);
/* The host is about to end: runs, once, what files gave to rpc.on("shutdown").
 * `on_quiet(ud)`, which may be NULL, is called from now on whenever the last
 * function of rpc.on for a shutdown or a disconnect has ended. */
void mrpc_runtime_shutdown(mrpc_runtime *runtime, mrpc_runtime_fn on_quiet,
                           void *ud);
/* Does no such function run? */
bool mrpc_runtime_is_quiet(const mrpc_runtime *runtime);
/* Makes the Lua code that runs now check its deadlines soon. Async-signal-safe;
 * call it on the runtime's own thread only (from a signal handler). */
void mrpc_runtime_interrupt(mrpc_runtime *runtime);
/* Counts the run of Lua code: changes with every slice, 0 while none runs. For
 * a sampling timer that decides when to interrupt. Async-signal-safe. */
uint32_t mrpc_runtime_slice(const mrpc_runtime *runtime);

/* Host: the second door, on libuv.
 *
 * Serves a directory of methods on any number of addresses, and calls other
 * servers. A host belongs to the thread that runs its loop.
 *
 *   #include <moonrpc.h>
 *   #include <signal.h>
 *   #include <stdio.h>
 *
 *   int main(void) {
 *     mrpc_env_config env_config = {0}; // .log tells of faults in methods
 *     mrpc_host_config config;
 *     mrpc_host *host;
 *     signal(SIGPIPE, SIG_IGN); // who goes away mustn't take us along
 *     mrpc_host_config_init(&config);
 *     config.methods = "methods";
 *     if (mrpc_env_new(&env_config, &config.env)) return 1;
 *     int rc = mrpc_host_new(&config, &host);
 *     if (!rc) rc = mrpc_host_listen(host, "http://127.0.0.1:4000");
 *     if (!rc) rc = mrpc_host_run(host); // or mrpc_host_step once a frame
 *     if (rc) fprintf(stderr, "%s: %s\n", mrpc_strerror(rc),
 *                     mrpc_host_error(host));
 *     mrpc_host_free(host);
 *     mrpc_env_free(config.env);
 *     return rc != 0;
 *   }
 *
 *   cc main.c $(pkg-config --cflags --libs moonrpc)
 *
 * Addresses: http://host:port[/path], http+unix:/path, tcp://host:port,
 * unix:/path, stdio:; the last three take ?framing=line or ?framing=header.
 * HTTP takes WebSocket too; ws://host:port[/path] and ws+unix:/path take it
 * only, and connect by it.
 * To connect to, exec:command or exec+header:command: the program is started
 * and spoken with over its stdin and stdout; it ends with its connection, or
 * with the host, which may take two seconds then. libuv handles SIGCHLD from
 * the first one on. */

struct uv_loop_s;
typedef struct mrpc_host mrpc_host;
typedef void (*mrpc_host_fn)(mrpc_host *host, void *ud);

typedef struct mrpc_host_config {
  mrpc_env *env;             /* must outlive the host */
  struct uv_loop_s *loop;    /* NULL: one of its own */
  const char *methods;       /* the directory, which may come later and then
                                is watched for; NULL: C methods only */
  const mrpc_source *source; /* instead of a directory */
  bool dev;                  /* tell callers why a method failed */
  bool no_watch;             /* reload only when asked to */
  bool strict;               /* as in mrpc_runtime_config */
  bool open_admin;           /* rpc.discover, rpc.status and rpc.reload for
                                everybody; else in dev mode and for the owner
                                of a Unix socket */
  bool reject_duplicate_ids; /* refuse an id that is in flight */
  mrpc_limits limits;
  mrpc_error_codes errors; /* what callers see in place of the host's codes */
  mrpc_http_config http;   /* of all HTTP endpoints; `limits`, `dev` and `bound`
                              are filled in by the host */
  int interrupt_signal;    /* a signal number granted to the host, by which it
                              enforces limits.handler; 0: none */
  bool hook;               /* enforce it by a standing hook, which halves the
                              speed of scripts */
  mrpc_host_fn on_ready;   /* the first load has ended, calls are taken */
  mrpc_report_fn on_report; /* a load has ended */
  mrpc_exit_fn on_exit;     /* NULL: scripts can't ask for the end */
  mrpc_host_fn on_signal;   /* for MRPC_HOST_TELL, on the loop's thread */
  void *ud;                 /* of all four */

  /* What a config file says beyond that, for the program to use. */
  const char *const *listen; /* addresses, NULL-terminated; may be NULL */
  double drain;              /* seconds for calls in flight at the end; 10 */
  int log_level;             /* 0: not said */
  bool log_json;
  void *own; /* memory of the strings that were read; see config_clear */
} mrpc_host_config;

void mrpc_host_config_init(mrpc_host_config *config);
/* Reads a config file, which is a Lua file that returns a table, over what
 * stands in `config`. MRPC_ENOTFOUND, MRPC_ESCRIPT or MRPC_EINVAL, with a
 * sentence in `error` that names file and key. */
int mrpc_host_config_read(mrpc_host_config *config, const char *path,
                          char *error, size_t size);
/* Frees what was read. The host has copies of all that it needs. */
void mrpc_host_config_clear(mrpc_host_config *config);

/* MRPC_ESIGPIPE where the signal SIGPIPE isn't ignored or handled: a write to
 * a peer that has gone would end the process. `out` is NULL after a failure;
 * what is asked of that answers MRPC_EINVAL. */
int mrpc_host_new(const mrpc_host_config *config, mrpc_host **out);
/* Closes everything at once and runs the loop until that is done; not to be
 * called from a callback of the host or the loop. */
void mrpc_host_free(mrpc_host *host);
/* Why the latest function that failed did so, as a phrase. */
const char *mrpc_host_error(const mrpc_host *host);
void *mrpc_host_ud(const mrpc_host *host);

mrpc_env *mrpc_host_env(const mrpc_host *host);
/* For C methods, and for peers of your own beside those of the host. */
mrpc_dispatch *mrpc_host_dispatch(mrpc_host *host);
/* NULL when there's no directory. */
mrpc_runtime *mrpc_host_runtime(mrpc_host *host);

/* Binds an address; calls are taken after the first load. MRPC_ESYNTAX for a
 * bad address, MRPC_EEXIST when it is in use, MRPC_EIO. */
int mrpc_host_listen(mrpc_host *host, const char *url);
/* The address number `index` with its real port, "" beyond the last. */
const char *mrpc_host_url(mrpc_host *host, size_t index);

/* Starts the first load; the two functions below do it where it hasn't been
 * done. For those who run the loop themselves. */
int mrpc_host_start(mrpc_host *host);
/* Runs until the host has ended: after stop, when a drain is done, or when
 * all addresses are streams that have ended (stdio). MRPC_ETIMEOUT when the
 * deadline of a drain cut calls off. */
int mrpc_host_run(mrpc_host *host);
/* Does what can be done now, for about `budget_us` microseconds (0: one turn
 * of the loop). MRPC_ECLOSED when the host has ended. */
int mrpc_host_step(mrpc_host *host, uint64_t budget_us);

/* Takes no new work; ends when the calls in flight have, after `seconds` at
 * the latest. */
void mrpc_host_drain(mrpc_host *host, double seconds);
void mrpc_host_stop(mrpc_host *host);
/* Loads what has changed, or everything. */
int mrpc_host_reload(mrpc_host *host, bool everything);

/* Asks for one of these soon. Signal handlers and other threads may call it. */
enum {
  MRPC_HOST_DRAIN = 1,
  MRPC_HOST_STOP = 2,
  MRPC_HOST_RELOAD = 4,
  MRPC_HOST_TELL = 8 /* runs on_signal of the config */
};
void mrpc_host_signal(mrpc_host *host, int what);

/* Connects to a server. `on_open` is called once, from the loop; `on_close`,
 * which may be NULL, when an opened connection has ended: mrpc_host_error is
 * "" then, or tells what was wrong with it or why the server closed it.
 * MRPC_ESYNTAX for a bad address. */
int mrpc_host_connect(mrpc_host *host, const char *url,
                      mrpc_peer_open_fn on_open, mrpc_peer_fn on_close,
                      void *ud);

/* JSON text, for programs.
 *
 * What a program needs to make params and to show results. The texts that
 * these functions give are NUL-terminated and freed with mrpc_text_free; NULL
 * means out of memory. */

/* Is it one valid JSON text? */
bool mrpc_json_is_valid(mrpc_env *env, const char *text, size_t len);
/* Rewrites a valid JSON text with line breaks and indents, or without any
 * white space. */
char *mrpc_json_pretty(mrpc_env *env, const char *text, size_t len,
                       bool indent);
/* Makes a JSON string; what isn't UTF-8 is replaced by U+FFFD. */
char *mrpc_json_quote(mrpc_env *env, const char *text, size_t len);
/* The inside of a JSON string, unescaped. */
char *mrpc_json_unquote(mrpc_env *env, const char *text, size_t len);
void mrpc_text_free(mrpc_env *env, char *text);

/* One element of an array (`key` is NULL) or member of an object, as text.
 * Valid during the callback; a result other than 0 ends the walk. */
typedef int (*mrpc_json_fn)(const char *key, const char *value, size_t len,
                            void *ud);
/* Walks over an array or object; other values have no elements. What the
 * callback gave, or MRPC_ESYNTAX, MRPC_ENOMEM. */
int mrpc_json_each(mrpc_env *env, const char *text, size_t len, mrpc_json_fn fn,
                   void *ud);

#ifdef __cplusplus
}
#endif
#endif
