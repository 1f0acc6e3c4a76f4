/* SPDX-License-Identifier: MIT
 *
 * A list may be spread over several lines of one name (RFC 9110 section 5.3);
 * key and version may stand there once. */
#include "http/handshake.h"

#include "http/scan.h"
#include "http/sha1.h"

typedef struct reading {
  mrpc_ws_offer *offer;
  const char *const *protocols;
  mrpc_text version;
  bool upgrades; /* Connection names Upgrade */
  bool is_twice; /* a field stands twice that mustn't */
} reading;

/* The client names its favourite first. */
static void choose_protocol(reading *r, mrpc_text list) {
  mrpc_text element;
  while (!r->offer->protocol && mrpc_http_next_element(&list, &element)) {
    if (!r->offer->wished.len) r->offer->wished = element;
    for (const char *const *one = r->protocols; one && *one; one++)
      if (element.len == strlen(*one) &&
          memcmp(element.at, *one, element.len) == 0) {
        r->offer->protocol = *one;
        break;
      }
  }
}

static void set_once(reading *r, mrpc_text *field, mrpc_text value) {
  if (field->at) r->is_twice = true;
  *field = value;
}

static void read_field(reading *r, mrpc_text line) {
  mrpc_text name = mrpc_text_until(line, ':');
  mrpc_text value = mrpc_text_trim(mrpc_text_skip(line, name.len + 1));
  if (MRPC_TEXT_IS(name, "Connection"))
    r->upgrades |= mrpc_http_list_has(value, "upgrade");
  else if (MRPC_TEXT_IS(name, "Sec-WebSocket-Key"))
    set_once(r, &r->offer->key, value);
  else if (MRPC_TEXT_IS(name, "Sec-WebSocket-Version"))
    set_once(r, &r->version, value);
  else if (MRPC_TEXT_IS(name, "Sec-WebSocket-Protocol"))
    choose_protocol(r, value);
}

static bool is_base64(char c) {
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
         c == '+' || c == '/';
}

/* 16 bytes are 22 digits and "==". */
static bool is_key(mrpc_text key) {
  if (key.len != MRPC_WS_KEY_LEN || memcmp(key.at + 22, "==", 2) != 0)
    return false;
  for (size_t i = 0; i < 22; i++)
    if (!is_base64(key.at[i])) return false;
  return true;
}

static const char *refuse(mrpc_ws_offer *offer, int status, mrpc_text got,
                          const char *what) {
  offer->status = status;
  offer->got = got.at ? got : mrpc_text_of("none");
  return what;
}

const char *mrpc_ws_read_offer(mrpc_text block, const char *const *protocols,
                               mrpc_ws_offer *out) {
  reading r = {.offer = out, .protocols = protocols};
  mrpc_text line;
  *out = (mrpc_ws_offer){0};
  mrpc_http_next_line(&block, &line); /* the request line */
  while (mrpc_http_next_line(&block, &line)) read_field(&r, line);
  if (r.is_twice)
    return refuse(out, 400, mrpc_text_of("two"),
                  "Sec-WebSocket-Key and -Version may stand there once");
  if (!r.upgrades)
    return refuse(out, 400, mrpc_text_of("no such word"),
                  "Connection must name Upgrade");
  if (!MRPC_TEXT_IS(r.version, "13"))
    return refuse(out, 426, r.version, "Sec-WebSocket-Version must be 13");
  if (!is_key(out->key))
    return refuse(out, 400, out->key,
                  "Sec-WebSocket-Key must be 16 bytes in base64");
  return NULL;
}

void mrpc_ws_write_accept(mrpc_buf *to, const mrpc_ws_offer *offer) {
  char accept[MRPC_WS_ACCEPT_SIZE];
  mrpc_ws_accept(offer->key.at, accept);
  mrpc_buf_lit(to,
               "HTTP/1.1 101 Switching Protocols\r\n"
               "Upgrade: websocket\r\n"
               "Connection: Upgrade\r\n"
               "Sec-WebSocket-Accept: ");
  mrpc_buf_adds(to, accept);
  if (offer->protocol) {
    mrpc_buf_lit(to, "\r\nSec-WebSocket-Protocol: ");
    mrpc_buf_adds(to, offer->protocol);
  }
  mrpc_buf_lit(to, "\r\n\r\n");
}
