/* SPDX-License-Identifier: MIT */
#include "rpc/id.h"

#include "tap.h"

#define SAME(a, b)                                        \
  ok(mrpc_id_equal(a, sizeof a - 1, b, sizeof b - 1) &&   \
         mrpc_id_equal(b, sizeof b - 1, a, sizeof a - 1), \
     "%s is %s", a, b)
#define OTHER(a, b)                                        \
  ok(!mrpc_id_equal(a, sizeof a - 1, b, sizeof b - 1) &&   \
         !mrpc_id_equal(b, sizeof b - 1, a, sizeof a - 1), \
     "%s isn't %s", a, b)

int main(void) {
  SAME("1", "1");
  SAME("1", "1.0");
  SAME("100", "1e2");
  SAME("-0", "0");
  SAME("9007199254740993", "9007199254740993.000");
  OTHER("9007199254740993", "9007199254740992");
  OTHER("18446744073709551616", "18446744073709551617");
  OTHER("1", "\"1\"");
  OTHER("1", "-1");
  OTHER("null", "null");
  OTHER("null", "0");
  SAME("\"a\"", "\"a\"");
  SAME("\"a\"", "\"\\u0061\"");
  SAME("\"\\n\"", "\"\\u000a\"");
  SAME("\"\\/\\\"\\\\\"", "\"/\\u0022\\u005C\"");
  SAME("\"\xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"");
  SAME("\"x\xc3\xa9y\"", "\"x\\u00e9y\"");
  OTHER("\"a\"", "\"A\"");
  OTHER("\"a\"", "\"ab\"");
  OTHER("\"a\\u0062\"", "\"a\"");
  OTHER("\"\"", "\"\\u0000\"");
  SAME("\"\"", "\"\"");
  char one[300], other[300];
  memset(one, '0', sizeof one);
  memset(other, '0', sizeof other);
  memcpy(one, "1.0", 3);
  memcpy(other, "1.0", 3);
  ok(mrpc_id_equal(one, 256, "1", 1), "a long number is its value");
  ok(!mrpc_id_equal(one, 257, "1", 1), "a longer one isn't");
  ok(mrpc_id_equal(one, 300, other, 300), "but its own text");
  return tap_finish();
}
