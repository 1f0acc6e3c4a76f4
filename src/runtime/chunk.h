/* SPDX-License-Identifier: MIT
 *
 * Runs one file: its text becomes a function in an environment of its own,
 * which a task runs; what that returns are the file's value and methods. */
#ifndef MRPC_RUNTIME_CHUNK_H
#define MRPC_RUNTIME_CHUNK_H

#include "runtime/file.h"

/* Begins a new file. Its end, which may come inside, makes it READY or FAILED,
 * wakes those who require it and is told to mrpc_load_ended. A file of a load
 * that fails has its fault noted. `later`: not before the loop's next turn. */
void mrpc_chunk_start(mrpc_file *file, bool later);
/* Compiles a file that is not to be run; notes its fault, if it has one. */
void mrpc_chunk_check(mrpc_file *file);
/* Ends a file that is LOADING; no fault is noted. */
void mrpc_chunk_stop(mrpc_file *file, const char *why);
/* Notes as a fault that the wall time is over while the file is LOADING, with
 * the line where it stands. */
void mrpc_chunk_note_wait(mrpc_file *file);
/* The same for the run time. */
void mrpc_chunk_note_run(mrpc_file *file);

#endif
