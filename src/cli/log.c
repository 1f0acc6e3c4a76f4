/* SPDX-License-Identifier: MIT
 *
 * The log on stderr, one line an event whatever its parts hold:
 *
 *   12:34:56.789 error call failed  method=math.divide error="math.lua:3: ..."
 *
 * or one JSON object a line. A line is put together first and leaves in one
 * write, so that it isn't torn by what others write to the same place.
 *
 * A pipe that nobody reads must not hold up the program. Others share it, so
 * it can't be made non-blocking; instead it is asked before each write, and
 * what it doesn't take is dropped and counted. It says yes when PIPE_BUF bytes
 * have room, so a longer line leaves in pieces of that size. A socket can be
 * told for a single write that it must not block. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const levels[] = {"", "error", "warn", "info", "debug"};
static const char *const colors[] = {"", "\033[31m", "\033[33m", "\033[32m",
                                     "\033[2m"};

void cli_log_init(log_sink *sink, bool json) {
  const char *no_color = getenv("NO_COLOR");
  struct stat st;
  *sink = (log_sink){.json = json};
  if (fstat(STDERR_FILENO, &st) == 0) {
    sink->is_pipe = S_ISFIFO(st.st_mode);
    sink->is_socket = S_ISSOCK(st.st_mode);
  }
  sink->color = !json && isatty(2) && !(no_color && *no_color);
}

int cli_log_level(const char *name) {
  for (int i = MRPC_LOG_ERROR; i <= MRPC_LOG_DEBUG; i++)
    if (!strcmp(name, levels[i])) return i;
  return 0;
}

enum { TEXT_MAX = 64 << 10 }; /* bytes that are shown of one text */

/* A line that is being put together; it is cut where memory ends. */
typedef struct line {
  char *data;
  size_t len, cap;
} line;

static void add(line *l, const char *text, size_t len) {
  if (len == 0) return;
  if (l->len + len > l->cap) {
    size_t cap = (l->len + len) * 2;
    char *data = realloc(l->data, cap);
    if (!data) return;
    l->data = data;
    l->cap = cap;
  }
  memcpy(l->data + l->len, text, len);
  l->len += len;
}

static void adds(line *l, const char *text) {
  add(l, text, strlen(text));
}

static size_t announced(unsigned char c) {
  if (c < 0x80) return 1;
  if (c < 0xc2) return 0;
  if (c < 0xe0) return 2;
  if (c < 0xf0) return 3;
  return c < 0xf5 ? 4 : 0;
}

