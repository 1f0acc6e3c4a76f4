/* SPDX-License-Identifier: MIT
 *
 * What comes in on a WebSocket is played whole, byte by byte, and split at
 * every position; and conversations that stay open while a test looks. */
#ifndef MRPC_TEST_FRAMES_H
#define MRPC_TEST_FRAMES_H

#include "ws.h"

/* One check: the frames that were gathered in `in` give `want`, however they
 * are cut. */
static feed_text in;

__attribute__((unused)) static void gives_with(feed t, const char *want,
                                               const char *name) {
  feed_is_n(&t, in.at, in.len, want, name);
  free(in.at);
  in = (feed_text){0};
}

__attribute__((unused)) static void gives(const char *want, const char *name) {
  gives_with(websocket(), want, name);
}

#define FAILS(code, why, name) \
  gives("closed: " why "\n< close " code " " why "\nclosing\n", name)

/* Answers later: how many messages are owed. */
static unsigned owed;

__attribute__((unused)) static void keep(feed *t, const mrpc_message *msg,
                                         int rc) {
  (void)t;
  (void)msg;
  (void)rc;
  owed++;
}

/* The environment's clock looks at `t` itself. */
__attribute__((unused)) static void open_at(feed *t) {
  *t = websocket();
  t->answer = keep;
  owed = 0;
  feed_open(t);
}

__attribute__((unused)) static void play(feed *t) {
  feed_piece(t, in.at, in.len);
  free(in.at);
  in = (feed_text){0};
}

__attribute__((unused)) static void says(feed *t, const char *want,
                                         const char *name) {
  char *got = feed_close(t);
  is_str(got, want, name);
  free(got);
}

__attribute__((unused)) static uint64_t seconds(double s) {
  return (uint64_t)(s * 1e9);
}

/* Lets time go on to `at` and the framing tick when it wants to. */
__attribute__((unused)) static void pass(feed *t, double at) {
  while (t->f->vt->deadline(t->f) <= seconds(at)) {
    t->now = t->f->vt->deadline(t->f);
    t->f->vt->tick(t->f, t->now);
  }
  t->now = seconds(at);
}

#endif
