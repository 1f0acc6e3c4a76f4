/* SPDX-License-Identifier: MIT
 *
 * One function a kind. A fault ends the reading with a sentence that names the
 * key, as the author wrote it. */
#include "host/setting.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json/parse.h"

static int read_section(mrpc_reading *r, uint32_t node,
                        const mrpc_setting *section, const char *or_false);

__attribute__((format(printf, 2, 3))) static int fail(mrpc_reading *r,
                                                      const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = snprintf(r->error, r->size, "%s: ", r->path);
  if (n > 0 && (size_t)n < r->size)
    vsnprintf(r->error + n, r->size - (size_t)n, format, args);
  va_end(args);
  return MRPC_EINVAL;
}

static int fail_type(mrpc_reading *r, const mrpc_setting *k, const char *want) {
  return fail(r, "%s%s must be %s", r->section, k->name, want);
}

/* Unknown keys. */

static const mrpc_setting *find(const mrpc_setting *section, const char *name) {
  while (section && section->name && strcmp(section->name, name) != 0)
    section++;
  return section && section->name ? section : NULL;
}

/* The name may stand in another section, or beside them all. */
static const mrpc_setting *find_elsewhere(const mrpc_reading *r,
                                          const char *name,
                                          const mrpc_setting **in) {
  *in = NULL;
  const mrpc_setting *found = find(r->keys, name);
  for (const mrpc_setting *k = r->keys; k->name && !found; k++) {
    *in = k;
    found = find(k->section, name);
  }
  return found;
}

static int fail_unknown(mrpc_reading *r, const char *name,
                        const mrpc_setting *section) {
  const mrpc_setting *in;
  const char *nearest = NULL;
  if (find_elsewhere(r, name, &in))
    return fail(r, "there is no key \"%s%s\"; the nearest is \"%s%s%s\"",
                r->section, name, in ? in->name : "", in ? "." : "", name);
  for (const mrpc_setting *k = section; k->name; k++)
    nearest = mrpc_nearer(name, nearest, k->name);
  if (!nearest) return fail(r, "there is no key \"%s%s\"", r->section, name);
  return fail(r, "there is no key \"%s%s\"; the nearest is \"%s%s\"",
              r->section, name, r->section, nearest);
}

/* Values. */

/* A copy in the arena; NULL: out of memory. */
static char *copy_string(mrpc_reading *r, uint32_t node, const char *prefix) {
  const mrpc_node *n = &r->doc.nodes[node];
  size_t before = strlen(prefix);
  char *to = mrpc_arena_new(r->arena, before + n->size + 1);
  if (!to) return NULL;
  memcpy(to, prefix, before);
  size_t len =
      mrpc_json_unescape(r->doc.text + n->u.at.start, n->size, to + before);
  to[before + len] = '\0';
  return to;
}

static int read_string(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                       void *to) {
  if (r->doc.nodes[node].type != MRPC_JSON_STRING)
    return fail_type(r, k, "a string");
  char why[MRPC_SETTING_WHY], *text = copy_string(r, node, "");
  *(char **)to = text;
  if (!text) return MRPC_ENOMEM;
  if (!k->check || k->check(text, why, sizeof why)) return MRPC_OK;
  return fail(r, "%s%s %s", r->section, k->name, why);
}

static int read_file_name(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                          void *to) {
  char dir[512] = "";
  const char *slash = strrchr(r->path, '/');
  int rc = read_string(r, node, k, to);
  const char *name = *(char **)to;
  if (rc || name[0] == '/' || !slash) return rc;
  if ((size_t)(slash - r->path) + 2 > sizeof dir)
    return fail_type(r, k, "shorter");
  memcpy(dir, r->path, (size_t)(slash - r->path) + 1);
  *(char **)to = copy_string(r, node, dir);
  return *(char **)to ? MRPC_OK : MRPC_ENOMEM;
}

static int read_item(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                     char **to) {
  char why[MRPC_SETTING_WHY];
  if (r->doc.nodes[node].type != MRPC_JSON_STRING)
    return fail_type(r, k, "a list of strings");
  *to = copy_string(r, node, "");
  if (!*to) return MRPC_ENOMEM;
  if (!k->check || k->check(*to, why, sizeof why)) return MRPC_OK;
  return fail(r, "%s%s: \"%s\": %s", r->section, k->name, *to, why);
}

