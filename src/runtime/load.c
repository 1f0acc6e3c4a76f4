/* SPDX-License-Identifier: MIT
 *
 *            +----------------- newer request ------------------+
 *            v                                                  |
 *   idle -> scan -> read -> scan ... until nothing moves -> run + -> commit
 *            |  ^                                               |
 *            +--+ while a file is being written                 +-> faults
 *
 * Each arrow is a turn on the environment's deadlines, so that calls are
 * served in between; reading and running stop after a slice. Reading ends with
 * a scan that finds nothing new: what runs is one state of the source. */
#include "runtime/load.h"

#include "runtime/chunk.h"
#include "runtime/event.h"
#include "runtime/generation.h"
#include "runtime/loader.h"
#include "runtime/task.h"

enum { MAX_ROUNDS = 5 };
static const uint64_t SETTLE_NS = 50000000; /* between looks at a file
                                               that is being written */

static void scan(mrpc_loader *loader);
static void read_some(mrpc_loader *loader);
static void run_some(mrpc_loader *loader);

/* Turns. */

static uint64_t now_of(const mrpc_loader *loader) {
  return mrpc_env_now(loader->runtime->env);
}

static int turn_after(mrpc_loader *loader, uint64_t ns) {
  mrpc_timers *timers = &loader->runtime->env->timers;
  return mrpc_timer_start(timers, &loader->turn, now_of(loader) + ns);
}

void mrpc_load_retire(mrpc_loader *loader) {
  while (!mrpc_list_is_empty(&loader->leaving)) {
    mrpc_file *file = mrpc_list_of(loader->leaving.next, mrpc_file, link);
    mrpc_list_remove(&file->link);
    mrpc_list_insert(&loader->files, &file->link);
    mrpc_file_retire(file);
  }
}

void mrpc_load_turn(mrpc_timer *timer) {
  mrpc_loader *loader = mrpc_list_of(timer, mrpc_loader, turn);
  mrpc_load_retire(loader);
  switch (loader->phase) {
    case MRPC_LOAD_IDLE: break;
    case MRPC_LOAD_SCAN: scan(loader); break;
    case MRPC_LOAD_READ: read_some(loader); break;
    case MRPC_LOAD_RUN: run_some(loader); break;
  }
}

int mrpc_loader_request(mrpc_loader *loader, mrpc_load_mode mode) {
  if (loader->phase == MRPC_LOAD_IDLE) {
    loader->started = now_of(loader);
    loader->mode = mode;
  }
  if (mode > loader->mode) loader->mode = mode;
  if (mode == MRPC_LOAD_CHANGES && loader->phase == MRPC_LOAD_RUN) {
    loader->is_asked = true;
  } else {
    loader->phase = MRPC_LOAD_SCAN;
    loader->rounds = 0;
  }
  return turn_after(loader, 0);
}

/* The end of a load. */

static mrpc_faults *faults_of(mrpc_loader *loader) {
  return &loader->faults[loader->noting];
}

static void tell(mrpc_loader *loader, bool ok, size_t files) {
  const mrpc_runtime *runtime = loader->runtime;
  const mrpc_faults *faults = faults_of(loader);
  loader->noting = 1 - loader->noting;
  mrpc_faults_clear(faults_of(loader));
  loader->report = (mrpc_report){
      .ok = ok,
      .generation = loader->generation,
      .files = ok ? (uint32_t)files : 0,
      .methods = loader->maps[loader->serving].count,
      .seconds = (double)(now_of(loader) - loader->started) * 1e-9,
      .fault_count = faults->count,
      .faults = faults->items,
  };
  if (runtime->on_report) runtime->on_report(&loader->report, runtime->ud);
}

/* Code that is ended by giving up may ask for a new load, which counts. */
void mrpc_load_give_up(mrpc_loader *loader) {
  loader->phase = MRPC_LOAD_IDLE;
  mrpc_timer_stop(&loader->runtime->env->timers, &loader->deadline);
  mrpc_plan_discard(loader);
}

void mrpc_load_fail(mrpc_loader *loader) {
  mrpc_load_give_up(loader);
  tell(loader, false, 0);
}

static void fail_for(mrpc_loader *loader, const char *why) {
  mrpc_faults_add(faults_of(loader), ".", 0, "%s", why);
  mrpc_load_fail(loader);
}

