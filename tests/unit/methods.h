/* SPDX-License-Identifier: MIT
 *
 * The methods that dialogues may call (tests/README.md), in C. Their own
 * memory is malloc's, so that a test's failing allocator means the core. */
#ifndef MRPC_TEST_METHODS_H
#define MRPC_TEST_METHODS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "json/parse.h"
#include "json/write.h"
#include "moonrpc.h"
#include "rpc/call.h"
#include "rpc/peer.h"

/* A wait that isn't released, or a release that nobody waited for. */
typedef struct methods_wait {
  struct methods_wait *next;
  struct methods *owner;
  mrpc_call *call; /* NULL: a release */
  char *name;      /* raw JSON */
  size_t len;
} methods_wait;

typedef struct methods {
  methods_wait *waits;
  unsigned started, cancelled;
  int last_result; /* of the last answer */
} methods;

static void methods_subtract(mrpc_call *call, void *ud) {
  static const char *const names[] = {"minuend", "subtrahend"};
  methods *m = ud;
  uint32_t args[METHODS_MAX_ARGS], params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  double a, b;
  m->started++;
  if (!methods_args(call, names, 2, args) ||
      !methods_number(doc, args[0], &a) || !methods_number(doc, args[1], &b))
    m->last_result = methods_invalid(call);
  else
    m->last_result = methods_answer_number(call, a - b);
}

static void methods_sum(mrpc_call *call, void *ud) {
  methods *m = ud;
  uint32_t params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  double total = 0, value;
  m->started++;
  if (params != MRPC_NO_NODE) {
    if (doc->nodes[params].type != MRPC_JSON_ARRAY) {
      m->last_result = methods_invalid(call);
      return;
    }
    uint32_t at = params + 1;
    for (uint32_t i = 0; i < doc->nodes[params].size; i++) {
      if (!methods_number(doc, at, &value)) {
        m->last_result = methods_invalid(call);
        return;
      }
      total += value;
      at = mrpc_doc_next(doc, at);
    }
  }
  m->last_result = methods_answer_number(call, total);
}

static void methods_update(mrpc_call *call, void *ud) {
  methods *m = ud;
  m->started++;
  m->last_result = mrpc_call_reply(call, "null", 4);
}

static void methods_get_data(mrpc_call *call, void *ud) {
  methods *m = ud;
  m->started++;
  m->last_result = mrpc_call_reply(call, "[\"hello\",5]", 11);
}

static void methods_echo(mrpc_call *call, void *ud) {
  methods *m = ud;
  size_t len;
  const char *params = mrpc_call_params(call, &len);
  m->started++;
  m->last_result = len ? mrpc_call_reply(call, params, len)
                       : mrpc_call_reply(call, "null", 4);
}

static void methods_fail(mrpc_call *call, void *ud) {
  static const char *const names[] = {"code", "message", "data"};
  methods *m = ud;
  uint32_t args[METHODS_MAX_ARGS], params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  double code;
  m->started++;
  if (!methods_args(call, names, 3, args) ||
      !methods_number(doc, args[0], &code) || fabs(code) > 1e15 ||
      args[1] == MRPC_NO_NODE || doc->nodes[args[1]].type != MRPC_JSON_STRING) {
    m->last_result = methods_invalid(call);
    return;
  }
  size_t raw_len, data_len = 0;
  const char *raw = mrpc_doc_raw(doc, args[1], &raw_len);
  const char *data =
      args[2] == MRPC_NO_NODE ? NULL : mrpc_doc_raw(doc, args[2], &data_len);
  char *message = malloc(raw_len);
  size_t len = mrpc_json_unescape(raw + 1, raw_len - 2, message);
  m->last_result =
      mrpc_call_fail(call, (int64_t)code, message, len, data, data_len);
  free(message);
}

static void methods_boom(mrpc_call *call, void *ud) {
  methods *m = ud;
  m->started++;
  m->last_result =
      mrpc_call_error(call, MRPC_INTERNAL_ERROR, "Internal error", NULL);
}

/* Takes the entry that matches out of the list. */
static methods_wait *methods_take(methods *m, const char *name, size_t len,
                                  bool is_call) {
  for (methods_wait **at = &m->waits; *at; at = &(*at)->next) {
    methods_wait *wait = *at;
    if ((wait->call != NULL) != is_call || wait->len != len ||
        memcmp(wait->name, name, len) != 0)
      continue;
    *at = wait->next;
    return wait;
  }
  return NULL;
}

static void methods_forget(methods_wait *wait) {
  free(wait->name);
  free(wait);
}

