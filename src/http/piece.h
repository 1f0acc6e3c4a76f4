/* SPDX-License-Identifier: MIT
 *
 * Bytes that belong together and arrive in parts. As long as they are one run
 * of the bytes received the piece only points there; it copies them when they
 * aren't, or when the received bytes are about to go away. */
#ifndef MRPC_HTTP_PIECE_H
#define MRPC_HTTP_PIECE_H

#include "base/buf.h"

typedef struct mrpc_piece {
  const char *at; /* where the bytes stand while kept is empty */
  size_t len;     /* bytes so far */
  mrpc_buf kept;  /* the copy */
} mrpc_piece;

void mrpc_piece_init(mrpc_piece *piece, const mrpc_mem *mem);
void mrpc_piece_clear(mrpc_piece *piece);
/* Empties it; keeps `keep` bytes of memory at most. */
void mrpc_piece_reset(mrpc_piece *piece, size_t keep);
/* MRPC_OK or MRPC_ENOMEM, as the next one. */
int mrpc_piece_add(mrpc_piece *piece, const char *bytes, size_t len);
/* Makes it independent of the bytes received. */
int mrpc_piece_keep(mrpc_piece *piece);

static inline const char *mrpc_piece_bytes(const mrpc_piece *piece) {
  if (piece->len == 0) return "";
  return piece->kept.len ? piece->kept.data : piece->at;
}

#endif