/* Scan and read. */

static const char *explain(int rc) {
  switch (rc) {
    case MRPC_ENOTFOUND: return "the methods directory doesn't exist";
    case MRPC_EIO: return "the methods directory can't be read";
    case MRPC_ELIMIT: return "more than 10000 files";
    default: return mrpc_strerror(rc);
  }
}

static void scan(mrpc_loader *loader) {
  if (loader->plan_count) { /* what it was made for isn't tried to its end */
    mrpc_load_give_up(loader);
    loader->tried_changes = loader->tree.changes - 1;
  }
  loader->phase = MRPC_LOAD_SCAN;
  loader->is_asked = false;
  mrpc_faults_clear(faults_of(loader));
  loader->seen_changes = loader->tree.changes;
  int rc = mrpc_tree_scan(&loader->tree);
  bool is_known = rc == loader->tried_result;
  if (rc) loader->tried_result = rc;
  if (rc && is_known && loader->mode == MRPC_LOAD_CHANGES) {
    loader->phase = MRPC_LOAD_IDLE;
  } else if (rc) {
    fail_for(loader, explain(rc));
  } else if (mrpc_tree_is_settling(&loader->tree)) {
    turn_after(loader, SETTLE_NS);
  } else {
    loader->phase = MRPC_LOAD_READ;
    loader->cursor = loader->tree.nodes.next;
    read_some(loader);
  }
}

static void run_plan(mrpc_loader *loader) {
  loader->phase = MRPC_LOAD_RUN;
  loader->run_ns = loader->counted_twice = 0;
  loader->plan_next = loader->ended = 0;
  loader->latest = NULL;
  loader->looks = 0;
  if (mrpc_load_watch(loader))
    fail_for(loader, mrpc_strerror(MRPC_ENOMEM));
  else
    turn_after(loader, 0);
}

/* Nothing that could make a difference has happened since the last attempt. */
static bool is_tried(const mrpc_loader *loader) {
  return loader->mode == MRPC_LOAD_CHANGES && loader->tried_result == MRPC_OK &&
         loader->tried_changes == loader->tree.changes;
}

/* Young files are read again though nothing came of it. */
static void drop_texts(mrpc_loader *loader) {
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node)))
    mrpc_tree_drop_text(node);
}

static void make_plan(mrpc_loader *loader) {
  bool is_needed = false, was_tried = is_tried(loader);
  bool is_quiet = loader->mode == MRPC_LOAD_CHANGES && loader->report.ok;
  loader->tried_result = MRPC_OK;
  loader->tried_changes = loader->tree.changes;
  if (was_tried) {
    drop_texts(loader);
    loader->phase = MRPC_LOAD_IDLE;
  } else if (mrpc_plan_make(loader, &is_needed)) {
    fail_for(loader, mrpc_strerror(MRPC_ENOMEM));
  } else if (is_needed) {
    run_plan(loader);
  } else {
    loader->phase = MRPC_LOAD_IDLE;
    if (!is_quiet) tell(loader, true, 0);
  }
}

/* Reads until the cursor is through, or the slice is over: false. */
static int read_stale(mrpc_loader *loader, bool *is_done) {
  uint64_t end = now_of(loader) + MRPC_SLICE_NS;
  const mrpc_link *head = &loader->tree.nodes;
  *is_done = true;
  for (; loader->cursor != head; loader->cursor = loader->cursor->next) {
    mrpc_tree_node *node = mrpc_list_of(loader->cursor, mrpc_tree_node, link);
    if (!node->is_stale) continue;
    *is_done = now_of(loader) < end;
    if (!*is_done) return MRPC_OK;
    int rc = mrpc_tree_read(&loader->tree, node);
    if (rc) return rc;
  }
  return MRPC_OK;
}

static void read_some(mrpc_loader *loader) {
  bool is_done;
  if (read_stale(loader, &is_done)) {
    fail_for(loader, mrpc_strerror(MRPC_ENOMEM));
  } else if (!is_done) {
    turn_after(loader, 0);
  } else if (loader->tree.changes != loader->seen_changes &&
             loader->rounds < MAX_ROUNDS) {
    loader->rounds++;
    loader->phase = MRPC_LOAD_SCAN;
    turn_after(loader, 0);
  } else {
    make_plan(loader);
  }
}

