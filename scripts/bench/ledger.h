/* SPDX-License-Identifier: MIT
 *
 * The books of the calls in flight. A slot holds one call; the id tells slot
 * and turn, and the params are made from the id, so that each answer can be
 * checked by itself: subtract(id, 23) must come back as id - 23, once, in any
 * order. It counts what is answered between the end of the warm-up and the
 * stop.
 */
#ifndef BENCH_LEDGER_H
#define BENCH_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_SLOTS = 1024, MAX_REQUEST = 160 };

typedef struct slot {
  uint32_t turn;
  bool busy;
  uint64_t sent; /* when its call was written */
} slot;

typedef struct ledger {
  double seconds, warm_up;
  uint64_t calls; /* stop after so many, when not 0 */
  bool echo;      /* answers are the calls themselves */

  char request[MAX_REQUEST];
  size_t request_len, param_at, id_at;
  slot slots[MAX_SLOTS];

  uint64_t sent, answered;   /* since the start */
  uint64_t counted, longest; /* since the warm-up ended */
  uint64_t start;            /* times; 0 until they come */
  uint64_t counting, stopped;
} ledger;

void ledger_init(ledger *l, const char *method);
/* May one more call be made? */
bool ledger_wants_call(const ledger *l);
/* Writes the next call of an idle slot, `request_len` bytes. */
void ledger_put(ledger *l, uint32_t index, char *at, uint64_t time);
/* Checks an answer and frees its slot; gives its number. A byte that is no
 * digit must follow the text. */
uint32_t ledger_take(ledger *l, const char *text, size_t len, uint64_t time);
/* Ends warm-up and run when it is time. */
void ledger_look_at_clock(ledger *l);
/* One line of key=value pairs on stdout. */
void ledger_report(const ledger *l);

#endif
