/* SPDX-License-Identifier: MIT
 *
 * File systems that don't tell of what happens in them. */
#ifndef MRPC_TRANSPORT_SILENCE_H
#define MRPC_TRANSPORT_SILENCE_H

/* Why one can't rely on events of the file system at `path`; a constant phrase,
 * NULL where one can, or where nothing is there. */
const char *mrpc_silence_find(const char *path);

#endif
