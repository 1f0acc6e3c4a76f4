/* SPDX-License-Identifier: MIT
 *
 * What is kept of a refusal goes to terminals and logs, so it is ASCII that can
 * be printed. Servers like to say the status again: once will do. */
#include "http/refusal.h"

#include <stdio.h>
#include <stdlib.h>

void mrpc_refusal_keep(mrpc_refusal *refusal, int status, const char *body,
                       size_t len) {
  size_t n = 0;
  if (len && *body != '<')
    while (n < len && n + 1 < sizeof refusal->said && (body[n] & 0xe0)) n++;
  for (size_t i = 0; i < n; i++)
    refusal->said[i] = (unsigned char)body[i] < 0x7f ? body[i] : '?';
  refusal->said[n] = '\0';
  refusal->status = status;
}

static const char *without_status(const char *said, int status) {
  char *end;
  return strtol(said, &end, 10) == status && *end == ' ' ? end + 1 : said;
}

void mrpc_refusal_explain(const mrpc_refusal *refusal, const char *error,
                          char *text, size_t size) {
  const char *said = without_status(refusal->said, refusal->status);
  if (refusal->status)
    snprintf(text, size, "%s, status %d%s%s", error, refusal->status,
             *said ? ": " : "", said);
}