/* The length of the UTF-8 sequence at `s`, 0 when it isn't one. */
static size_t sequence(const unsigned char *s) {
  size_t len = announced(s[0]);
  for (size_t i = 1; i < len; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  bool overlong =
      (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
  bool beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
  return overlong || beyond ? 0 : len;
}

static void add_byte(line *l, unsigned char c) {
  static const char plain[] = "\"\\\n\r\t", escaped[] = "\"\\nrt";
  const char *found = strchr(plain, c);
  char text[8];
  if (found)
    snprintf(text, sizeof text, "\\%c", escaped[found - plain]);
  else
    snprintf(text, sizeof text, "\\u%04x", c >= 0x80 ? 0xfffdU : c);
  adds(l, text);
}

/* What JSON wants, and what a terminal survives: no control character gets
 * through, nor do those of 0x80 to 0x9f. A script may log what it likes, but
 * not hold up the program by it: a long text is cut. A last line's end is left
 * out. */
static void add_escaped(line *l, const char *text) {
  const unsigned char *s = (const unsigned char *)text, *start = s;
  while (*s && strcmp((const char *)s, "\n") != 0) {
    if (s - start >= TEXT_MAX) {
      adds(l, "...");
      return;
    }
    size_t len = sequence(s);
    bool is_c1 = len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
    if (len == 0 || *s < 0x20 || *s == '"' || *s == '\\' || *s == 0x7f)
      add_byte(l, *s);
    else if (is_c1)
      adds(l, "\\ufffd");
    else
      add(l, (const char *)s, len);
    s += len ? len : 1;
  }
}

static void add_quoted(line *l, const char *text) {
  adds(l, "\"");
  add_escaped(l, text);
  adds(l, "\"");
}

/* Words stand bare, anything else in quotes. */
static void add_value(line *l, const char *text) {
  bool bare = *text != '\0';
  for (const char *c = text; *c && bare; c++)
    bare = *c > ' ' && *c < 127 && !strchr("\"\\=", *c);
  if (bare)
    add_escaped(l, text);
  else
    add_quoted(l, text);
}

static void add_text(line *l, const log_sink *sink, const mrpc_log_entry *entry,
                     const char *time) {
  const char *dim = sink->color ? "\033[2m" : "";
  const char *color = sink->color ? colors[entry->level] : "";
  const char *end = sink->color ? "\033[0m" : "";
  char head[96];
  snprintf(head, sizeof head, "%s%s%s %s%-5s%s ", dim, time, end, color,
           levels[entry->level], end);
  adds(l, head);
  add_escaped(l, entry->text);
  for (size_t i = 0; i < entry->count; i++) {
    adds(l, i ? " " : "  ");
    adds(l, dim);
    add_escaped(l, entry->pairs[2 * i]);
    adds(l, "=");
    adds(l, end);
    add_value(l, entry->pairs[2 * i + 1]);
  }
}

static size_t count_digits(const char *text) {
  return strspn(text, "0123456789");
}

/* Is it a number as JSON writes them (RFC 8259 section 6)? */
static bool is_number(const char *text) {
  if (*text == '-') text++;
  size_t digits = count_digits(text);
  if (digits == 0 || (*text == '0' && digits > 1)) return false;
  text += digits;
  if (*text == '.') {
    digits = count_digits(++text);
    if (digits == 0) return false;
    text += digits;
  }
  if (*text != 'e' && *text != 'E') return *text == '\0';
  text++;
  if (*text == '+' || *text == '-') text++;
  digits = count_digits(text);
  return digits > 0 && text[digits] == '\0';
}

static void add_json(line *l, const mrpc_log_entry *entry, const char *time) {
  adds(l, "{\"time\":\"");
  adds(l, time);
  adds(l, "\",\"level\":\"");
  adds(l, levels[entry->level]);
  adds(l, "\",\"text\":");
  add_quoted(l, entry->text);
  for (size_t i = 0; i < entry->count; i++) {
    const char *value = entry->pairs[2 * i + 1];
    adds(l, ",");
    add_quoted(l, entry->pairs[2 * i]);
    adds(l, ":");
    if (is_number(value))
      adds(l, value);
    else
      add_quoted(l, value);
  }
  adds(l, "}");
}

static void put_time(bool json, char *out, size_t size) {
  struct timespec now;
  struct tm tm;
  char text[32];
  clock_gettime(CLOCK_REALTIME, &now);
  if (json)
    gmtime_r(&now.tv_sec, &tm);
  else
    localtime_r(&now.tv_sec, &tm);
  strftime(text, sizeof text, json ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &tm);
  snprintf(out, size, "%s.%03d%s", text, (int)(now.tv_nsec / 1000000),
           json ? "Z" : "");
}

static void add_line(line *l, const log_sink *sink,
                     const mrpc_log_entry *entry) {
  char time[48];
  put_time(sink->json, time, sizeof time);
  if (sink->json)
    add_json(l, entry, time);
  else
    add_text(l, sink, entry, time);
  adds(l, "\n");
}

/* Writing. */

/* Writes what is taken at once; 0 or less: nothing is. */
static ssize_t write_some(const log_sink *sink, const char *at, size_t len) {
  struct pollfd stream = {.fd = STDERR_FILENO, .events = POLLOUT};
  if (sink->is_socket) return send(STDERR_FILENO, at, len, MSG_DONTWAIT);
  if (!sink->is_pipe) return write(STDERR_FILENO, at, len);
  if (poll(&stream, 1, 0) <= 0) return 0;
  return write(STDERR_FILENO, at, len < PIPE_BUF ? len : PIPE_BUF);
}

static bool put(log_sink *sink, const char *at, size_t len) {
  size_t left = len;
  while (left) {
    ssize_t done = write_some(sink, at + (len - left), left);
    if (done > 0)
      left -= (size_t)done;
    else if (done == 0 || errno != EINTR)
      break;
  }
  if (left < len) sink->is_torn = left > 0;
  return left == 0;
}

/* Says how many lines were dropped, below what was written of one. */
static bool tell_dropped(log_sink *sink) {
  char count[24];
  const char *pairs[] = {"count", count};
  mrpc_log_entry entry = {.level = MRPC_LOG_WARN,
                          .text = "log lines dropped",
                          .pairs = pairs,
                          .count = 1};
  line l = {0};
  snprintf(count, sizeof count, "%lu", sink->dropped);
  if (sink->is_torn) adds(&l, "\n");
  add_line(&l, sink, &entry);
  bool is_told = put(sink, l.data, l.len);
  free(l.data);
  if (is_told) sink->dropped = 0;
  return is_told;
}

void cli_log_put(log_sink *sink, const char *text, size_t len) {
  bool goes_on = !sink->dropped || tell_dropped(sink);
  if (!goes_on || !put(sink, text, len)) sink->dropped++;
}

void cli_log(const mrpc_log_entry *entry, void *ud) {
  log_sink *sink = ud;
  line l = {0};
  add_line(&l, sink, entry);
  cli_log_put(sink, l.data, l.len);
  free(l.data);
}
