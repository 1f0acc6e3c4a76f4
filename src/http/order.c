/* SPDX-License-Identifier: MIT */
#include "http/order.h"

enum { FIRST_CAP = 2, KEEP_CAP = 16 }; /* slots */

void mrpc_http_order_init(mrpc_http_order *order, const mrpc_mem *mem) {
  *order = (mrpc_http_order){.mem = mem};
}

static void free_slots(mrpc_http_order *order) {
  mrpc_mem_free(order->mem, order->slots, order->cap * sizeof *order->slots);
  order->slots = NULL;
  order->cap = 0;
}

void mrpc_http_order_clear(mrpc_http_order *order) {
  while (order->count) mrpc_http_order_pop(order);
  free_slots(order);
}

/* A token's place depends on the size, so all that wait move. */
static bool grow(mrpc_http_order *order) {
  uint32_t cap = order->cap ? order->cap * 2 : FIRST_CAP;
  mrpc_http_slot *slots = mrpc_mem_new(order->mem, cap * sizeof *slots);
  if (!slots) return false;
  for (uint64_t token = order->first; token < order->first + order->count;
       token++)
    slots[token & (cap - 1)] = *mrpc_http_order_get(order, token);
  mrpc_mem_free(order->mem, order->slots, order->cap * sizeof *order->slots);
  order->slots = slots;
  order->cap = cap;
  return true;
}

mrpc_http_slot *mrpc_http_order_add(mrpc_http_order *order, uint64_t *token) {
  if (order->count == order->cap && !grow(order)) return NULL;
  *token = order->first + order->count++;
  mrpc_http_slot *slot = &order->slots[*token & (order->cap - 1)];
  *slot = (mrpc_http_slot){0};
  mrpc_buf_init(&slot->held, order->mem, SIZE_MAX);
  return slot;
}

void mrpc_http_order_pop(mrpc_http_order *order) {
  mrpc_buf_clear(&mrpc_http_order_get(order, order->first)->held);
  order->first++;
  if (--order->count || order->cap <= KEEP_CAP) return;
  free_slots(order);
}
