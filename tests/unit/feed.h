/* SPDX-License-Identifier: MIT
 *
 * A scripted feed and an accumulator: plays bytes into a framing in pieces
 * and writes down what comes out, one line an event. Each piece stands alone
 * in memory of its exact size, so that sanitizers see a framing that reads
 * beyond it or remembers it too long.
 *
 * feed_ways plays the same bytes whole, one by one, and split in two at every
 * position, and wants the same transcript each time. */
#ifndef MRPC_TEST_FEED_H
#define MRPC_TEST_FEED_H

#include <stdlib.h>

#include "framing/framing.h"
#include "tap.h"

typedef struct feed_text {
  char *at;
  size_t len;
} feed_text;

__attribute__((unused)) static void feed_add(feed_text *text, const char *bytes,
                                             size_t len) {
  text->at = realloc(text->at, text->len + len + 1);
  if (!text->at) abort();
  if (len) memcpy(text->at + text->len, bytes, len);
  text->len += len;
  text->at[text->len] = '\0';
}

__attribute__((unused)) static void feed_adds(feed_text *text,
                                              const char *string) {
  feed_add(text, string, strlen(string));
}

typedef struct feed feed;
struct feed {
  mrpc_env *env;
  mrpc_framing *f;
  feed_text log;
  /* Makes the framing. */
  int (*make)(mrpc_env *env, mrpc_framing **out);
  /* Answers a message; NULL: nothing is answered. */
  void (*answer)(feed *t, const mrpc_message *msg, int rc);
  /* Writes down what was to be sent; NULL: as it is. */
  void (*show)(feed *t, const char *bytes, size_t len);
  uint64_t now; /* what the clock of the environment says */
  bool dead;    /* a fatal result came */
};

__attribute__((unused)) static uint64_t feed_clock(void *ud) {
  return ((feed *)ud)->now;
}

__attribute__((unused)) static const char *feed_code(int rc) {
  switch (rc) {
    case MRPC_OK: return "message";
    case MRPC_ELIMIT: return "limit";
    case MRPC_ETYPE: return "noise";
    case MRPC_ESYNTAX: return "syntax";
    case MRPC_EPROTO: return "proto";
    case MRPC_ENOMEM: return "nomem";
    case MRPC_ECLOSED: return "closed";
    default: return "?";
  }
}

/* Writes down one result of recv or eof, and answers it. */
__attribute__((unused)) static void feed_note(feed *t, int rc,
                                              const mrpc_message *msg) {
  if (rc == MRPC_PARTIAL) return;
  bool is_failure = rc != MRPC_OK && rc != MRPC_ELIMIT && rc != MRPC_ETYPE;
  feed_adds(&t->log, feed_code(rc));
  if (rc == MRPC_OK || rc == MRPC_ETYPE) {
    feed_adds(&t->log, " ");
    for (size_t i = 0; i < msg->len; i++)
      feed_add(&t->log, msg->bytes[i] ? msg->bytes + i : "\\0",
               msg->bytes[i] ? 1 : 2);
  } else if (is_failure) {
    feed_adds(&t->log, ": ");
    feed_adds(&t->log, t->f->error ? t->f->error : "(silence)");
  }
  feed_adds(&t->log, "\n");
  t->dead = t->dead || is_failure;
  if (!is_failure && rc != MRPC_ETYPE && t->answer) t->answer(t, msg, rc);
}

/* Goes on in another framing, as a peer would. */
__attribute__((unused)) static void feed_change(feed *t) {
  mrpc_framing *old = t->f, *next = old->next;
  mrpc_buf said = old->out;
  old->out = next->out;
  next->out = said;
  old->next = NULL;
  old->vt->free(old);
  t->f = next;
}