static int read_list(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                     void *to) {
  const mrpc_node *list = &r->doc.nodes[node];
  bool single = list->type == MRPC_JSON_STRING;
  bool empty = list->type == MRPC_JSON_OBJECT && list->size == 0;
  if (!single && !empty && list->type != MRPC_JSON_ARRAY)
    return fail_type(r, k, "a list of strings");
  if (k->min && !single && list->size == 0)
    return fail_type(r, k, "a list that isn't empty");
  uint32_t count = single ? 1 : list->size;
  char **items = mrpc_arena_new(r->arena, (count + 1) * sizeof *items);
  if (!items) return MRPC_ENOMEM;
  uint32_t at = single ? node : node + 1;
  for (uint32_t i = 0; i < count; i++, at = mrpc_doc_next(&r->doc, at)) {
    int rc = read_item(r, at, k, &items[i]);
    if (rc) return rc;
  }
  items[count] = NULL;
  *(char ***)to = items;
  return MRPC_OK;
}

static int read_whole(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                      int64_t *to) {
  const mrpc_node *n = &r->doc.nodes[node];
  *to = n->type == MRPC_JSON_INT ? n->u.i : INT64_MIN;
  if (n->type == MRPC_JSON_DOUBLE && n->u.d >= (double)k->min &&
      n->u.d <= (double)k->max && n->u.d == (double)(int64_t)n->u.d)
    *to = (int64_t)n->u.d;
  if (*to >= k->min && *to <= k->max) return MRPC_OK;
  return fail(r, "%s%s must be a whole number from %lld to %lld", r->section,
              k->name, (long long)k->min, (long long)k->max);
}

static int read_count(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                      void *to) {
  int64_t value = MRPC_UNLIMITED;
  int rc = MRPC_OK;
  if (r->doc.nodes[node].type != MRPC_JSON_FALSE)
    rc = read_whole(r, node, k, &value);
  if (!rc) *(uint32_t *)to = (uint32_t)value;
  return rc;
}

static int read_seconds(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                        void *to) {
  const mrpc_node *n = &r->doc.nodes[node];
  double value = n->type == MRPC_JSON_INT      ? (double)n->u.i
                 : n->type == MRPC_JSON_DOUBLE ? n->u.d
                                               : 0;
  if (n->type == MRPC_JSON_FALSE) value = -1;
  if (value == 0 || (value < 0 && n->type != MRPC_JSON_FALSE))
    return fail_type(r, k, "a number of seconds above 0, or false");
  *(double *)to = value;
  return MRPC_OK;
}

static int read_flag(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                     void *to) {
  uint8_t type = r->doc.nodes[node].type;
  if (type != MRPC_JSON_TRUE && type != MRPC_JSON_FALSE)
    return fail_type(r, k, "true or false");
  *(bool *)to = (type == MRPC_JSON_TRUE) == (k->kind == MRPC_SETTING_FLAG);
  return MRPC_OK;
}

static bool is_word(const mrpc_reading *r, uint32_t node, const char *word) {
  return r->doc.nodes[node].type == MRPC_JSON_STRING &&
         mrpc_doc_string_is(&r->doc, node, word, strlen(word));
}

static int read_choice(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                       void *to) {
  for (int i = 0; i < 2; i++)
    if (is_word(r, node, k->words[i])) {
      *(bool *)to = i == 1;
      return MRPC_OK;
    }
  return fail(r, "%s%s must be \"%s\" or \"%s\"", r->section, k->name,
              k->words[0], k->words[1]);
}

static int read_level(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                      void *to) {
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  for (int i = 0; i < 4; i++)
    if (is_word(r, node, levels[i])) {
      *(int *)to = MRPC_LOG_ERROR + i;
      return MRPC_OK;
    }
  return fail_type(r, k, "\"error\", \"warn\", \"info\" or \"debug\"");
}

static int read_number(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                       void *to) {
  int64_t value;
  int rc = read_whole(r, node, k, &value);
  if (!rc) *(int *)to = (int)value;
  return rc;
}

