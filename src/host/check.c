/* SPDX-License-Identifier: MIT */
#include "host/check.h"

#include <stdio.h>
#include <string.h>

#include "framing/text.h"
#include "host/url.h"
#include "http/policy.h"

static bool refuse(char *why, size_t size, const char *phrase) {
  snprintf(why, size, "%s", phrase);
  return false;
}

bool mrpc_check_url(const char *text, char *why, size_t size) {
  mrpc_url url;
  return mrpc_url_parse(&url, text) ? refuse(why, size, url.error) : true;
}

bool mrpc_check_path(const char *text, char *why, size_t size) {
  return text[0] == '/' || refuse(why, size, "must begin with \"/\"");
}

static bool is_host(const char *text) {
  mrpc_text name;
  return mrpc_http_split_host(mrpc_text_of(text), &name);
}

/* An IPv6 address needs no brackets where no port can follow. */
static bool is_bare_address(const char *text) {
  const char *colon = strchr(text, ':');
  return colon && strchr(colon + 1, ':') &&
         text[strspn(text, "0123456789abcdefABCDEF:.")] == '\0';
}

bool mrpc_check_host(const char *text, char *why, size_t size) {
  return is_host(text) || is_bare_address(text) ||
         refuse(why, size, "a host is one name, without scheme and path");
}

bool mrpc_check_origin(const char *text, char *why, size_t size) {
  const char *rest = strstr(text, "://");
  return (rest && rest != text && is_host(rest + 3)) ||
         refuse(why, size,
                "an origin is scheme://host or scheme://host:port, no more");
}

bool mrpc_check_header(const char *text, char *why, size_t size) {
  return mrpc_text_is_token(mrpc_text_of(text)) ||
         refuse(why, size, "a header is the name of a field, without a colon");
}

bool mrpc_check_protocol(const char *text, char *why, size_t size) {
  return mrpc_text_is_token(mrpc_text_of(text)) ||
         refuse(why, size, "a subprotocol is a word without spaces");
}
