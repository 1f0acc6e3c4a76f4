/* SPDX-License-Identifier: MIT */
#include "http/piece.h"

void mrpc_piece_init(mrpc_piece *piece, const mrpc_mem *mem) {
  *piece = (mrpc_piece){0};
  mrpc_buf_init(&piece->kept, mem, SIZE_MAX);
}

void mrpc_piece_clear(mrpc_piece *piece) {
  mrpc_buf_clear(&piece->kept);
  piece->len = 0;
}

void mrpc_piece_reset(mrpc_piece *piece, size_t keep) {
  piece->len = 0;
  mrpc_buf_truncate(&piece->kept, 0);
  mrpc_buf_relax(&piece->kept, keep);
}

int mrpc_piece_add(mrpc_piece *piece, const char *bytes, size_t len) {
  if (len == 0) return MRPC_OK;
  if (piece->len == 0) {
    piece->at = bytes;
    piece->len = len;
    return MRPC_OK;
  }
  bool is_run = piece->kept.len == 0 && piece->at + piece->len == bytes;
  if (!is_run) {
    if (mrpc_piece_keep(piece)) return MRPC_ENOMEM;
    mrpc_buf_add(&piece->kept, bytes, len);
  }
  piece->len += len;
  return piece->kept.err ? MRPC_ENOMEM : MRPC_OK;
}

int mrpc_piece_keep(mrpc_piece *piece) {
  if (piece->kept.len == 0) mrpc_buf_add(&piece->kept, piece->at, piece->len);
  return piece->kept.err ? MRPC_ENOMEM : MRPC_OK;
}
