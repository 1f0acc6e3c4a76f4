/* SPDX-License-Identifier: MIT
 *
 * What all streams and listeners of one host share: the libuv loop, one read
 * buffer (peers copy what they keep), the list of streams that have something
 * to do at the end of the turn, and the deadlines of the environment.
 *
 * A turn goes: poll, reads and their answers, then one flush of whatever was
 * answered by anybody else (timers, later replies), then the clock is armed.
 * Knows nothing of Lua. */
#ifndef MRPC_TRANSPORT_LOOP_H
#define MRPC_TRANSPORT_LOOP_H

#include "base/env.h"
#include "base/list.h"

struct uv_loop_s;

enum { MRPC_ROOM = 64 << 10 }; /* bytes of the read buffer */

typedef struct mrpc_loop {
  mrpc_env *env;
  struct uv_loop_s *uv;
  bool owns_uv;
  bool stopped;          /* mrpc_loop_run shall end */
  bool closing;          /* mrpc_loop_free has begun: nothing new is opened */
  mrpc_link streams;     /* all that exist */
  mrpc_link woken;       /* of those, the ones to settle at the turn's end */
  uint32_t stream_count; /* bound by max_streams */
  uint32_t max_streams;
  const char *max_name; /* what sets it, for the log */
  uint32_t handles;     /* libuv handles and requests of ours that are open */
  char *room;           /* MRPC_ROOM bytes, valid within one read */
  uint64_t work;   /* counts reads and deadlines: has a turn done anything? */
  uint64_t until;  /* of a step, by uv_hrtime: reads wait beyond it; 0: none */
  uint64_t first;  /* `work` when the step began: one read is always made */
  char error[256]; /* why the latest thing failed, one phrase */
} mrpc_loop;

/* `uv` is the embedder's loop, or NULL for one of its own. */
int mrpc_loop_new(mrpc_env *env, struct uv_loop_s *uv, mrpc_loop **out);
/* Runs the loop until our handles, which must have been asked to close, are
 * closed. Don't call it from a callback of the loop. */
void mrpc_loop_free(mrpc_loop *loop);

/* Runs until mrpc_loop_stop, or until nothing is left that could happen. */
void mrpc_loop_run(mrpc_loop *loop);
void mrpc_loop_stop(mrpc_loop *loop);
/* Deadlines that were started outside of the loop keep it alive from now on;
 * within a turn this happens by itself. */
void mrpc_loop_arm(mrpc_loop *loop);
/* Does what can be done now: turns until nothing happens or `budget_us`
 * microseconds have passed, exceeded by one read's work at most; 0: one turn,
 * whatever it takes. */
void mrpc_loop_step(mrpc_loop *loop, uint64_t budget_us);

/* Calls `fn` on the loop's thread soon after mrpc_bell_ring, which is the one
 * function here that signal handlers and other threads may call. Several
 * rings may give one call. */
typedef struct mrpc_bell mrpc_bell;
typedef void (*mrpc_bell_fn)(void *ud);
int mrpc_bell_new(mrpc_loop *loop, mrpc_bell_fn fn, void *ud, mrpc_bell **out);
void mrpc_bell_ring(mrpc_bell *bell);
void mrpc_bell_free(mrpc_bell *bell);

/* Settles the streams of the woken list. */
void mrpc_loop_flush(mrpc_loop *loop);

/* Keeps "subject: reason" as the error, for `status`, a libuv or negative
 * errno code, and answers MRPC_EIO; MRPC_EEXIST when an address is in use. */
int mrpc_loop_fail(mrpc_loop *loop, const char *subject, int status);

#endif
