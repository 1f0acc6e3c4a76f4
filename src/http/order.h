/* SPDX-License-Identifier: MIT
 *
 * The queue of requests that were read and not yet answered. HTTP answers in
 * the order of the requests (RFC 9112 section 9.3.2), so an answer that comes
 * early waits here as finished bytes. Tokens count up from 0; the queue is a
 * ring that grows when more requests are pipelined than ever before. */
#ifndef MRPC_HTTP_ORDER_H
#define MRPC_HTTP_ORDER_H

#include "base/buf.h"

typedef struct mrpc_http_slot {
  mrpc_buf held;      /* the answer, while it waits */
  const char *origin; /* for Access-Control-Allow-Origin, or NULL */
  bool is_done;       /* answered */
  bool closes;        /* the connection ends behind this answer */
  bool is_old;        /* HTTP/1.0: keep-alive must be said */
  bool is_head;       /* HEAD: the answer has no body */
} mrpc_http_slot;

typedef struct mrpc_http_order {
  const mrpc_mem *mem;
  mrpc_http_slot *slots;
  uint32_t cap;   /* 0 or a power of two */
  uint32_t count; /* requests in the queue */
  uint64_t first; /* token of the oldest one */
} mrpc_http_order;

void mrpc_http_order_init(mrpc_http_order *order, const mrpc_mem *mem);
void mrpc_http_order_clear(mrpc_http_order *order);
/* Puts a request at the end; an empty slot, or NULL when out of memory. */
mrpc_http_slot *mrpc_http_order_add(mrpc_http_order *order, uint64_t *token);
/* Takes the first one away. */
void mrpc_http_order_pop(mrpc_http_order *order);

/* The slot of a request, NULL for one that isn't waiting any more. */
static inline mrpc_http_slot *mrpc_http_order_get(const mrpc_http_order *order,
                                                  uint64_t token) {
  if (token - order->first >= order->count) return NULL;
  return &order->slots[token & (order->cap - 1)];
}

#endif
