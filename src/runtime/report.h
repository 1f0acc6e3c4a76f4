/* SPDX-License-Identifier: MIT
 *
 * The faults of a load, in the order of file and line. Noting one never fails:
 * where memory is short the list says so instead. */
#ifndef MRPC_RUNTIME_REPORT_H
#define MRPC_RUNTIME_REPORT_H

#include "base/arena.h"

typedef struct mrpc_faults {
  mrpc_arena arena;
  mrpc_fault *items;
  size_t count;
  size_t cap;
  mrpc_fault last; /* stands in for items when even those can't be had */
} mrpc_faults;

void mrpc_faults_init(mrpc_faults *faults, const mrpc_mem *mem);
void mrpc_faults_clear(mrpc_faults *faults);
/* Adds `message`, made as by printf, cut after 1,000 bytes. Both texts are
 * copied. From the 1,000th on faults are dropped. */
void mrpc_faults_add(mrpc_faults *faults, const char *file, int line,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
