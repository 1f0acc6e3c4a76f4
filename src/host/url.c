/* SPDX-License-Identifier: MIT
 *
 * The text is cut from left to right: scheme, authority, path, query; each
 * part is copied into its field. */
#include "host/url.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *prefix;
  mrpc_url_kind kind;
} schemes[] = {
    {"http://", MRPC_URL_HTTP},    {"http+unix:", MRPC_URL_HTTP_UNIX},
    {"tcp://", MRPC_URL_TCP},      {"unix:", MRPC_URL_UNIX},
    {"ws://", MRPC_URL_WS},        {"ws+unix:", MRPC_URL_WS_UNIX},
    {"stdio:", MRPC_URL_STDIO},    {"exec:", MRPC_URL_EXEC},
    {"exec+line:", MRPC_URL_EXEC}, {"exec+header:", MRPC_URL_EXEC},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

__attribute__((format(printf, 2, 3))) static int fail(mrpc_url *url,
                                                      const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(url->error, sizeof url->error, format, args);
  va_end(args);
  return MRPC_ESYNTAX;
}

/* "http", "http+unix", ... */
static const char *scheme_of(mrpc_url *url) {
  url->text[strcspn(url->text, ":")] = '\0';
  return url->text;
}

/* Copies what stands before the first of `stops`; moves `*at` there. */
static int cut(const char **at, const char *stops, char *out, size_t size) {
  size_t len = strcspn(*at, stops);
  if (len >= size) return MRPC_ELIMIT;
  memcpy(out, *at, len);
  out[len] = '\0';
  *at += len;
  return MRPC_OK;
}

static int parse_port(mrpc_url *url, const char **at) {
  const char *start = *at;
  unsigned long port = 0;
  while (**at >= '0' && **at <= '9' && port < 100000)
    port = port * 10 + (unsigned)(*(*at)++ - '0');
  if (*at == start || port > 65535 || (**at && !strchr("/?", **at)))
    return fail(url, "the port must be a number from 0 to 65535");
  url->port = (uint16_t)port;
  url->port_at = (size_t)(start - url->text);
  url->port_len = (size_t)(*at - start);
  return MRPC_OK;
}

static int parse_host(mrpc_url *url, const char **at) {
  bool six = **at == '[';
  if (six) (*at)++;
  if (cut(at, six ? "]/?" : ":/?", url->host, sizeof url->host))
    return fail(url, "the host is too long");
  if (six && *(*at)++ != ']') return fail(url, "\"]\" is missing");
  if (strchr(url->host, '@')) return fail(url, "user names aren't supported");
  if (!url->host[0]) return fail(url, "the host is missing");
  return MRPC_OK;
}

static int parse_authority(mrpc_url *url, const char **at) {
  int rc = parse_host(url, at);
  if (rc) return rc;
  if (**at == ':') {
    (*at)++;
    return parse_port(url, at);
  }
  if (**at && !strchr("/?", **at)) return fail(url, "what follows the host?");
  if (url->kind == MRPC_URL_TCP) return fail(url, "the port is missing");
  url->port = 80;
  url->port_at = (size_t)(*at - url->text);
  return MRPC_OK;
}

/* unix:/path, and unix:///path as other programs write it. */
static int parse_file(mrpc_url *url, const char **at) {
  if (!strncmp(*at, "///", 3)) *at += 2;
  cut(at, "?", url->file, sizeof url->file);
  if (!url->file[0]) return fail(url, "the path of the socket is missing");
  return MRPC_OK;
}

static int parse_framing(mrpc_url *url, const char *value) {
  if (!strcmp(value, "line"))
    url->framing = MRPC_URL_LINE;
  else if (!strcmp(value, "header"))
    url->framing = MRPC_URL_HEADER;
  else if (strcmp(value, "auto") != 0)
    return fail(url, "framing is \"line\", \"header\" or \"auto\"");
  return MRPC_OK;
}

static int parse_option(mrpc_url *url, const char *name, const char *value) {
  if (!mrpc_url_is_http(url) && !strcmp(name, "framing"))
    return parse_framing(url, value);
  bool has_path =
      url->kind == MRPC_URL_HTTP_UNIX || url->kind == MRPC_URL_WS_UNIX;
  if (!has_path || strcmp(name, "path") != 0)
    return fail(url, "%s has no option \"%s\"", scheme_of(url), name);
  if (value[0] != '/') return fail(url, "the path must begin with \"/\"");
  snprintf(url->path, sizeof url->path, "%s", value);
  return MRPC_OK;
}

static int parse_query(mrpc_url *url, const char *at) {
  while (*at == '?' || *at == '&') {
    char name[16], value[MRPC_URL_MAX] = "";
    at++;
    if (cut(&at, "=&", name, sizeof name))
      return fail(url, "there is no such option: \"%.40s\"", at);
    if (*at == '=') at++;
    cut(&at, "&", value, sizeof value);
    int rc = parse_option(url, name, value);
    if (rc) return rc;
  }
  return MRPC_OK;
}

/* The command is whatever follows. */
static int parse_command(mrpc_url *url, const char *at) {
  bool has_header = !strncmp(url->text, "exec+header:", 12);
  url->framing = has_header ? MRPC_URL_HEADER : MRPC_URL_LINE;
  snprintf(url->file, sizeof url->file, "%s", at);
  return at[strspn(at, " \t\r\n")] ? MRPC_OK
                                   : fail(url, "the command is missing");
}

static int parse_rest(mrpc_url *url, const char *at) {
  int rc = MRPC_OK;
  if (url->kind == MRPC_URL_EXEC) return parse_command(url, at);
  bool is_web = url->kind == MRPC_URL_HTTP || url->kind == MRPC_URL_WS;
  if (is_web || url->kind == MRPC_URL_TCP)
    rc = parse_authority(url, &at);
  else if (url->kind != MRPC_URL_STDIO)
    rc = parse_file(url, &at);
  if (rc) return rc;
  if (is_web) cut(&at, "?", url->path, sizeof url->path);
  if (url->kind == MRPC_URL_TCP && !strcmp(at, "/")) at++;
  if (*at && *at != '?') return fail(url, "\"%.40s\" has no meaning here", at);
  return parse_query(url, at);
}

int mrpc_url_parse(mrpc_url *url, const char *text) {
  memset(url, 0, sizeof *url);
  if (strlen(text) >= sizeof url->text) return fail(url, "it is too long");
  memcpy(url->text, text, strlen(text) + 1);
  bool is_command = !strncmp(text, "exec", 4);
  for (const char *c = text; *c && !is_command; c++)
    if (*c == '#' || (unsigned char)*c <= ' ' || *c == 127)
      return fail(url, "a character isn't allowed there");
  for (size_t i = 0; i < SCHEMES; i++) {
    size_t len = strlen(schemes[i].prefix);
    if (strncmp(text, schemes[i].prefix, len) != 0) continue;
    url->kind = schemes[i].kind;
    return parse_rest(url, url->text + len);
  }
  if (!strncmp(text, "wss:", 4) || !strncmp(text, "https:", 6))
    return fail(url, "TLS isn't supported; a proxy in front can speak it");
  return fail(url,
              "a URL must begin with http://, http+unix:, ws://, ws+unix:, "
              "tcp://, unix:, stdio: or exec:");
}

void mrpc_url_write(const mrpc_url *url, uint16_t port, char *out,
                    size_t size) {
  const char *rest = url->text + url->port_at + url->port_len;
  if (!url->port_at)
    snprintf(out, size, "%s", url->text);
  else
    snprintf(out, size, "%.*s%s%u%s", (int)url->port_at, url->text,
             url->port_len ? "" : ":", port, rest);
}

const char *mrpc_url_transport(const mrpc_url *url) {
  switch (url->kind) {
    case MRPC_URL_HTTP:
    case MRPC_URL_HTTP_UNIX: return "http";
    case MRPC_URL_WS:
    case MRPC_URL_WS_UNIX: return "ws";
    case MRPC_URL_TCP: return "tcp";
    case MRPC_URL_UNIX: return "unix";
    case MRPC_URL_EXEC: return "exec";
    default: return "stdio";
  }
}
