/* SPDX-License-Identifier: MIT
 *
 * A circular, intrusive, doubly linked list: a link stands in the element, a
 * head is a link of its own. A link that is in no list points to itself. */
#ifndef MRPC_BASE_LIST_H
#define MRPC_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mrpc_link {
  struct mrpc_link *prev;
  struct mrpc_link *next;
} mrpc_link;

/* The element of `type` whose member `member` is `link`. */
#define mrpc_list_of(link, type, member) \
  ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void mrpc_list_init(mrpc_link *link) {
  link->prev = link->next = link;
}

static inline bool mrpc_list_is_empty(const mrpc_link *head) {
  return head->next == head;
}

/* Puts `link` before `at`; before a head means last. */
static inline void mrpc_list_insert(mrpc_link *at, mrpc_link *link) {
  link->prev = at->prev;
  link->next = at;
  at->prev->next = link;
  at->prev = link;
}

static inline void mrpc_list_remove(mrpc_link *link) {
  link->prev->next = link->next;
  link->next->prev = link->prev;
  mrpc_list_init(link);
}

/* Takes a link out of its list, if it is in one, and puts it before `at`. */
static inline void mrpc_list_move(mrpc_link *at, mrpc_link *link) {
  link->prev->next = link->next;
  link->next->prev = link->prev;
  mrpc_list_insert(at, link);
}

#endif
