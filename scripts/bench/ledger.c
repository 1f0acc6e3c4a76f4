/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

enum {
  FIRST_ID = 1000000, /* ids have seven digits, so requests have one length */
  TURNS = 8000        /* turns of a slot until its ids come again */
};

void ledger_init(ledger *l, const char *method) {
  int n = snprintf(l->request, sizeof l->request,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"%s\","
                   "\"params\":[0000000,23],\"id\":0000000}",
                   method);
  if (n < 0 || (size_t)n >= sizeof l->request)
    tool_fail("method name too long");
  l->request_len = (size_t)n;
  l->param_at = (size_t)(strstr(l->request, "[0") + 1 - l->request);
  l->id_at = l->request_len - 8;
  l->start = tool_now();
}

bool ledger_wants_call(const ledger *l) {
  return !l->stopped && (!l->calls || l->sent < l->calls);
}

static uint32_t id_of(const ledger *l, uint32_t index) {
  return FIRST_ID + l->slots[index].turn * MAX_SLOTS + index;
}

static void put_digits(char *at, uint32_t value) {
  for (int i = 6; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
}

static void put_request(const ledger *l, char *at, uint32_t id) {
  memcpy(at, l->request, l->request_len);
  put_digits(at + l->param_at, id);
  put_digits(at + l->id_at, id);
}

void ledger_put(ledger *l, uint32_t index, char *at, uint64_t time) {
  put_request(l, at, id_of(l, index));
  l->slots[index].busy = true;
  l->slots[index].sent = time;
  l->sent++;
}

/* The whole number behind `name` in an answer. */
static uint32_t member(const char *text, size_t len, const char *name,
                       size_t name_len) {
  const char *at = memmem(text, len, name, name_len);
  uint32_t value = 0;
  if (!at) tool_fail("not an answer: %.*s", (int)len, text);
  for (at += name_len; *at == ' '; at++) continue;
  if (*at < '0' || *at > '9') tool_fail("no number: %.*s", (int)len, text);
  for (; *at >= '0' && *at <= '9'; at++)
    value = value * 10 + (uint32_t)(*at - '0');
  return value;
}

static bool is_right(const ledger *l, const char *text, size_t len,
                     uint32_t id) {
  char expected[MAX_REQUEST];
  if (!l->echo) return member(text, len, "\"result\":", 9) == id - 23;
  put_request(l, expected, id);
  return len == l->request_len && memcmp(text, expected, len) == 0;
}

uint32_t ledger_take(ledger *l, const char *text, size_t len, uint64_t time) {
  uint32_t id = member(text, len, "\"id\":", 5);
  uint32_t index = (id - FIRST_ID) % MAX_SLOTS;
  slot *s = &l->slots[index];
  if (!s->busy || id != id_of(l, index))
    tool_fail("an answer to no call: %.*s", (int)len, text);
  if (!is_right(l, text, len, id))
    tool_fail("a wrong answer: %.*s", (int)len, text);
  s->busy = false;
  s->turn = (s->turn + 1) % TURNS;
  l->answered++;
  if (!l->counting || l->stopped) return index;
  l->counted++;
  if (time - s->sent > l->longest) l->longest = time - s->sent;
  return index;
}

void ledger_look_at_clock(ledger *l) {
  uint64_t time = tool_now();
  double elapsed = (double)(time - l->start) / 1e9;
  if (!l->counting && (l->calls || elapsed >= l->warm_up)) l->counting = time;
  if (l->calls ? l->answered >= l->calls : elapsed >= l->warm_up + l->seconds)
    l->stopped = time;
}

void ledger_report(const ledger *l) {
  double seconds = (double)(l->stopped - l->counting) / 1e9;
  printf("calls=%" PRIu64 " seconds=%.6f rate=%.0f longest=%.6f\n", l->counted,
         seconds, (double)l->counted / seconds, (double)l->longest / 1e9);
}