static methods_wait *methods_keep(methods *m, mrpc_call *call, const char *name,
                                  size_t len) {
  methods_wait *wait = malloc(sizeof *wait), **at = &m->waits;
  *wait = (methods_wait){NULL, m, call, malloc(len + 1), len};
  memcpy(wait->name, name, len);
  while (*at) at = &(*at)->next;
  *at = wait;
  return wait;
}

static void methods_on_cancel(mrpc_call *call, void *ud) {
  methods_wait *wait = ud;
  methods *m = wait->owner;
  methods_wait **at = &m->waits;
  while (*at != wait) at = &(*at)->next;
  *at = wait->next;
  methods_forget(wait);
  m->cancelled++;
  m->last_result =
      mrpc_call_error(call, MRPC_REQUEST_CANCELLED, "Request cancelled", NULL);
}

/* The raw first argument; "" when there is none. */
static const char *methods_name(const mrpc_call *call, size_t *len) {
  static const char *const names[] = {"name"};
  uint32_t args[METHODS_MAX_ARGS], params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  *len = 0;
  if (!methods_args(call, names, 1, args) || args[0] == MRPC_NO_NODE ||
      doc->nodes[args[0]].type != MRPC_JSON_STRING)
    return "";
  return mrpc_doc_raw(doc, args[0], len);
}

static void methods_wait_for(mrpc_call *call, void *ud) {
  methods *m = ud;
  size_t len;
  const char *name = methods_name(call, &len);
  m->started++;
  if (!len) {
    m->last_result = methods_invalid(call);
    return;
  }
  methods_wait *release = methods_take(m, name, len, false);
  if (release) {
    methods_forget(release);
    m->last_result = mrpc_call_reply(call, name, len);
    return;
  }
  mrpc_call_on_cancel(call, methods_on_cancel,
                      methods_keep(m, call, name, len));
}

/* Answers the oldest wait of that name, or remembers the release. */
static void methods_let_go(methods *m, const char *name, size_t len) {
  methods_wait *wait = methods_take(m, name, len, true);
  if (!wait) {
    methods_keep(m, NULL, name, len);
    return;
  }
  m->last_result = mrpc_call_reply(wait->call, wait->name, wait->len);
  methods_forget(wait);
}

static void methods_release(mrpc_call *call, void *ud) {
  methods *m = ud;
  size_t len;
  const char *name = methods_name(call, &len);
  m->started++;
  if (!len) {
    m->last_result = methods_invalid(call);
    return;
  }
  methods_let_go(m, name, len);
  m->last_result = mrpc_call_reply(call, "true", 4);
}

/* Methods that speak to their caller. */

/* A call of `ask` and the one that it made of it. */
typedef struct methods_asking {
  mrpc_call *call;
  int64_t id;
} methods_asking;

/* The member of an error object, NULL when there is none. */
static const char *methods_member(const mrpc_doc *doc, uint32_t object,
                                  const char *name, size_t *len) {
  uint32_t key = object + 1;
  for (uint32_t left = doc->nodes[object].size; left; left--) {
    if (mrpc_doc_string_is(doc, key, name, strlen(name)))
      return mrpc_doc_raw(doc, key + 1, len);
    key = mrpc_doc_next(doc, key + 1);
  }
  *len = 0;
  return NULL;
}

static char *methods_unquote(const char *raw, size_t len) {
  char *text = malloc(len);
  text[mrpc_json_unescape(raw + 1, len - 2, text)] = '\0';
  return text;
}

/* Passes an error of the other side on. */
static int methods_pass(mrpc_call *call, const mrpc_doc *doc, uint32_t node) {
  size_t code_len, message_len, data_len;
  const char *code = methods_member(doc, node, "code", &code_len);
  const char *raw = methods_member(doc, node, "message", &message_len);
  const char *data = methods_member(doc, node, "data", &data_len);
  char *message = methods_unquote(raw, message_len);
  int rc = mrpc_call_fail(call, strtoll(code, NULL, 10), message,
                          strlen(message), data, data_len);
  free(message);
  return rc;
}

static void methods_on_answer(mrpc_peer *peer, const mrpc_answer *answer,
                              void *ud) {
  methods_asking *a = ud;
  uint32_t node;
  const mrpc_doc *doc = mrpc_peer_answer_doc(peer, &node);
  if (answer->result == MRPC_ETIMEOUT)
    mrpc_call_error(a->call, MRPC_TIMED_OUT, NULL, NULL);
  else if (answer->result)
    mrpc_call_error(a->call, MRPC_INTERNAL_ERROR, NULL, NULL);
  else if (answer->is_error)
    methods_pass(a->call, doc, node);
  else
    mrpc_call_reply(a->call, answer->json, answer->len);
  free(a);
}

