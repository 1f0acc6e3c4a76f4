/* SPDX-License-Identifier: MIT
 *
 * llhttp tells where the block ends; this walks its lines once. Each must end
 * with CRLF (RFC 9112 section 2.2), begin with a token and have its colon
 * right behind it (section 5.1); folded lines are refused (section 5.2).
 * Fields that decide about framing or policy may stand there once only. */
#include "http/scan.h"

bool mrpc_http_next_line(mrpc_text *block, mrpc_text *line) {
  const char *end = block->len ? memchr(block->at, '\n', block->len) : NULL;
  if (!end || end == block->at || end[-1] != '\r') return false;
  *line = (mrpc_text){block->at, (size_t)(end - block->at) - 1};
  *block = mrpc_text_skip(*block, line->len + 2);
  return line->len > 0;
}

bool mrpc_http_next_element(mrpc_text *list, mrpc_text *element) {
  if (list->len == 0) return false;
  mrpc_text all = mrpc_text_until(*list, ',');
  *element = mrpc_text_trim(all);
  *list = mrpc_text_skip(*list, all.len + (all.len < list->len));
  return true;
}

bool mrpc_http_list_has(mrpc_text list, const char *word) {
  mrpc_text element;
  while (mrpc_http_next_element(&list, &element))
    if (mrpc_text_is(element, mrpc_text_of(word))) return true;
  return false;
}

static bool is_visible(mrpc_text target) {
  for (size_t i = 0; i < target.len; i++)
    if (target.at[i] <= ' ' || target.at[i] > '~' || target.at[i] == '#')
      return false;
  return target.len > 0;
}

/* RFC 9112 section 3: method SP request-target SP HTTP-version */
static const char *scan_request_line(mrpc_text line, mrpc_http_head *out) {
  static const char version[] = " HTTP/1.";
  size_t tail = sizeof version; /* with the digit */
  out->method = mrpc_text_until(line, ' ');
  if (!mrpc_text_is_token(out->method) ||
      line.len < out->method.len + 1 + tail ||
      memcmp(line.at + line.len - tail, version, tail - 1) != 0)
    return "the request line isn't METHOD target HTTP/1.1";
  out->minor = line.at[line.len - 1] - '0';
  line.len -= tail;
  out->target = mrpc_text_skip(line, out->method.len + 1);
  return is_visible(out->target) ? NULL
                                 : "the request target has forbidden bytes";
}

/* Where a field's value is wanted, or NULL. */
static mrpc_text *find_field(mrpc_http_head *out, mrpc_text name) {
  switch (name.len) {
    case 4: return MRPC_TEXT_IS(name, "Host") ? &out->host : NULL;
    case 6:
      if (MRPC_TEXT_IS(name, "Origin")) return &out->origin;
      return MRPC_TEXT_IS(name, "Expect") ? &out->expect : NULL;
    case 12:
      return MRPC_TEXT_IS(name, "Content-Type") ? &out->content_type : NULL;
    case 14:
      return MRPC_TEXT_IS(name, "Content-Length") ? &out->content_length : NULL;
    case 16:
      return MRPC_TEXT_IS(name, "Content-Encoding") ? &out->content_encoding
                                                    : NULL;
    case 17:
      return MRPC_TEXT_IS(name, "Transfer-Encoding") ? &out->coding : NULL;
    default: return NULL;
  }
}

static const char *scan_field(mrpc_text line, mrpc_http_head *out) {
  mrpc_text name = mrpc_text_until(line, ':');
  if (*line.at == ' ' || *line.at == '\t') return "a folded header line";
  if (name.len == line.len) return "a header line without a colon";
  if (!mrpc_text_is_token(name))
    return "a header name with a space or forbidden bytes";
  if (MRPC_TEXT_IS(name, "Upgrade"))
    out->wants_websocket |=
        mrpc_http_list_has(mrpc_text_skip(line, name.len + 1), "websocket");
  if (MRPC_TEXT_IS(name, "Referer") || mrpc_text_starts(name, "Sec-Fetch-"))
    out->is_browser = true;
  mrpc_text *field = find_field(out, name);
  if (!field) return NULL;
  if (field->at) return "a header field that may stand once stands twice";
  *field = mrpc_text_trim(mrpc_text_skip(line, name.len + 1));
  return NULL;
}

/* What the fields must agree on: RFC 9112 sections 3.2, 6.1 and 6.3. */
static const char *check_framing(const mrpc_http_head *head) {
  if (!head->host.at && head->minor > 0) return "Host is missing";
  if (!head->coding.at) return NULL;
  if (head->minor == 0) return "Transfer-Encoding in HTTP/1.0";
  if (head->content_length.at) return "Transfer-Encoding and Content-Length";
  return MRPC_TEXT_IS(head->coding, "chunked")
             ? NULL
             : "Transfer-Encoding must be chunked";
}

const char *mrpc_http_scan(mrpc_text block, mrpc_http_head *out) {
  mrpc_text line;
  *out = (mrpc_http_head){.block = block};
  if (!mrpc_http_next_line(&block, &line))
    return "the request line doesn't end with CRLF";
  const char *wrong = scan_request_line(line, out);
  while (!wrong && mrpc_http_next_line(&block, &line))
    wrong = scan_field(line, out);
  if (wrong) return wrong;
  if (block.len) return "a header line doesn't end with CRLF";
  out->is_browser = out->is_browser || out->origin.at;
  return check_framing(out);
}
