/* SPDX-License-Identifier: MIT
 *
 * Rules in the order in which they matter: who asks (Host, Origin), for what
 * (path, method), whether we serve now, and then the content. Each rule
 * answers true when it has decided. */
#include "http/check.h"

#include "http/handshake.h"
#include "http/policy.h"

typedef struct request {
  const mrpc_http_rules *rules;
  const mrpc_http_head *head;
  mrpc_text host; /* the Host field */
  mrpc_text path;
  uint64_t length;
} request;

static bool decide(mrpc_http_verdict *out, int status, const char *what) {
  out->fate = MRPC_HTTP_ANSWER;
  out->status = status;
  out->what = what;
  return true;
}

static bool break_off(mrpc_http_verdict *out, int status, const char *what) {
  decide(out, status, what);
  out->fate = MRPC_HTTP_BREAK_OFF;
  return true;
}

/* Notes what stood there; bytes that aren't printable become question
 * marks. */
static bool got(mrpc_http_verdict *out, mrpc_text text) {
  size_t len = text.len < MRPC_HTTP_GOT ? text.len : MRPC_HTTP_GOT;
  if (len) memcpy(out->got, text.at, len);
  for (size_t i = 0; i < len; i++)
    if (out->got[i] < ' ' || out->got[i] > '~') out->got[i] = '?';
  out->got_len = (uint8_t)len;
  out->has_got = true;
  return true;
}

/* The absolute form names a host itself, which must be the same (RFC 9112
 * section 3.2.2). */
static bool check_target(request *r, mrpc_http_verdict *out) {
  mrpc_text target = r->head->target;
  size_t scheme = mrpc_text_starts(target, "http://")    ? 7
                  : mrpc_text_starts(target, "https://") ? 8
                                                         : 0;
  if (scheme) {
    target = mrpc_text_skip(target, scheme);
    mrpc_text authority = mrpc_text_until(mrpc_text_until(target, '/'), '?');
    if (r->head->host.at && !mrpc_text_is(authority, r->head->host))
      return break_off(out, 400, "Host differs from the request target");
    r->host = authority;
    target = mrpc_text_skip(target, authority.len);
  }
  r->path = mrpc_text_until(target, '?');
  if (r->path.len == 0) r->path = mrpc_text_of("/");
  return false;
}

static bool check_host(const request *r, mrpc_http_verdict *out) {
  mrpc_text name = {"", 0};
  if (!r->host.at) return false; /* HTTP/1.0, which no browser speaks */
  if (r->host.len && !mrpc_http_split_host(r->host, &name))
    return break_off(out, 400, "Host isn't a name with or without a port");
  if (mrpc_http_allows_host(r->rules->config, name)) return false;
  decide(out, 403, "Host must be a name of this server (http.hosts)");
  return got(out, r->host);
}

static bool check_origin(const request *r, mrpc_http_verdict *out) {
  mrpc_text origin = r->head->origin;
  if (!origin.at) return false;
  if (mrpc_http_allows_origin(r->rules->config, origin, r->host, &out->origin))
    return false;
  decide(out, 403, "Origin isn't allowed (http.origins)");
  return got(out, origin);
}

static bool is_exactly(mrpc_text text, const char *want) {
  return text.len == strlen(want) && !memcmp(text.at, want, text.len);
}

static bool is_method(const request *r, const char *name) {
  return is_exactly(r->head->method, name);
}

static bool refuse_method(const request *r, const char *allow, const char *what,
                          mrpc_http_verdict *out) {
  decide(out, 405, what);
  out->fields = allow;
  return got(out, r->head->method);
}

static bool check_health(const request *r, mrpc_http_verdict *out) {
  if (!is_exactly(r->path, "/healthz")) return false;
  if (!is_method(r, "GET") && !is_method(r, "HEAD"))
    return refuse_method(r, "Allow: GET, HEAD\r\n", "the method must be GET",
                         out);
  if (r->rules->is_draining) return decide(out, 503, "shutting down");
  return decide(out, 200, "ok");
}

/* A CORS preflight asks for an origin that check_origin has allowed. */
static bool answer_options(const request *r, mrpc_http_verdict *out) {
  decide(out, 204, "");
  out->fields = "Allow: POST, OPTIONS\r\n";
  out->is_preflight = out->origin != NULL;
  out->headers = r->rules->config->headers;
  return true;
}

/* Elsewhere, and where WebSocket is off, an Upgrade is ignored, as RFC 9110
 * section 7.8 allows. */
