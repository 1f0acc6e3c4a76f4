/* SPDX-License-Identifier: MIT
 *
 * The Test Anything Protocol in one screen: each check prints a line, finish
 * prints the plan and gives main its result. */
#ifndef MRPC_TEST_TAP_H
#define MRPC_TEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

/* Reports one check; a failed one names its place. */
#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused, format(printf, 4, 5))) static bool tap_ok(
    bool cond, const char *file, int line, const char *format, ...) {
  va_list args;
  printf("%sok %d - ", cond ? "" : "not ", ++tap_count);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  if (!cond) {
    tap_failed++;
    printf("# failed at %s:%d\n", file, line);
  }
  return cond;
}

/* Are two byte strings equal? Shows both when not. */
#define is_bytes(got, gotlen, want, wantlen, ...) \
  tap_bytes((got), (gotlen), (want), (wantlen), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) \
  tap_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static bool tap_bytes(const char *got, size_t gotlen,
                                              const char *want, size_t wantlen,
                                              const char *file, int line,
                                              const char *name) {
  bool same = gotlen == wantlen && (!gotlen || !memcmp(got, want, gotlen));
  if (!tap_ok(same, file, line, "%s", name))
    printf("# got  %zu: %.*s\n# want %zu: %.*s\n", gotlen, (int)gotlen, got,
           wantlen, (int)wantlen, want);
  return same;
}

__attribute__((unused)) static bool tap_str(const char *got, const char *want,
                                            const char *file, int line,
                                            const char *name) {
  return tap_bytes(got, strlen(got), want, strlen(want), file, line, name);
}

__attribute__((unused)) static int tap_finish(void) {
  printf("1..%d\n", tap_count);
  return tap_failed != 0;
}

#endif