/* Running. */

/* A file that a call has required is ready for the next call too, if the
 * generation is still that of the call. */
static void end_demand(mrpc_loader *loader, mrpc_file *file) {
  mrpc_tree_node *node = file->node;
  node->demand = NULL;
  if (file->state == MRPC_FILE_READY && !node->file &&
      file->epoch == loader->generation) {
    node->file = file;
    file->generation = loader->generation;
    return;
  }
  mrpc_list_remove(&file->link);
  mrpc_list_insert(&loader->leaving, &file->link);
}

void mrpc_load_ended(mrpc_loader *loader, mrpc_file *file, uint64_t run_ns) {
  if (file->epoch) {
    end_demand(loader, file);
  } else {
    loader->ended++;
    loader->run_ns += run_ns;
  }
  turn_after(loader, 0);
}

/* Whatever failed has noted why; a file without a fault is no reason to swap
 * all the same. */
static bool is_all_ready(mrpc_loader *loader) {
  if (faults_of(loader)->count) return false;
  for (size_t i = 0; i < loader->plan_count; i++)
    if (loader->plan[i]->state != MRPC_FILE_READY) {
      mrpc_faults_add(faults_of(loader), loader->plan[i]->path, 0,
                      "it was not loaded");
      return false;
    }
  return true;
}

/* Private files are run when somebody requires them; those that nobody does
 * can still be read. */
static void check_rest(mrpc_loader *loader) {
  mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&loader->tree, node))) {
    mrpc_file *file;
    if (!node->is_present || node->next || node->file) continue;
    if (mrpc_file_new(loader, node, &file)) {
      mrpc_faults_add(faults_of(loader), node->path, 0, "%s",
                      mrpc_strerror(MRPC_ENOMEM));
      return;
    }
    mrpc_chunk_check(file);
    mrpc_file_retire(file);
  }
}

static void finish(mrpc_loader *loader) {
  size_t files = loader->plan_count;
  if (loader->is_strict) check_rest(loader);
  if (!is_all_ready(loader)) {
    mrpc_load_fail(loader);
    return;
  }
  mrpc_timer_stop(&loader->runtime->env->timers, &loader->deadline);
  loader->phase = MRPC_LOAD_IDLE;
  int rc = mrpc_plan_commit(loader);
  if (rc == MRPC_OK) {
    tell(loader, true, files);
    if (loader->generation > 1)
      mrpc_event_fire(loader->runtime, MRPC_EVENT_RELOAD, NULL);
  } else if (rc == MRPC_EEXIST) {
    mrpc_load_fail(loader);
  } else {
    fail_for(loader, mrpc_strerror(rc));
  }
}

/* Looks for changes while files run; when there are some, begins again. */
static bool is_outdated(mrpc_loader *loader) {
  bool is_done = false;
  uint32_t before = loader->tree.changes;
  loader->is_asked = false;
  if (mrpc_tree_scan(&loader->tree)) return true;
  loader->cursor = loader->tree.nodes.next;
  while (!is_done)
    if (read_stale(loader, &is_done)) return true;
  return loader->tree.changes != before;
}

static bool is_sliced(const mrpc_file *file) {
  return file && file->state == MRPC_FILE_LOADING && file->task &&
         file->task->state == MRPC_TASK_READY;
}

/* Begins files for a slice; a file that is left in the middle is continued
 * before the next begins, so that turns stay short. */
static void begin_some(mrpc_loader *loader) {
  uint64_t end = now_of(loader) + MRPC_SLICE_NS;
  while (loader->plan_next < loader->plan_count && now_of(loader) < end &&
         !is_sliced(loader->latest)) {
    mrpc_file *file = loader->plan[loader->plan_next++];
    if (file->state != MRPC_FILE_NEW) continue;
    loader->latest = file;
    mrpc_chunk_start(file, false);
  }
}

static void run_some(mrpc_loader *loader) {
  if (loader->is_asked && is_outdated(loader)) {
    loader->rounds = 0;
    scan(loader);
    return;
  }
  if (loader->ended == loader->plan_count) {
    finish(loader);
    return;
  }
  begin_some(loader);
  bool is_over = loader->ended == loader->plan_count;
  if (is_over || loader->plan_next < loader->plan_count) turn_after(loader, 0);
}
