/* SPDX-License-Identifier: MIT
 *
 * Two scripts, `a` and `b`, whose peers are the two ends of one conversation;
 * it goes through when a test lets it. */
#ifndef MRPC_TEST_PAIR_H
#define MRPC_TEST_PAIR_H

#include "script.h"

static script a, b;
static bool is_cut; /* nothing passes between them */

__attribute__((unused)) static bool carry(script *from, script *to) {
  const char *text = talk_take(&from->talk);
  if (!*text) return false;
  mrpc_peer_recv(to->talk.peer, text, strlen(text));
  return true;
}

/* Lets them talk for `seconds`. */
__attribute__((unused)) static void pair_talk(double seconds) {
  uint64_t end = a.talk.now + (uint64_t)(seconds * 1e9);
  for (;;) {
    talk_run(&a.talk);
    talk_run(&b.talk);
    if (!is_cut && (carry(&a, &b) | carry(&b, &a))) continue;
    uint64_t next = mrpc_timer_next(a.talk.env);
    uint64_t other = mrpc_timer_next(b.talk.env);
    if (other < next) next = other;
    if (next > end) break;
    if (next > a.talk.now) a.talk.now = b.talk.now = next;
  }
  a.talk.now = b.talk.now = end;
}

typedef struct pair_result {
  int count, rc;
  bool is_error;
  char json[512];
} pair_result;

__attribute__((unused)) static void pair_on_answer(mrpc_peer *peer,
                                                   const mrpc_answer *answer,
                                                   void *ud) {
  pair_result *r = ud;
  (void)peer;
  r->count++;
  r->rc = answer->result;
  r->is_error = answer->is_error;
  snprintf(r->json, sizeof r->json, "%.*s", (int)answer->len, answer->json);
}

/* b calls a method of a's. */
__attribute__((unused)) static int64_t pair_ask(const char *method,
                                                const char *params,
                                                pair_result *r) {
  int64_t id = 0;
  *r = (pair_result){0};
  int rc =
      mrpc_peer_call(b.talk.peer, method, params, 200, pair_on_answer, r, &id);
  if (rc) ok(false, "%s: %s", method, mrpc_strerror(rc));
  return id;
}

/* The same methods on both sides; MRPC_OK or what failed. Limits that were set
 * in the config stay. */
__attribute__((unused)) static int pair_open(const char *text) {
  is_cut = false;
  a.talk.now = b.talk.now = 1000000000;
  int rc = script_open(&b, text);
  return rc ? rc : script_open(&a, text);
}

/* True when all memory came back. `left`, which may be NULL, is told what the
 * allocator of `a` has counted. */
__attribute__((unused)) static bool pair_close(oom *left) {
  bool all = script_end(&a);
  all &= script_end(&b);
  if (left) *left = a.talk.mem;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  return all;
}

#endif
