/* SPDX-License-Identifier: MIT
 *
 * The loader's inside, shared by loader.c (its life), load.c (when), budget.c
 * (how long), generation.c (which files, and the swap), chunk.c (running one)
 * and require.c (one that another needs). */
#ifndef MRPC_RUNTIME_LOADER_H
#define MRPC_RUNTIME_LOADER_H

#include "runtime/directory.h"
#include "runtime/file.h"
#include "runtime/load.h"
#include "runtime/methods.h"
#include "runtime/report.h"
#include "runtime/tree.h"

typedef enum mrpc_load_phase {
  MRPC_LOAD_IDLE,
  MRPC_LOAD_SCAN, /* the next turn lists the source */
  MRPC_LOAD_READ, /* reads what may have changed */
  MRPC_LOAD_RUN   /* runs the files of the plan */
} mrpc_load_phase;

struct mrpc_loader {
  mrpc_runtime *runtime;
  mrpc_directory *dir; /* NULL: the embedder's source */
  mrpc_tree tree;
  mrpc_link files;     /* all that live, but those in */
  mrpc_link leaving;   /* required by calls, failed or late: to be retired */
  uint32_t generation; /* that serves; 0: none yet */
  mrpc_map maps[2];    /* the methods that serve, and a spare */
  int serving;         /* index in maps */

  bool is_strict; /* private files that nobody requires must compile */
  mrpc_load_phase phase;
  mrpc_load_mode mode;
  bool is_asked;          /* to look for changes while files run */
  mrpc_timer turn;        /* the next step of a load */
  mrpc_timer deadline;    /* looks at the limits of the files that run */
  unsigned looks;         /* that it has taken; their time is counted so */
  uint64_t started;       /* when the load was asked for */
  uint64_t run_ns;        /* run time of the main chunks that have ended, of */
  uint64_t counted_twice; /* which those that others required count twice */
  mrpc_link *cursor;      /* the node to be read next */
  unsigned rounds;        /* of reading, until the source stands still */
  uint32_t seen_changes;  /* tree.changes when the latest round began */
  uint32_t tried_changes; /* the same of the latest attempt, */
  int tried_result;       /* and what listing the source gave it */

  mrpc_file **plan; /* the files to run, then those that they require */
  size_t plan_count;
  size_t plan_cap;
  size_t plan_next;     /* all before it have begun */
  size_t ended;         /* READY or FAILED */
  mrpc_file *latest;    /* that the loader began */
  unsigned nesting;     /* of requires that run a file at once, */
  uint64_t slice_since; /* and when the outermost one's slice began */

  mrpc_faults faults[2]; /* of the load under way, and of the report */
  int noting;            /* index in faults of the former */
  mrpc_report report;
};

/* load.c: the next step of a load. */
void mrpc_load_turn(mrpc_timer *timer);
/* Ends the load under way without a report. */
void mrpc_load_give_up(mrpc_loader *loader);
/* The same with a report of its faults. */
void mrpc_load_fail(mrpc_loader *loader);
/* Retires the files that are leaving. */
void mrpc_load_retire(mrpc_loader *loader);

/* budget.c: looks at the limits while the files run. MRPC_ENOMEM. */
int mrpc_load_watch(mrpc_loader *loader);
/* The next look. */
void mrpc_load_deadline(mrpc_timer *timer);

#endif
