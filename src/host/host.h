/* SPDX-License-Identifier: MIT
 *
 * The inside of a host, shared by the files of this layer. The host owns the
 * order of things:
 *
 *   new -> listen* -> start (the first load) -> serving -> drain or stop
 *
 * Addresses are bound by listen and opened when the first load has ended. */
#ifndef MRPC_HOST_HOST_H
#define MRPC_HOST_HOST_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/list.h"
#include "rpc/peer.h"
#include "transport/loop.h"

struct mrpc_conn;
struct mrpc_endpoint;
struct mrpc_sampler;
typedef struct mrpc_luv mrpc_luv;
struct mrpc_watch;

typedef enum mrpc_host_state {
  MRPC_HOST_NEW,
  MRPC_HOST_LOADING, /* the first load */
  MRPC_HOST_SERVING,
  MRPC_HOST_DRAINING,
  MRPC_HOST_ENDED
} mrpc_host_state;

struct mrpc_host {
  mrpc_env *env;
  mrpc_host_config config; /* its strings stand in `strings` */
  mrpc_arena strings;
  mrpc_host_state state;
  bool running; /* inside mrpc_host_run */
  mrpc_loop *loop;
  mrpc_dispatch *dispatch;
  char hint[256];        /* why there are no methods */
  mrpc_runtime *runtime; /* NULL: C methods only */
  mrpc_bell *bell;
  atomic_int asked;    /* MRPC_HOST_DRAIN, ... since the bell was heard last */
  mrpc_timer deadline; /* of a drain */
  uint64_t cut;        /* calls in flight when it came */
  uint64_t drain_began;
  bool tells_drain; /* its end is told, too */

  struct mrpc_sampler *sampler; /* NULL until the loop's thread is known */
  bool sampler_tried;
  volatile uint32_t sampled; /* the slice that the last sample saw */

  mrpc_luv *luv;
  mrpc_link endpoints;
  uint32_t open_endpoints; /* those that can still bring calls */

  uint32_t dialled; /* open connections of rpc.connect */

  uint64_t started;         /* time of mrpc_host_new */
  uint64_t connections;     /* that ever were */
  mrpc_peer_stats ended;    /* sums over the peers that have gone */
  mrpc_link reloads;        /* rpc.reload calls that wait for a report */
  struct mrpc_watch *watch; /* of the methods directory; may be NULL */
  char error[512];
};

/* Keeps a phrase as the host's error; answers `code`. */
int mrpc_host_fail(mrpc_host *host, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Calls `fn` for each endpoint, which mustn't go meanwhile. */
void mrpc_host_each(mrpc_host *host, void (*fn)(struct mrpc_endpoint *));
/* Ends the host if nothing is left to do; end.c. */
void mrpc_host_check_end(mrpc_host *host);
/* The deadline of a drain. */
void mrpc_host_deadline(mrpc_timer *timer);
/* What rpc.connect opens. These connections don't hold up the end of a drain:
 * calls in flight may need them until then. None is opened any more while the
 * host ends (MRPC_ESTATE). */
int mrpc_host_dial(void *host, const char *url, const char *header,
                   mrpc_peer_open_fn on_open, mrpc_peer_fn on_close, void *ud);
/* A conversation has ended: adds up its counters, lets a waiting connection
 * in, and ends the host when it was the last one. */
void mrpc_host_note_close(mrpc_host *host, struct mrpc_conn *conn);

#endif