static int read_status(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                       void *to) {
  const mrpc_setting range = {.name = k->name, .min = 200, .max = 204};
  int status = 0;
  if (read_number(r, node, &range, &status) ||
      (status != 200 && status != 202 && status != 204))
    return fail_type(r, k, "200, 202 or 204");
  *(int *)to = status;
  return MRPC_OK;
}

/* These blame the caller's message. Internal error says as little as any code
 * of the host's own, and other protocols' codes may be anywhere. */
static bool is_blame(int code) {
  return code == MRPC_PARSE_ERROR ||
         (code >= MRPC_INVALID_PARAMS && code <= MRPC_INVALID_REQUEST);
}

static int read_code(mrpc_reading *r, uint32_t node, const mrpc_setting *k,
                     void *to) {
  const mrpc_setting range = {.name = k->name, .min = INT_MIN, .max = INT_MAX};
  int rc = read_number(r, node, &range, to);
  if (!rc && !*(int *)to) return fail_type(r, k, "a code other than 0");
  if (rc || !is_blame(*(int *)to)) return rc;
  return fail(r,
              "%s%s can't be %d, by which JSON-RPC says that the caller's "
              "message is wrong",
              r->section, k->name, *(int *)to);
}

static int read_value(mrpc_reading *r, uint32_t node, const mrpc_setting *k) {
  void *to = (char *)r->target + k->at;
  const char *or_false = k->kind == MRPC_SETTING_SWITCH ? ", or false" : "";
  switch (k->kind) {
    case MRPC_SETTING_FLAG:
    case MRPC_SETTING_NOT_FLAG: return read_flag(r, node, k, to);
    case MRPC_SETTING_COUNT: return read_count(r, node, k, to);
    case MRPC_SETTING_STATUS: return read_status(r, node, k, to);
    case MRPC_SETTING_CODE: return read_code(r, node, k, to);
    case MRPC_SETTING_SECONDS: return read_seconds(r, node, k, to);
    case MRPC_SETTING_STRING: return read_string(r, node, k, to);
    case MRPC_SETTING_FILE_NAME: return read_file_name(r, node, k, to);
    case MRPC_SETTING_LIST: return read_list(r, node, k, to);
    case MRPC_SETTING_CHOICE: return read_choice(r, node, k, to);
    case MRPC_SETTING_LEVEL: return read_level(r, node, k, to);
    case MRPC_SETTING_SWITCH:
      *(bool *)to = r->doc.nodes[node].type == MRPC_JSON_FALSE;
      if (*(bool *)to) return MRPC_OK;
      break;
    default: break;
  }
  snprintf(r->section, sizeof r->section, "%s.", k->name);
  int rc = read_section(r, node, k->section, or_false);
  r->section[0] = '\0';
  return rc;
}

/* `or_false` says what else it might have been. */
static int read_section(mrpc_reading *r, uint32_t node,
                        const mrpc_setting *section, const char *or_false) {
  const mrpc_node *n = &r->doc.nodes[node];
  if (n->type == MRPC_JSON_ARRAY)
    return fail(r, "%.*s[1] has no name; settings are written name = value",
                (int)strcspn(r->section, "."), r->section);
  if (n->type != MRPC_JSON_OBJECT)
    return fail(r, "%.*s must be a table with names%s",
                (int)strcspn(r->section, "."), r->section, or_false);
  uint32_t at = node + 1;
  for (uint32_t i = 0; i < n->size; i++) {
    const mrpc_setting *k = section;
    while (k->name && !is_word(r, at, k->name)) k++;
    if (!k->name) {
      char *name = copy_string(r, at, "");
      return name ? fail_unknown(r, name, section) : MRPC_ENOMEM;
    }
    int rc = read_value(r, at + 1, k);
    if (rc) return rc;
    at = mrpc_doc_next(&r->doc, at + 1);
  }
  return MRPC_OK;
}

int mrpc_setting_read(mrpc_reading *r, uint32_t node,
                      const mrpc_setting *keys) {
  r->section[0] = '\0';
  r->keys = keys;
  return read_section(r, node, keys, "");
}