static bool is_upgrade(const request *r) {
  return r->head->wants_websocket && !r->rules->config->websocket.off &&
         is_method(r, "GET") && is_exactly(r->path, r->rules->config->path);
}

/* A script that looks at each connection that opens sees no HTTP request. */
static bool refuse_http(mrpc_http_verdict *out) {
  out->fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  return decide(out, 426, "this address takes WebSocket only");
}

static bool check_endpoint(const request *r, mrpc_http_verdict *out) {
  bool is_here = is_exactly(r->path, r->rules->config->path);
  bool is_options = is_method(r, "OPTIONS");
  if (is_here && is_upgrade(r)) return false;
  if (check_health(r, out)) return true;
  if (is_here && r->rules->config->websocket.only) return refuse_http(out);
  if (is_here && is_method(r, "POST")) return false;
  if (is_options && (is_here || is_exactly(r->path, "*")))
    return answer_options(r, out);
  if (is_here)
    return refuse_method(r, "Allow: POST, OPTIONS\r\n",
                         "the method must be POST", out);
  decide(out, 404, "no endpoint of this path");
  return got(out, r->path);
}

static bool check_draining(const request *r, mrpc_http_verdict *out) {
  return r->rules->is_draining && decide(out, 503, "shutting down");
}

static bool check_upgrade(const request *r, mrpc_http_verdict *out) {
  mrpc_ws_offer offer;
  if (!is_upgrade(r)) return false;
  if (r->head->minor == 0)
    return break_off(out, 400, "an upgrade needs HTTP/1.1");
  if (r->length || r->head->coding.at || r->head->expect.at)
    return break_off(out, 400, "an upgrade has no body");
  const char *wrong = mrpc_ws_read_offer(
      r->head->block, r->rules->config->websocket.protocols, &offer);
  out->fate = MRPC_HTTP_UPGRADE;
  if (!wrong) return true;
  decide(out, offer.status, wrong);
  if (offer.status == 426)
    out->fields =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
        "13\r\n";
  return got(out, offer.got);
}

static bool check_type(const request *r, mrpc_http_verdict *out) {
  const mrpc_http_head *head = r->head;
  mrpc_text type = mrpc_text_trim(mrpc_text_until(head->content_type, ';'));
  if (MRPC_TEXT_IS(type, "application/json") ||
      MRPC_TEXT_IS(type, "application/json-rpc") ||
      MRPC_TEXT_IS(type, "application/jsonrequest"))
    return false;
  if (r->rules->config->dev && !head->is_browser &&
      MRPC_TEXT_IS(type, "application/x-www-form-urlencoded"))
    return false;
  decide(out, 415, "Content-Type must be application/json");
  return got(out,
             head->content_type.at ? head->content_type : mrpc_text_of("none"));
}

/* RFC 9110 section 15.5.16 */
static bool check_encoding(const request *r, mrpc_http_verdict *out) {
  mrpc_text encoding = r->head->content_encoding;
  if (encoding.len == 0 || MRPC_TEXT_IS(encoding, "identity")) return false;
  decide(out, 415, "Content-Encoding must be identity");
  out->fields = "Accept-Encoding: identity\r\n";
  return got(out, encoding);
}

static bool check_length(const request *r, mrpc_http_verdict *out) {
  if (r->length <= r->rules->message_max) return false;
  break_off(out, 413, "the body is over the limit");
  out->limit = r->rules->message_max;
  return true;
}

static bool check_expect(const request *r, mrpc_http_verdict *out) {
  mrpc_text expect = r->head->expect;
  if (!expect.at || MRPC_TEXT_IS(expect, "100-continue")) return false;
  break_off(out, 417, "Expect must be 100-continue");
  return got(out, expect);
}

void mrpc_http_check(const mrpc_http_rules *rules, const mrpc_http_head *head,
                     uint64_t length, mrpc_http_verdict *out) {
  request r = {rules, head, head->host, {NULL, 0}, length};
  *out = (mrpc_http_verdict){0};
  bool is_decided = check_target(&r, out) || check_host(&r, out) ||
                    check_origin(&r, out) || check_endpoint(&r, out) ||
                    check_draining(&r, out) || check_upgrade(&r, out) ||
                    check_type(&r, out) || check_encoding(&r, out) ||
                    check_expect(&r, out);
  /* A body that is too long, or that its sender holds back until it knows, is
   * not waited for. */
  if (!is_decided)
    check_length(&r, out);
  else if (length > rules->message_max || head->expect.at)
    out->fate = MRPC_HTTP_BREAK_OFF;
}
