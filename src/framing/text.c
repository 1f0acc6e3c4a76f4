/* SPDX-License-Identifier: MIT */
#include "framing/text.h"

#include <stdint.h>

static int lower(char c) {
  return c >= 'A' && c <= 'Z' ? c | 32 : c;
}

bool mrpc_text_is(mrpc_text a, mrpc_text b) {
  if (a.len != b.len || !a.at) return false;
  for (size_t i = 0; i < a.len; i++)
    if (a.at[i] != b.at[i] && lower(a.at[i]) != lower(b.at[i])) return false;
  return true;
}

bool mrpc_text_starts(mrpc_text a, const char *with) {
  mrpc_text start = mrpc_text_of(with);
  if (a.len < start.len) return false;
  a.len = start.len;
  return mrpc_text_is(a, start);
}

/* One bit for each character of a token. */
bool mrpc_text_is_token(mrpc_text a) {
  static const uint32_t bits[8] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff,
                                   0, 0,          0,          0};
  for (size_t i = 0; i < a.len; i++) {
    unsigned char c = (unsigned char)a.at[i];
    if (!(bits[c >> 5] >> (c & 31) & 1)) return false;
  }
  return a.len > 0;
}
