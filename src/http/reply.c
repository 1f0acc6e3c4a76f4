/* SPDX-License-Identifier: MIT
 *
 * The answer to a plain call is three copies and a number behind one
 * reservation; every other answer is put together line by line. No Date
 * field: that costs a clock and RFC 9110 section 6.6.1 lets a server without
 * one do without. */
#include "http/reply.h"

#include <stdio.h>

#define JSON_TYPE "Content-Type: application/json\r\n"
#define TEXT_TYPE                               \
  "Content-Type: text/plain; charset=utf-8\r\n" \
  "X-Content-Type-Options: nosniff\r\n"

/* RFC 9110 section 15, as far as we use it. */
static const char *status_line(int status) {
  switch (status) {
    case 200: return "HTTP/1.1 200 OK\r\n";
    case 202: return "HTTP/1.1 202 Accepted\r\n";
    case 204: return "HTTP/1.1 204 No Content\r\n";
    case 400: return "HTTP/1.1 400 Bad Request\r\n";
    case 401:
      return "HTTP/1.1 401 Unauthorized\r\n"
             "WWW-Authenticate: Bearer\r\n";
    case 403: return "HTTP/1.1 403 Forbidden\r\n";
    case 404: return "HTTP/1.1 404 Not Found\r\n";
    case 405: return "HTTP/1.1 405 Method Not Allowed\r\n";
    case 408: return "HTTP/1.1 408 Request Timeout\r\n";
    case 413: return "HTTP/1.1 413 Content Too Large\r\n";
    case 415: return "HTTP/1.1 415 Unsupported Media Type\r\n";
    case 417: return "HTTP/1.1 417 Expectation Failed\r\n";
    case 426: return "HTTP/1.1 426 Upgrade Required\r\n";
    case 429: return "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n";
    case 431: return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
    case 503: return "HTTP/1.1 503 Service Unavailable\r\n";
    default: return "HTTP/1.1 500 Internal Server Error\r\n";
  }
}

static void add_connection(mrpc_buf *to, const mrpc_http_slot *slot) {
  if (slot->closes)
    mrpc_buf_lit(to, "Connection: close\r\n");
  else if (slot->is_old)
    mrpc_buf_lit(to, "Connection: keep-alive\r\n");
  if (!slot->origin) return;
  mrpc_buf_lit(to, "Access-Control-Allow-Origin: ");
  mrpc_buf_adds(to, slot->origin);
  mrpc_buf_lit(to, "\r\nVary: Origin\r\n");
}

static void add_length(mrpc_buf *to, size_t len) {
  mrpc_buf_lit(to, "Content-Length: ");
  mrpc_buf_addu(to, len);
  mrpc_buf_lit(to, "\r\n\r\n");
}

void mrpc_http_write_json(mrpc_buf *to, const mrpc_http_slot *slot, int status,
                          const char *bytes, size_t len) {
  static const char head[] = "HTTP/1.1 200 OK\r\n" JSON_TYPE;
  bool is_plain = !slot->closes && !slot->is_old && !slot->origin;
  if (!mrpc_buf_reserve(to, sizeof head + 64 + len)) return;
  if (status == 200 && len && is_plain) {
    mrpc_buf_lit(to, head);
  } else {
    mrpc_buf_adds(to, status_line(status));
    if (len) mrpc_buf_lit(to, JSON_TYPE);
    add_connection(to, slot);
  }
  if (status == 204)
    mrpc_buf_lit(to, "\r\n"); /* RFC 9110 section 8.6: no Content-Length */
  else
    add_length(to, len);
  mrpc_buf_add(to, bytes, len);
}

/* What, where and why, in one line. Answers its length. */
static size_t make_text(char *text, size_t size, const mrpc_http_verdict *v) {
  int len = 0;
  if (v->status == 200)
    len = snprintf(text, size, "%s\n", v->what);
  else if (v->limit)
    len = snprintf(text, size, "%d %s of %lu bytes\n", v->status, v->what,
                   (unsigned long)v->limit);
  else if (v->has_got)
    len = snprintf(text, size, "%d %s, got %.*s\n", v->status, v->what,
                   (int)v->got_len, v->got);
  else
    len = snprintf(text, size, "%d %s\n", v->status, v->what);
  return (size_t)len < size ? (size_t)len : size - 1;
}

/* What pages of an allowed origin may send. */
static void add_preflight(mrpc_buf *to, const mrpc_http_verdict *verdict) {
  mrpc_buf_lit(to,
               "Access-Control-Allow-Methods: POST\r\n"
               "Access-Control-Allow-Headers: content-type");
  for (const char *const *one = verdict->headers; one && *one; one++) {
    mrpc_buf_lit(to, ", ");
    mrpc_buf_adds(to, *one);
  }
  mrpc_buf_lit(to, "\r\nAccess-Control-Max-Age: 600\r\n");
}

void mrpc_http_write_verdict(mrpc_buf *to, const mrpc_http_slot *slot,
                             const mrpc_http_verdict *verdict) {
  char text[MRPC_HTTP_GOT + 128];
  mrpc_buf_adds(to, status_line(verdict->status));
  if (verdict->fields) mrpc_buf_adds(to, verdict->fields);
  if (verdict->is_preflight) add_preflight(to, verdict);
  add_connection(to, slot);
  if (verdict->status == 204) {
    mrpc_buf_lit(to, "\r\n");
    return;
  }
  size_t len = make_text(text, sizeof text, verdict);
  mrpc_buf_lit(to, TEXT_TYPE);
  add_length(to, len);
  if (!slot->is_head) mrpc_buf_add(to, text, len);
}
