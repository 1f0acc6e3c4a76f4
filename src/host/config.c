/* SPDX-License-Identifier: MIT
 *
 * A config file is a Lua file that returns a table; it arrives as JSON
 * (runtime/data.h) and is laid over the config struct by the lists below,
 * which name each key, its kind, its range and its place. */
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "host/check.h"
#include "host/setting.h"
#include "json/parse.h"
#include "runtime/data.h"

enum { MAX_DEPTH = 32, MAX_BYTES = 1 << 20 };

#define AT(field) offsetof(mrpc_host_config, field)
#define LIMIT(field, least, most)                                       \
  {                                                                     \
    .name = #field, .kind = MRPC_SETTING_COUNT, .at = AT(limits.field), \
    .min = (least), .max = (most)                                       \
  }
#define TIME(field) \
  { .name = #field, .kind = MRPC_SETTING_SECONDS, .at = AT(limits.field) }
#define CHOICE(key, field, no, yes)                                         \
  {                                                                         \
    .name = (key), .kind = MRPC_SETTING_CHOICE, .at = AT(field), .words = { \
      (no),                                                                 \
      (yes)                                                                 \
    }                                                                       \
  }

static const mrpc_setting limits_keys[] = {
    LIMIT(message, 64, UINT32_MAX / 2),
    LIMIT(depth, 1, 1000),
    LIMIT(batch, 1, UINT32_MAX - 1),
    LIMIT(reply, 256, UINT32_MAX / 2),
    LIMIT(in_flight, 1, UINT32_MAX - 1),
    LIMIT(output, 1, UINT32_MAX / 2),
    LIMIT(header, 256, UINT32_MAX / 2),
    LIMIT(connections, 1, UINT32_MAX - 1),
    LIMIT(memory, 1 << 20, UINT32_MAX - 1),
    TIME(header_time),
    TIME(body_time),
    TIME(idle_time),
    TIME(write_time),
    TIME(half_closed),
    TIME(wait),
    TIME(handler),
    TIME(load),
    {0},
};

#define CODE(field) \
  { .name = #field, .kind = MRPC_SETTING_CODE, .at = AT(errors.field) }

static const mrpc_setting errors_keys[] = {
    CODE(busy),         CODE(timed_out),     CODE(reply_too_large),
    CODE(script_limit), CODE(shutting_down), CODE(not_authorised),
    CODE(rate_limited), CODE(peer_gone),     {0},
};

static const mrpc_setting http_keys[] = {
    {.name = "path",
     .kind = MRPC_SETTING_STRING,
     .at = AT(http.path),
     .check = mrpc_check_path},
    {.name = "notification_status",
     .kind = MRPC_SETTING_STATUS,
     .at = AT(http.notification_status)},
    {.name = "hosts",
     .kind = MRPC_SETTING_LIST,
     .at = AT(http.hosts),
     .check = mrpc_check_host},
    {.name = "origins",
     .kind = MRPC_SETTING_LIST,
     .at = AT(http.origins),
     .check = mrpc_check_origin},
    {.name = "headers",
     .kind = MRPC_SETTING_LIST,
     .at = AT(http.headers),
     .check = mrpc_check_header},
    {0},
};

static const mrpc_setting websocket_keys[] = {
    {.name = "ping",
     .kind = MRPC_SETTING_SECONDS,
     .at = AT(http.websocket.ping)},
    {.name = "pong",
     .kind = MRPC_SETTING_SECONDS,
     .at = AT(http.websocket.pong)},
    {.name = "binary",
     .kind = MRPC_SETTING_FLAG,
     .at = AT(http.websocket.binary)},
    {.name = "protocols",
     .kind = MRPC_SETTING_LIST,
     .at = AT(http.websocket.protocols),
     .check = mrpc_check_protocol},
    {0},
};

static const mrpc_setting log_keys[] = {
    {.name = "level", .kind = MRPC_SETTING_LEVEL, .at = AT(log_level)},
    CHOICE("format", log_json, "text", "json"),
    {0},
};

static const mrpc_setting keys[] = {
    {.name = "methods", .kind = MRPC_SETTING_FILE_NAME, .at = AT(methods)},
    {.name = "listen",
     .kind = MRPC_SETTING_LIST,
     .at = AT(listen),
     .min = 1,
     .check = mrpc_check_url},
    CHOICE("mode", dev, "prod", "dev"),
    {.name = "watch", .kind = MRPC_SETTING_NOT_FLAG, .at = AT(no_watch)},
    {.name = "admin", .kind = MRPC_SETTING_FLAG, .at = AT(open_admin)},
    CHOICE("duplicate_ids", reject_duplicate_ids, "allow", "reject"),
    {.name = "drain", .kind = MRPC_SETTING_SECONDS, .at = AT(drain)},
    {.name = "limits", .kind = MRPC_SETTING_SECTION, .section = limits_keys},
    {.name = "errors", .kind = MRPC_SETTING_SECTION, .section = errors_keys},
    {.name = "http", .kind = MRPC_SETTING_SECTION, .section = http_keys},
    {.name = "websocket",
     .kind = MRPC_SETTING_SWITCH,
     .at = AT(http.websocket.off),
     .section = websocket_keys},
    {.name = "log", .kind = MRPC_SETTING_SECTION, .section = log_keys},
    {0},
};

/* The whole. */

/* What config->own points to: several files may be read over one another. */
typedef struct owned {
  mrpc_mem mem;
  mrpc_arena arena;
} owned;

static mrpc_mem mem_of(const mrpc_host_config *config) {
  return config->env ? config->env->mem : (mrpc_mem){mrpc_mem_default, NULL};
}

void mrpc_host_config_init(mrpc_host_config *config) {
  *config = (mrpc_host_config){.drain = 10};
  mrpc_limits_init(&config->limits);
}

void mrpc_host_config_clear(mrpc_host_config *config) {
  owned *own = config->own;
  if (!own) return;
  mrpc_mem mem = own->mem;
  mrpc_arena_clear(&own->arena);
  mrpc_mem_free(&mem, own, sizeof *own);
  config->own = NULL;
}

static owned *own_strings(mrpc_host_config *config) {
  if (config->own) return config->own;
  mrpc_mem mem = mem_of(config);
  owned *own = mrpc_mem_new(&mem, sizeof *own);
  if (!own) return NULL;
  own->mem = mem;
  mrpc_arena_init(&own->arena, &own->mem);
  config->own = own;
  return own;
}

static int read_json(mrpc_reading *r, const mrpc_buf *json) {
  int rc = mrpc_json_parse(&r->doc, json->data, json->len, MAX_DEPTH);
  return rc ? rc : mrpc_setting_read(r, 0, keys);
}

int mrpc_host_config_read(mrpc_host_config *config, const char *path,
                          char *error, size_t size) {
  owned *own = own_strings(config);
  if (!own) return MRPC_ENOMEM;
  mrpc_reading r = {.target = config,
                    .path = path,
                    .arena = &own->arena,
                    .error = error,
                    .size = size};
  mrpc_buf json;
  mrpc_buf_init(&json, &own->mem, MAX_BYTES);
  mrpc_doc_init(&r.doc, &own->mem);
  error[0] = '\0';
  int rc = mrpc_data_read(&own->mem, path, &json, error, size);
  if (!rc) rc = read_json(&r, &json);
  if (rc && !error[0]) snprintf(error, size, "%s: %s", path, mrpc_strerror(rc));
  mrpc_doc_clear(&r.doc);
  mrpc_buf_clear(&json);
  return rc == MRPC_ETYPE ? MRPC_EINVAL : rc;
}
