/* SPDX-License-Identifier: MIT
 *
 * Envelopes: what is said in answer to each kind of message, to the byte. */
#include "talk.h"

#define ERROR(code, message, id)                                             \
  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":" code ",\"message\":\"" message \
  "\"},\"id\":" id "}\n"
#define INVALID(id) ERROR("-32600", "Invalid Request", id)

int main(void) {
  talk t = {0};
  talk_begin(&t);
  talk_is(&t,
          "{\"jsonrpc\":\"2.0\",\"method\":\"subtract\",\"params\":[42,23],"
          "\"id\":1}\n",
          "{\"jsonrpc\":\"2.0\",\"result\":19,\"id\":1}\n", "a call");
  talk_is(&t, "{}\n", INVALID("null"), "an empty object");
  ok(talk_end(&t), "no leak");
  return tap_finish();
}