/* Gives one piece to the framing, as a peer would. */
__attribute__((unused)) static void feed_piece(feed *t, const char *bytes,
                                               size_t len) {
  char *copy = malloc(len ? len : 1);
  if (!copy) abort();
  if (len) memcpy(copy, bytes, len);
  for (size_t at = 0; at < len && !t->dead && !t->f->closing;) {
    size_t consumed = 0;
    mrpc_message msg = {0};
    int rc = t->f->vt->recv(t->f, copy + at, len - at, &consumed, &msg);
    if (consumed > len - at) abort();
    at += consumed;
    feed_note(t, rc, &msg);
    if (rc == MRPC_PARTIAL && at != len && !t->f->next) abort();
    if (t->f->next) feed_change(t);
  }
  free(copy);
}

__attribute__((unused)) static void feed_eof(feed *t) {
  mrpc_message msg = {0};
  if (t->dead || t->f->closing) return;
  feed_note(t, t->f->vt->eof(t->f, &msg), &msg);
}

__attribute__((unused)) static void feed_open(feed *t) {
  mrpc_env_config config = {.clock = feed_clock, .clock_ud = t};
  t->dead = false;
  t->log = (feed_text){0};
  feed_adds(&t->log, "");
  if (mrpc_env_new(&config, &t->env) || t->make(t->env, &t->f)) abort();
}

/* Writes down what was to be sent, ends everything, answers the transcript,
 * which the caller frees. */
__attribute__((unused)) static char *feed_close(feed *t) {
  if (t->f->out.len && t->show) {
    t->show(t, t->f->out.data, t->f->out.len);
  } else if (t->f->out.len) {
    feed_adds(&t->log, "out ");
    feed_add(&t->log, t->f->out.data, t->f->out.len);
    feed_adds(&t->log, "\n");
  }
  if (t->f->closing) feed_adds(&t->log, "closing\n");
  t->f->vt->free(t->f);
  mrpc_env_free(t->env);
  return t->log.at;
}

/* Plays `len` bytes in pieces: first up to `cut`, then `step` bytes each, and
 * the end of input. */
__attribute__((unused)) static char *feed_play(feed t, const char *bytes,
                                               size_t len, size_t cut,
                                               size_t step) {
  feed_open(&t);
  if (cut) feed_piece(&t, bytes, cut);
  for (size_t at = cut; at < len; at += step)
    feed_piece(&t, bytes + at, len - at < step ? len - at : step);
  feed_eof(&t);
  return feed_close(&t);
}

/* Does each way to cut the bytes give the transcript `want`? */
__attribute__((unused)) static bool feed_ways(const feed *t, const char *bytes,
                                              size_t len, const char *want,
                                              size_t *bad_cut) {
  bool same = true;
  for (size_t cut = 0; same && cut <= len + 1; cut++) {
    char *got = cut > len ? feed_play(*t, bytes, len, 0, 1)
                          : feed_play(*t, bytes, len, cut, len);
    same = !strcmp(got, want);
    *bad_cut = cut;
    free(got);
  }
  return same;
}

/* One check: the transcript of the whole is `want`, and of every way. */
#define feed_is(t, bytes, want, ...)                                  \
  feed_check((t), (bytes), strlen(bytes), (want), __FILE__, __LINE__, \
             __VA_ARGS__)
#define feed_is_n(t, bytes, len, want, ...) \
  feed_check((t), (bytes), (len), (want), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static bool feed_check(const feed *t, const char *bytes,
                                               size_t len, const char *want,
                                               const char *file, int line,
                                               const char *name) {
  char *got = feed_play(*t, bytes, len, len, 1);
  size_t cut = 0;
  bool whole = !strcmp(got, want);
  bool all = whole && feed_ways(t, bytes, len, want, &cut);
  tap_ok(all, file, line, "%s", name);
  if (!whole) printf("# got  %s\n# want %s\n", got, want);
  if (whole && !all) {
    char *other = cut > len ? feed_play(*t, bytes, len, 0, 1)
                            : feed_play(*t, bytes, len, cut, len);
    printf("# cut at %zu of %zu: %s\n# want %s\n", cut, len, other, want);
    free(other);
  }
  free(got);
  return all;
}

#endif
