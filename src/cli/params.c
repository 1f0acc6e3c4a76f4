/* SPDX-License-Identifier: MIT
 *
 * Arguments become the params of a call: what is JSON is taken as JSON, the
 * rest as strings; NAME=ARG gives members of an object. */
#include "cli/params.h"

#include <stdlib.h>
#include <string.h>

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* The length of the name in name=value; 0 when it isn't one. */
static size_t name_len(const char *arg) {
  size_t len = 0;
  if ((arg[0] >= '0' && arg[0] <= '9') || arg[0] == '-') return 0;
  while (is_name_char(arg[len])) len++;
  return arg[len] == '=' ? len : 0;
}

static bool append(char **text, const char *more) {
  size_t len = *text ? strlen(*text) : 0;
  char *grown = realloc(*text, len + strlen(more) + 1);
  if (!grown) return false;
  memcpy(grown + len, more, strlen(more) + 1);
  *text = grown;
  return true;
}

static bool append_quoted(mrpc_env *env, char **text, const char *bytes,
                          size_t len) {
  char *quoted = mrpc_json_quote(env, bytes, len);
  bool good = quoted && append(text, quoted);
  mrpc_text_free(env, quoted);
  return good;
}

static bool append_arg(mrpc_env *env, char **text, const char *arg,
                       bool named) {
  size_t len = named ? name_len(arg) : 0;
  if (named && (!append_quoted(env, text, arg, len) || !append(text, ":")))
    return false;
  const char *value = named ? arg + len + 1 : arg;
  if (mrpc_json_is_valid(env, value, strlen(value))) return append(text, value);
  return append_quoted(env, text, value, strlen(value));
}

/* NULL: out of memory. */
static char *make_text(mrpc_env *env, int count, char **args, bool named) {
  char *text = NULL;
  bool good = append(&text, named ? "{" : "[");
  for (int i = 0; i < count && good; i++)
    good = (i == 0 || append(&text, ",")) &&
           append_arg(env, &text, args[i], named);
  if (good && append(&text, named ? "}" : "]")) return text;
  free(text);
  return NULL;
}

/* The first argument that has a name, or has none; `count` if none is so. */
static int find_arg(int count, char **args, bool named) {
  int at = 0;
  while (at < count && (name_len(args[at]) > 0) != named) at++;
  return at;
}

static int refuse_mixed(const command *self, const char *named,
                        const char *bare) {
  return cli_usage(self,
                   "all arguments have names or none has: %s does, %s doesn't; "
                   "the string is written '\"%s\"'",
                   named, bare, named);
}

int params_make(const command *self, mrpc_env *env, int count, char **args,
                char **out) {
  int named = find_arg(count, args, true);
  int bare = find_arg(count, args, false);
  *out = NULL;
  if (named < count && bare < count)
    return refuse_mixed(self, args[named], args[bare]);
  if (!count) return EXIT_DONE;
  *out = make_text(env, count, args, named < count);
  return *out ? EXIT_DONE : EXIT_FAULT;
}
