/* SPDX-License-Identifier: MIT */
#include "http/fields.h"

#include "http/scan.h"

static size_t count_lines(mrpc_text block) {
  mrpc_text line;
  size_t count = 0;
  while (mrpc_http_next_line(&block, &line)) count++;
  return count;
}

static char *copy(char *to, mrpc_text text) {
  if (text.len) memcpy(to, text.at, text.len);
  to[text.len] = '\0';
  return to + text.len + 1;
}

static char *copy_lower(char *to, mrpc_text text) {
  char *end = copy(to, text);
  for (; to < end; to++)
    if (*to >= 'A' && *to <= 'Z') *to = (char)(*to | 32);
  return end;
}

/* A line shrinks by colon, CR and LF and grows by two NULs. */
const mrpc_header_field *mrpc_http_fields_get(mrpc_http_fields *fields,
                                              const mrpc_mem *mem,
                                              mrpc_text block) {
  if (fields->block) return fields->block;
  size_t list = (count_lines(block) + 1) * sizeof(mrpc_header_field);
  fields->block = mrpc_mem_new(mem, list + block.len);
  if (!fields->block) return NULL;
  fields->size = list + block.len;
  mrpc_header_field *field = fields->block;
  char *to = (char *)fields->block + list;
  mrpc_text line;
  mrpc_http_next_line(&block, &line); /* the request line */
  for (; mrpc_http_next_line(&block, &line); field++) {
    mrpc_text name = mrpc_text_until(line, ':');
    field->name = to;
    to = copy_lower(to, name);
    field->value = to;
    to = copy(to, mrpc_text_trim(mrpc_text_skip(line, name.len + 1)));
  }
  return fields->block;
}

void mrpc_http_fields_clear(mrpc_http_fields *fields, const mrpc_mem *mem) {
  mrpc_mem_free(mem, fields->block, fields->size);
  *fields = (mrpc_http_fields){0};
}
