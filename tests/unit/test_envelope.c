/* SPDX-License-Identifier: MIT
 *
 * Envelopes: what is said in answer to each kind of message, to the byte. The
 * dialogues have the breadth; here stand the corners. */
#include "rpc/envelope.h"

#include "json/parse.h"
#include "talk.h"

static void invalid(talk *t) {
  talk_is(t, "{}\n", INVALID("null") "\n", "an empty object");
  talk_is(t, "1\n", INVALID("null") "\n", "a number");
  talk_is(t, "{\"jsonrpc\":\"2.0\",\"id\":7}\n", INVALID("7") "\n",
          "no method");
  talk_is(t, "{\"jsonrpc\":\"2.0\",\"method\":null,\"id\":7}\n",
          INVALID("7") "\n", "a null method");
  talk_is(t, "{\"jsonrpc\":2.0,\"method\":\"sum\",\"id\":7}\n",
          INVALID("7") "\n", "a version that is a number");
  talk_is(t, "{\"jsonrpc\":\"2.00\",\"method\":\"sum\",\"id\":7}\n",
          INVALID("7") "\n", "a version that goes on");
  talk_is(t, "{\"method\":\"sum\",\"id\":7}\n", INVALID("7") "\n",
          "no version");
  talk_is(t, REQ("sum", "\"x\"", "7") "\n", INVALID("7") "\n",
          "params of no structure");
  talk_is(t, REQ("sum", "[]", "true") "\n", INVALID("null") "\n",
          "an id that is none");
  talk_is(t, REQ("sum", "[]", "[1]") "\n", INVALID("null") "\n",
          "an id that is an array");
  talk_is(t, "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":1}\n",
          INVALID("null") "\n", "a malformed notification is answered");
  talk_is(t, "{\"jsonrpc\":\"2.0\",\"result\":1}\n", INVALID("null") "\n",
          "a result without an id");
}

static void twice(talk *t) {
  talk_is(t,
          "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"id\":1,"
          "\"method\":\"sum\"}\n",
          INVALID("1") "\n", "two methods: the id is echoed");
  talk_is(t, "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"id\":1,\"id\":1}\n",
          INVALID("null") "\n", "two ids: which one?");
  talk_is(t,
          "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"id\":1,"
          "\"m\\u0065thod\":\"sum\"}\n",
          INVALID("1") "\n", "two methods, one of them escaped");
  talk_is(t,
          "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"id\":1,\"x\":1,"
          "\"x\":2}\n",
          RES("0", "1") "\n", "other members may stand there twice");
  talk_is(t,
          "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"id\":1,"
          "\"result\":1,\"result\":2}\n",
          INVALID("1") "\n", "members of responses count, too");
}

static void escapes(talk *t) {
  talk_is(t,
          "{\"\\u006asonrpc\":\"2\\u002e0\",\"m\\u0065thod\":\"s\\u0075m\","
          "\"p\\u0061rams\":[1],\"\\u0069d\":\"\\u0031\"}\n",
          RES("1", "\"\\u0031\"") "\n", "everything may be escaped");
  talk_is(t, REQ("x\\u0000y", "[]", "1") "\n", UNKNOWN("1") "\n",
          "a name with a zero byte");
}

static void details(void) {
  talk t = {.config.explain = true};
  talk_begin(&t);
  talk_is(&t, "{\"jsonrpc\":\"2.0\",\"method\":5,\"id\":7}\n",
          "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":"
          "\"Invalid Request\",\"data\":\"\\\"method\\\" must be a string\"},"
          "\"id\":7}\n",
          "an explained invalid request");
  talk_is(&t, "[]\n",
          "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":"
          "\"Invalid Request\",\"data\":\"a batch must not be empty\"},"
          "\"id\":null}\n",
          "an explained empty batch");
  talk_is(&t, "[1 2]\n",
          "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":"
          "\"Parse error\",\"data\":\"expected a comma or ] at byte 3\"},"
          "\"id\":null}\n",
          "an explained parse error");
  ok(talk_end(&t), "all memory came back");
}

static mrpc_envelope_kind kind_of(const char *text) {
  const mrpc_mem mem = {mrpc_mem_default, NULL};
  mrpc_doc doc;
  mrpc_envelope e;
  mrpc_doc_init(&doc, &mem);
  if (mrpc_json_parse(&doc, text, strlen(text), 8)) abort();
  mrpc_envelope_read(&doc, 0, &e);
  mrpc_doc_clear(&doc);
  return e.kind;
}

#define KIND(text, want) ok(kind_of(text) == (want), "%s", text)
#define V "\"jsonrpc\":\"2.0\","
#define E "\"error\":{\"code\":1,\"message\":\"x\"}"

static void kinds(void) {
  KIND("{" V "\"result\":1,\"id\":1}", MRPC_ENVELOPE_RESPONSE);
  KIND("{" V "\"result\":null,\"id\":\"x\"}", MRPC_ENVELOPE_RESPONSE);
  KIND("{" V E ",\"id\":null}", MRPC_ENVELOPE_RESPONSE);
  KIND("{\"result\":1,\"id\":1}", MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V E ",\"result\":1,\"id\":1}", MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"error\":null,\"result\":1,\"id\":1}",
       MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"error\":\"x\",\"id\":1}", MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"error\":{\"code\":1},\"id\":1}", MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"error\":{\"code\":1.5,\"message\":\"x\"},\"id\":1}",
       MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"result\":1,\"id\":true}", MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"result\":1,\"id\":1,\"id\":1}", MRPC_ENVELOPE_BAD_RESPONSE);
  KIND("{" V "\"method\":\"x\",\"result\":1,\"id\":1}", MRPC_ENVELOPE_REQUEST);
  KIND("{" V "\"method\":\"x\",\"params\":null}", MRPC_ENVELOPE_NOTIFICATION);
  KIND("[]", MRPC_ENVELOPE_INVALID);
}

/* What a method throws in goes through as text, whatever its bytes are. */
static void errors(void) {
  const mrpc_mem mem = {mrpc_mem_default, NULL};
  mrpc_buf buf;
  mrpc_buf_init(&buf, &mem, SIZE_MAX);
  mrpc_envelope_add_error(&buf,
                          &(mrpc_error){INT64_MIN, "\"\xff\n", 3, "[1]", 3});
  mrpc_envelope_close(&buf, "\"a\"", 3);
  mrpc_buf_addc(&buf, '\0');
  is_str(buf.data,
         "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-9223372036854775808,"
         "\"message\":\"\\\"\xef\xbf\xbd\\n\",\"data\":[1]},\"id\":\"a\"}",
         "an error of odd bytes");
  mrpc_buf_clear(&buf);
}

int main(void) {
  talk t = {0};
  talk_begin(&t);
  talk_is(&t, REQ("subtract", "[42,23]", "1") "\n", RES("19", "1") "\n",
          "a call");
  invalid(&t);
  twice(&t);
  escapes(&t);
  ok(talk_end(&t), "all memory came back");
  details();
  kinds();
  errors();
  return tap_finish();
}