static void methods_on_ask_cancel(mrpc_call *call, void *ud) {
  methods_asking *a = ud;
  mrpc_peer *peer = mrpc_call_peer(call);
  if (!peer) return; /* its calls fail by themselves */
  mrpc_peer_cancel(peer, a->id);
  free(a);
  mrpc_call_error(call, MRPC_REQUEST_CANCELLED, NULL, NULL);
}

/* Says method(params) to the caller, as a call or a notification. */
static int methods_say(mrpc_call *call, methods_asking *a) {
  static const char *const names[] = {"method", "params"};
  uint32_t args[METHODS_MAX_ARGS], root;
  const mrpc_doc *doc = mrpc_call_doc(call, &root);
  if (!methods_args(call, names, 2, args) || args[0] == MRPC_NO_NODE ||
      doc->nodes[args[0]].type != MRPC_JSON_STRING ||
      (args[1] != MRPC_NO_NODE && doc->nodes[args[1]].type < MRPC_JSON_ARRAY))
    return MRPC_EINVAL;
  size_t raw_len, len;
  const char *raw = mrpc_doc_raw(doc, args[0], &raw_len);
  char *method = methods_unquote(raw, raw_len), *params = NULL;
  if (args[1] != MRPC_NO_NODE) {
    /* A container inside an array doesn't know where it begins. */
    const char *from = doc->nodes[root].type == MRPC_JSON_ARRAY
                           ? strchr(raw + raw_len, ',') + 1
                           : mrpc_doc_raw(doc, args[1], &len);
    len = (size_t)(doc->text + doc->nodes[args[1]].u.at.start - from);
    params = strndup(from, len);
  }
  mrpc_peer *peer = mrpc_call_peer(call);
  int rc =
      a ? mrpc_peer_call(peer, method, params, 0, methods_on_answer, a, &a->id)
        : mrpc_peer_notify(peer, method, params);
  free(method);
  free(params);
  return rc;
}

static void methods_ask(mrpc_call *call, void *ud) {
  methods *m = ud;
  methods_asking *a = malloc(sizeof *a);
  m->started++;
  a->call = call;
  if (methods_say(call, a) == MRPC_OK) {
    mrpc_call_on_cancel(call, methods_on_ask_cancel, a);
    return;
  }
  free(a);
  mrpc_call_error(call, MRPC_INTERNAL_ERROR, NULL, NULL);
}

static void methods_tell(mrpc_call *call, void *ud) {
  methods *m = ud;
  m->started++;
  if (methods_say(call, NULL) == MRPC_OK)
    mrpc_call_reply(call, "true", 4);
  else
    mrpc_call_error(call, MRPC_INTERNAL_ERROR, NULL, NULL);
}

static void methods_progress(mrpc_call *call, void *ud) {
  methods *m = ud;
  uint32_t params;
  const mrpc_doc *doc = mrpc_call_doc(call, &params);
  size_t len = 0;
  const char *value = NULL;
  m->started++;
  if (params != MRPC_NO_NODE && doc->nodes[params].type == MRPC_JSON_OBJECT)
    value = methods_member(doc, params, "value", &len);
  int rc = value ? mrpc_call_progress(call, value, len) : MRPC_EINVAL;
  if (rc == MRPC_OK || rc == MRPC_ENOTFOUND)
    mrpc_call_reply(call, rc == MRPC_OK ? "true" : "false",
                    rc == MRPC_OK ? 4 : 5);
  else
    mrpc_call_error(call, MRPC_INTERNAL_ERROR, NULL, NULL);
}

/* Answers what still waits and forgets what was released for nobody. */
__attribute__((unused)) static void methods_clear(methods *m) {
  while (m->waits) {
    methods_wait *wait = m->waits;
    m->waits = wait->next;
    if (wait->call) mrpc_call_reply(wait->call, "null", 4);
    methods_forget(wait);
  }
}

__attribute__((unused)) static int methods_add(methods *m,
                                               mrpc_dispatch *dispatch) {
  static const struct {
    const char *name;
    mrpc_call_fn fn;
  } all[] = {
      {"subtract", methods_subtract}, {"sum", methods_sum},
      {"update", methods_update},     {"notify_hello", methods_update},
      {"get_data", methods_get_data}, {"echo", methods_echo},
      {"fail", methods_fail},         {"boom", methods_boom},
      {"wait", methods_wait_for},     {"release", methods_release},
      {"ask", methods_ask},           {"tell", methods_tell},
      {"progress", methods_progress},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    int rc = mrpc_dispatch_add(dispatch, all[i].name, all[i].fn, m);
    if (rc) return rc;
  }
  return MRPC_OK;
}

#endif
