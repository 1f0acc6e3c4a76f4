/* SPDX-License-Identifier: MIT
 *
 * Methods of scripts that are called while allocations fail, one by one and
 * from one on: each must be answered, unless the connection itself had to be
 * given up. */
#ifndef MRPC_TEST_STARVE_H
#define MRPC_TEST_STARVE_H

#include "script.h"

static unsigned unanswered;

/* A scenario's one run: the methods of `text`, with time for what waits. */
static void starve_calls(oom *o, const char *text, const char *const *names,
                         size_t count) {
  static script s;
  s = (script){.talk.mem = *o, .quiet = true};
  if (script_open(&s, text) == MRPC_OK) {
    for (size_t i = 0; i < count; i++) {
      size_t got = strlen(script_call(&s, names[i], "[]"));
      for (int second = 0; second < 4; second++) {
        talk_pass(&s.talk, 1);
        got += strlen(talk_take(&s.talk));
      }
      if (!got && mrpc_peer_wants_read(s.talk.peer)) unanswered++;
    }
  }
  script_end(&s);
  *o = s.talk.mem;
}

static void starve(const char *name, void (*scenario)(oom *o)) {
  for (int sticky = 0; sticky < 2; sticky++) oom_each(name, scenario, sticky);
  ok(unanswered == 0, "every call was answered");
  if (unanswered) printf("# %u were not\n", unanswered);
}

#endif
