/* SPDX-License-Identifier: MIT
 *
 * The stream and its child end separately, and both must have before the
 * struct goes:
 *
 *   START -> RUN -> (LOST -> (LATE)) -> CLOSED -> TERM -> KILL
 *
 * The end of the child's output, or a write that fails, mostly means that it
 * has just died: the stream is held (LOST) until the exit status is known, so
 * that its end can be explained, but not longer than a second (LATE). Behind
 * CLOSED the stream has gone and only the process is waited for. */
#include "transport/child.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/stream.h"
#include "transport/words.h"

enum {
  LINE = 1000,     /* bytes of a line of stderr; the rest isn't logged */
  SAID = 1024,     /* bytes of stderr that are taken in one turn of the loop */
  LAST_READS = 64, /* of what a dead child has left in its output, */
  LAST_WORDS = 4,  /* and in its stderr */
  HOLD_MS = 1000,  /* that a stream waits for the reason of its end */
  TERM_MS = 500,   /* from the close of the input to SIGTERM, */
  KILL_MS = 2000   /* and to SIGKILL */
};

typedef enum stage { START, RUN, LOST, LATE, CLOSED, TERM, KILL } stage;

typedef struct child {
  mrpc_conn stream;   /* its own handle is unused */
  mrpc_connect_fn fn; /* NULL once called */
  void *ud;
  uv_process_t process;
  uv_timer_t timer;
  uv_pipe_t in, out, err; /* the child's; `in` is what we write to */
  uint32_t handles;       /* of process, timer and err: still open */
  stage stage;
  bool has_exited;
  bool is_released; /* the stream has gone */
  uint64_t said_at; /* loop time of the last turn that took stderr */
  size_t line_len;
  char line[LINE + 1];
  char end[64];
  char *words[MRPC_COMMAND_WORDS];
  char command[MRPC_COMMAND_MAX];
} child;

static void on_time(uv_timer_t *timer);

/* The end of the struct. */

static void free_child(child *c) {
  if (!c->is_released || c->handles) return;
  mrpc_mem_free(&c->stream.loop->env->mem, c, sizeof *c);
}

static void on_closed(uv_handle_t *handle) {
  child *c = handle->data;
  c->handles--;
  c->stream.loop->handles--;
  free_child(c);
}

static void close_handle(uv_handle_t *handle) {
  if (!uv_is_closing(handle)) uv_close(handle, on_closed);
}

static void set_timer(child *c, stage next, uint64_t ms) {
  c->stage = next;
  uv_update_time(c->timer.loop);
  uv_timer_start(&c->timer, on_time, ms, 0);
}

/* The stream's handles are closed, its input among them. */
static void release(mrpc_conn *stream, void *ud) {
  child *c = (child *)stream;
  mrpc_connect_fn fn = c->fn;
  (void)ud;
  c->fn = NULL;
  c->is_released = true;
  if (fn) {
    mrpc_loop_fail(stream->loop, c->words[0], UV_ECANCELED);
    fn(NULL, c->ud);
  }
  if (!c->has_exited) set_timer(c, CLOSED, TERM_MS);
  free_child(c);
}

/* What the child says on stderr. */

static void log_line(child *c) {
  c->line[c->line_len] = '\0';
  if (c->line_len)
    mrpc_log(c->stream.loop->env, MRPC_LOG_INFO, "stderr", "command",
             c->words[0], "line", c->line, NULL);
  c->line_len = 0;
}

static void add_line(child *c, const char *bytes, size_t len) {
  size_t room = LINE - c->line_len;
  if (len > room) len = room;
  for (size_t i = 0; i < len; i++)
    c->line[c->line_len++] = bytes[i] ? bytes[i] : '?';
}

static void take_lines(child *c, const char *bytes, size_t len) {
  const char *end = bytes + len;
  while (bytes < end) {
    const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
    const char *to = stop ? stop : end;
    add_line(c, bytes, (size_t)(to - bytes));
    if (stop) log_line(c);
    bytes = stop ? stop + 1 : end;
  }
}

/* Whoever floods its stderr is slowed down by the pipe: it would keep the loop
 * from all else. Without a buffer libuv asks again in the next turn. */
static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf) {
  child *c = handle->data;
  uint64_t now = uv_now(handle->loop);
  bool later = c->said_at == now;
  (void)hint;
  c->said_at = now;
  *buf = later ? uv_buf_init(NULL, 0) : uv_buf_init(c->stream.loop->room, SAID);
}

static void on_err(uv_stream_t *err, ssize_t len, const uv_buf_t *buf) {
  child *c = err->data;
  if (len == UV_ENOBUFS) return;
  if (len > 0) take_lines(c, buf->base, (size_t)len);
  if (len >= 0) return;
  log_line(c);
  close_handle((uv_handle_t *)err);
}

/* The end of the process. */

/* Reads what is left in a pipe, which others may go on to fill; `take` may
 * close it. */
static void read_rest(child *c, uv_stream_t *pipe, int most,
                      void (*take)(child *c, const char *bytes, size_t len)) {
  char *room = c->stream.loop->room;
  uv_os_fd_t fd;
  for (int i = 0; i < most; i++) {
    if (uv_is_closing((uv_handle_t *)pipe) ||
        uv_fileno((uv_handle_t *)pipe, &fd))
      return;
    ssize_t len = read(fd, room, MRPC_ROOM);
    if (len <= 0) return;
    take(c, room, (size_t)len);
  }
}

static void take_output(child *c, const char *bytes, size_t len) {
  if (!c->stream.failed) mrpc_conn_feed(&c->stream, bytes, (ssize_t)len);
}

