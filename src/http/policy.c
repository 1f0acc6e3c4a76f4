/* SPDX-License-Identifier: MIT */
#include "http/policy.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_name_byte(char c) {
  return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' ||
         c == '-' || c == '_';
}

static bool is_address_byte(char c) {
  return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f') || c == ':' ||
         c == '.';
}

static bool is_made_of(mrpc_text text, bool (*is_fine)(char)) {
  for (size_t i = 0; i < text.len; i++)
    if (!is_fine(text.at[i])) return false;
  return text.len > 0;
}

static bool is_port(mrpc_text rest) {
  if (rest.len == 0) return true;
  if (*rest.at != ':' || rest.len > 6) return false;
  return rest.len == 1 || is_made_of(mrpc_text_skip(rest, 1), is_digit);
}

bool mrpc_http_split_host(mrpc_text host, mrpc_text *name) {
  if (host.len && *host.at == '[') {
    *name = mrpc_text_until(mrpc_text_skip(host, 1), ']');
    if (name->len + 2 > host.len) return false;
    return is_made_of(*name, is_address_byte) &&
           memchr(name->at, ':', name->len) &&
           is_port(mrpc_text_skip(host, name->len + 2));
  }
  *name = mrpc_text_until(host, ':');
  return is_made_of(*name, is_name_byte) &&
         is_port(mrpc_text_skip(host, name->len));
}

/* Four decimal numbers up to 255. */
static bool is_ipv4(mrpc_text name) {
  for (int part = 0; part < 4; part++) {
    mrpc_text digits = mrpc_text_until(name, '.');
    int value = 0;
    if (digits.len == 0 || digits.len > 3) return false;
    for (size_t i = 0; i < digits.len; i++) {
      if (!is_digit(digits.at[i])) return false;
      value = value * 10 + digits.at[i] - '0';
    }
    bool is_last = digits.len == name.len;
    if (value > 255 || is_last != (part == 3)) return false;
    name = mrpc_text_skip(name, digits.len + !is_last);
  }
  return true;
}

static bool is_literal(mrpc_text name) {
  return memchr(name.at, ':', name.len) || is_ipv4(name);
}

static bool is_loopback(mrpc_text name) {
  return MRPC_TEXT_IS(name, "localhost") || MRPC_TEXT_IS(name, "::1") ||
         (is_ipv4(name) && mrpc_text_starts(name, "127."));
}

/* A configured name may bear brackets or a port, which don't count. */
static mrpc_text bare_name(const char *configured) {
  mrpc_text all = mrpc_text_of(configured), name;
  return mrpc_http_split_host(all, &name) ? name : all;
}

bool mrpc_http_allows_host(const mrpc_http_config *config, mrpc_text name) {
  if (!config->bound || MRPC_TEXT_IS(name, "localhost")) return true;
  mrpc_text bound = bare_name(config->bound);
  if (mrpc_text_is(name, bound)) return true;
  for (const char *const *host = config->hosts; host && *host; host++)
    if (mrpc_text_is(name, bare_name(*host))) return true;
  if (MRPC_TEXT_IS(bound, "0.0.0.0") || MRPC_TEXT_IS(bound, "::"))
    return is_literal(name);
  return is_loopback(bound) &&
         (MRPC_TEXT_IS(name, "127.0.0.1") || MRPC_TEXT_IS(name, "::1"));
}

static bool is_same_origin(mrpc_text origin, mrpc_text host) {
  size_t scheme = mrpc_text_starts(origin, "http://")    ? 7
                  : mrpc_text_starts(origin, "https://") ? 8
                                                         : 0;
  return scheme && mrpc_text_is(mrpc_text_skip(origin, scheme), host);
}

bool mrpc_http_allows_origin(const mrpc_http_config *config, mrpc_text origin,
                             mrpc_text host, const char **shared) {
  *shared = NULL;
  if (MRPC_TEXT_IS(origin, "null") || MRPC_TEXT_IS(origin, "*")) return false;
  for (const char *const *one = config->origins; one && *one; one++) {
    if (!mrpc_text_is(origin, mrpc_text_of(*one))) continue;
    *shared = *one;
    return true;
  }
  return is_same_origin(origin, host);
}
