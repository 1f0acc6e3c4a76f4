/* SPDX-License-Identifier: MIT
 *
 * Calls of ours that leave as one batch. */
#include "talk.h"

static void note(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  (void)peer;
  ((int *)ud)[0]++;
  ((int *)ud)[1] = answer->result;
}

static int call(talk *t, int *answers, int64_t *id) {
  return mrpc_peer_call(t->peer, "ask", NULL, 1, note, answers, id);
}

#define ASK(id) "{\"jsonrpc\":\"2.0\",\"method\":\"ask\",\"id\":" id "}"

static void together(void) {
  talk t = {0};
  int a[2] = {0}, b[2] = {0};
  int64_t second;
  talk_begin(&t);
  mrpc_peer_batch_begin(t.peer);
  call(&t, a, NULL);
  call(&t, b, &second);
  mrpc_peer_notify(t.peer, "hey", "[1]");
  is_str(talk_take(&t), "", "nothing leaves before the end");
  ok(mrpc_peer_batch_end(t.peer) == MRPC_OK, "the end");
  is_str(talk_take(&t), "[" ASK("1") "," ASK("2") "," NOTE("hey", "[1]") "]\n",
         "one batch");
  talk_is(&t, "[" RES("8", "2") "," RES("7", "1") "]\n", "",
          "whose answers come as a batch");
  ok(a[0] == 1 && b[0] == 1, "each is delivered");
  call(&t, a, NULL);
  is_str(talk_take(&t), ASK("3") "\n", "what follows goes alone");
  talk_is(&t, RES("7", "3") "\n", "", "and is answered");
  mrpc_peer_batch_begin(t.peer);
  ok(mrpc_peer_batch_end(t.peer) == MRPC_OK, "an empty one");
  is_str(talk_take(&t), "", "isn't sent");
  ok(talk_end(&t), "all memory came back");
}

static void ended(void) {
  talk t = {0};
  int a[2] = {0};
  int64_t id;
  talk_begin(&t);
  mrpc_peer_batch_begin(t.peer);
  call(&t, a, &id);
  ok(mrpc_peer_cancel(t.peer, id) == MRPC_OK, "one that is given up");
  mrpc_peer_batch_end(t.peer);
  is_str(talk_take(&t),
         "[" ASK("1") "," NOTE("$/cancelRequest", "{\"id\":1}") "]\n",
         "is told behind its call");
  mrpc_peer_batch_begin(t.peer);
  call(&t, a, NULL);
  mrpc_peer_drop(t.peer);
  ok(a[0] == 1 && a[1] == MRPC_ECLOSED, "a dead peer's fails");
  ok(mrpc_peer_batch_end(t.peer) == MRPC_ESTATE, "and isn't sent");
  ok(talk_end(&t), "all memory came back");
}

int main(void) {
  together();
  ended();
  return tap_finish();
}