/* The stream's end tells of it, unless that has come before. */
static void note_end(child *c, int64_t status, int number) {
  if (number)
    snprintf(c->end, sizeof c->end, "was ended by signal %d (%s)", number,
             strsignal(number));
  else if (status)
    snprintf(c->end, sizeof c->end, "exited with status %d", (int)status);
  mrpc_log(c->stream.loop->env,
           c->stream.closing ? MRPC_LOG_INFO : MRPC_LOG_DEBUG, "child ended",
           "command", c->words[0], "end",
           *c->end ? c->end : "exited with status 0", NULL);
}

static void begin(child *c) {
  mrpc_connect_fn fn = c->fn;
  c->fn = NULL;
  c->stage = RUN;
  if (fn) fn(&c->stream, c->ud);
}

static void on_exit(uv_process_t *process, int64_t status, int number) {
  child *c = process->data;
  if (c->stage == START && !c->stream.closing) begin(c);
  read_rest(c, (uv_stream_t *)&c->err, LAST_WORDS, take_lines);
  log_line(c);
  note_end(c, status, number);
  c->has_exited = true;
  if (!c->stream.closing) read_rest(c, c->stream.in, LAST_READS, take_output);
  close_handle((uv_handle_t *)process);
  close_handle((uv_handle_t *)&c->timer);
  close_handle((uv_handle_t *)&c->err);
  mrpc_conn_close(&c->stream);
}

/* The stream is dead, or its input has ended: does it wait for the reason? */
static bool hold(mrpc_conn *stream) {
  child *c = (child *)stream;
  if (c->has_exited || c->stage == LATE) return false;
  if (c->stage != LOST) set_timer(c, LOST, HOLD_MS);
  return true;
}

static void on_time(uv_timer_t *timer) {
  child *c = timer->data;
  switch (c->stage) {
    case START:
      if (!c->stream.closing) begin(c);
      break;
    case LOST:
      c->stage = LATE;
      mrpc_conn_end(&c->stream);
      break;
    case CLOSED:
      set_timer(c, TERM, KILL_MS - TERM_MS);
      uv_process_kill(&c->process, SIGTERM);
      break;
    case TERM:
      c->stage = KILL;
      uv_process_kill(&c->process, SIGKILL);
      break;
    default: break;
  }
}

/* Birth. */

static int split(mrpc_loop *loop, child *c, const char *command) {
  int rc = MRPC_ELIMIT;
  size_t len = strlen(command);
  if (len < sizeof c->command) {
    memcpy(c->command, command, len + 1);
    rc = mrpc_words_split(c->command, c->words, MRPC_COMMAND_WORDS);
  }
  const char *why = NULL;
  if (rc == MRPC_ELIMIT) why = "the command is too long";
  if (rc == MRPC_ESYNTAX) why = "a quote or backslash isn't closed";
  if (!rc && !c->words[0]) why = "the command is missing";
  if (!why) return MRPC_OK;
  snprintf(loop->error, sizeof loop->error, "%s", why);
  return MRPC_ESYNTAX;
}

static void init_handles(child *c, mrpc_loop *loop) {
  mrpc_conn *s = &c->stream;
  uv_pipe_init(loop->uv, &c->in, 0);
  uv_pipe_init(loop->uv, &c->out, 0);
  uv_pipe_init(loop->uv, &c->err, 0);
  uv_timer_init(loop->uv, &c->timer);
  s->in = (uv_stream_t *)&c->out;
  s->out = (uv_stream_t *)&c->in;
  s->in->data = s->out->data = s;
  c->err.data = c->timer.data = c->process.data = c;
  s->in_fd = s->out_fd = -1;
  s->handles = 2;
  s->on_free = release;
  s->on_lost = hold;
  c->handles = 3;
  loop->handles += 3;
  mrpc_conn_join(s, loop);
}

static int spawn(child *c, mrpc_loop *loop) {
  uv_stdio_container_t pipes[3] = {{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
                                    .data.stream = (uv_stream_t *)&c->in},
                                   {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
                                    .data.stream = (uv_stream_t *)&c->out},
                                   {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
                                    .data.stream = (uv_stream_t *)&c->err}};
  uv_process_options_t options = {.exit_cb = on_exit,
                                  .file = c->words[0],
                                  .args = c->words,
                                  .stdio_count = 3,
                                  .stdio = pipes};
  int status = uv_spawn(loop->uv, &c->process, &options);
  if (!status) uv_read_start((uv_stream_t *)&c->err, on_alloc, on_err);
  return status;
}

int mrpc_child_start(mrpc_loop *loop, const char *command, mrpc_connect_fn fn,
                     void *ud) {
  child *c = mrpc_mem_new(&loop->env->mem, sizeof *c);
  if (!c) return MRPC_ENOMEM;
  int rc = split(loop, c, command);
  if (rc) {
    mrpc_mem_free(&loop->env->mem, c, sizeof *c);
    return rc;
  }
  init_handles(c, loop);
  int status = spawn(c, loop);
  if (!status) {
    c->fn = fn;
    c->ud = ud;
    set_timer(c, START, 0);
    return MRPC_OK;
  }
  c->has_exited = true;
  rc = mrpc_loop_fail(loop, c->words[0], status);
  close_handle((uv_handle_t *)&c->process);
  close_handle((uv_handle_t *)&c->timer);
  close_handle((uv_handle_t *)&c->err);
  mrpc_conn_close(&c->stream);
  return rc;
}

const char *mrpc_child_end(const mrpc_conn *stream) {
  return ((const child *)stream)->end;
}
