/* SPDX-License-Identifier: MIT
 *
 * Almost all comparisons end at equal or at plainly different raw bytes.
 * Strings with escapes are decoded one character at a time, side by side, so
 * that no memory is needed whatever their length. */
#include "rpc/id.h"

#include <string.h>

#include "json/number.h"
#include "json/parse.h"

typedef struct reader {
  const char *at;
  const char *end;
  char decoded[12]; /* of the escape that was read last */
  size_t count;
  size_t next;
} reader;

/* The string between its quotes. */
static reader read_string(const char *raw, size_t len) {
  return (reader){.at = raw + 1, .end = raw + len - 1};
}

/* The next byte of the decoded string, -1 at the end. */
static int next_byte(reader *r) {
  if (r->next < r->count) return (unsigned char)r->decoded[r->next++];
  if (r->at == r->end) return -1;
  if (*r->at != '\\') return (unsigned char)*r->at++;
  size_t len = mrpc_json_escape_length(r->at);
  r->count = mrpc_json_unescape(r->at, len, r->decoded);
  r->at += len;
  r->next = 1;
  return (unsigned char)r->decoded[0];
}

static bool strings_equal(const char *a, size_t alen, const char *b,
                          size_t blen) {
  reader left = read_string(a, alen), right = read_string(b, blen);
  int byte;
  do {
    byte = next_byte(&left);
    if (byte != next_byte(&right)) return false;
  } while (byte >= 0);
  return true;
}

/* Nobody writes an id with so many digits but to keep us busy. */
enum { LONG_NUMBER = 256 };

bool mrpc_id_equal(const char *a, size_t alen, const char *b, size_t blen) {
  if (*a == 'n' || *b == 'n') return false;
  if (alen == blen && memcmp(a, b, alen) == 0) return true;
  if ((*a == '"') != (*b == '"')) return false;
  if (*a == '"') return strings_equal(a, alen, b, blen);
  if (alen > LONG_NUMBER || blen > LONG_NUMBER) return false;
  return mrpc_number_equal(a, alen, b, blen);
}
