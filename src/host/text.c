/* SPDX-License-Identifier: MIT
 *
 * JSON text for programs that see moonrpc.h only. Rewriting works on tokens:
 * what isn't white space or structure is copied as it stands, so numbers keep
 * every digit. */
#include <string.h>

#include "base/buf.h"
#include "base/env.h"
#include "json/parse.h"
#include "json/write.h"

enum { MAX_DEPTH = 1000, INDENT = 2 };

bool mrpc_json_is_valid(mrpc_env *env, const char *text, size_t len) {
  mrpc_doc doc;
  mrpc_doc_init(&doc, &env->mem);
  int rc = mrpc_json_parse(&doc, text, len, MAX_DEPTH);
  mrpc_doc_clear(&doc);
  return rc == MRPC_OK;
}

/* The text takes its allocation's exact size along, as its length. */
static char *finish(mrpc_env *env, mrpc_buf *buf) {
  mrpc_buf_addc(buf, '\0');
  char *text =
      buf->err ? NULL : mrpc_mem_copy(&env->mem, buf->data, buf->len - 1);
  mrpc_buf_clear(buf);
  return text;
}

void mrpc_text_free(mrpc_env *env, char *text) {
  if (text) mrpc_mem_free(&env->mem, text, strlen(text) + 1);
}

char *mrpc_json_quote(mrpc_env *env, const char *text, size_t len) {
  mrpc_buf buf;
  mrpc_buf_init(&buf, &env->mem, SIZE_MAX);
  mrpc_json_write_text(&buf, text, len);
  return finish(env, &buf);
}

char *mrpc_json_unquote(mrpc_env *env, const char *text, size_t len) {
  mrpc_buf buf;
  mrpc_buf_init(&buf, &env->mem, SIZE_MAX);
  char *to = len >= 2 ? mrpc_buf_reserve(&buf, len) : NULL;
  if (to) buf.len = mrpc_json_unescape(text + 1, len - 2, to);
  return finish(env, &buf);
}

static size_t skip_space(const char *text, size_t len) {
  size_t i = 0;
  while (i < len && memchr(" \t\r\n", text[i], 4)) i++;
  return i;
}

/* A walk over the children of a document's root. */
typedef struct walk {
  mrpc_env *env;
  mrpc_doc doc;
  const char *at; /* behind the child before, or the opening bracket */
  mrpc_json_fn fn;
  void *ud;
} walk;

/* The text of a child. A container knows its end only; it begins with the
 * first bracket behind the child before. */
static const char *child_text(const walk *w, uint32_t i, size_t *len) {
  const mrpc_node *node = &w->doc.nodes[i];
  if (node->type < MRPC_JSON_ARRAY) return mrpc_doc_raw(&w->doc, i, len);
  const char *start = w->at, *end = w->doc.text + node->u.at.start;
  while (*start != '[' && *start != '{') start++;
  *len = (size_t)(end - start);
  return start;
}

static char *take_key(walk *w, uint32_t i) {
  size_t len;
  const char *raw = mrpc_doc_raw(&w->doc, i, &len);
  w->at = raw + len;
  return mrpc_json_unquote(w->env, raw, len);
}

static int tell(walk *w, uint32_t i, const char *key) {
  size_t len;
  const char *text = child_text(w, i, &len);
  w->at = text + len;
  return w->fn(key, text, len, w->ud);
}

static int tell_all(walk *w) {
  const mrpc_node *root = &w->doc.nodes[0];
  if (root->type < MRPC_JSON_ARRAY) return 0;
  int rc = 0;
  w->at = w->doc.text + skip_space(w->doc.text, w->doc.len) + 1;
  for (uint32_t i = 1; !rc && i < root->u.at.next;) {
    char *key = NULL;
    if (root->type == MRPC_JSON_OBJECT) {
      key = take_key(w, i++);
      if (!key) return MRPC_ENOMEM;
    }
    rc = tell(w, i, key);
    mrpc_text_free(w->env, key);
    i = mrpc_doc_next(&w->doc, i);
  }
  return rc;
}

int mrpc_json_each(mrpc_env *env, const char *text, size_t len, mrpc_json_fn fn,
                   void *ud) {
  walk w = {.env = env, .fn = fn, .ud = ud};
  mrpc_doc_init(&w.doc, &env->mem);
  int rc = mrpc_json_parse(&w.doc, text, len, MAX_DEPTH);
  rc = rc ? (rc == MRPC_ELIMIT ? MRPC_ESYNTAX : rc) : tell_all(&w);
  mrpc_doc_clear(&w.doc);
  return rc;
}

static size_t string_len(const char *text, size_t len) {
  size_t i = 1;
  while (i < len && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return i < len ? i + 1 : len;
}

static void break_line(mrpc_buf *buf, size_t depth) {
  mrpc_buf_addc(buf, '\n');
  for (size_t i = 0; i < depth * INDENT; i++) mrpc_buf_addc(buf, ' ');
}

/* Writes the token at `text` and tells its length. */
static size_t put_token(mrpc_buf *buf, const char *text, size_t len,
                        bool indent, size_t *depth) {
  char c = *text;
  if (c == '"') {
    size_t n = string_len(text, len);
    mrpc_buf_add(buf, text, n);
    return n;
  }
  if ((c == '}' || c == ']') && indent) break_line(buf, --*depth);
  mrpc_buf_addc(buf, c);
  if (!indent) return 1;
  if (c == ':') mrpc_buf_addc(buf, ' ');
  if (c == ',') break_line(buf, *depth);
  if (c != '{' && c != '[') return 1;
  size_t gap = skip_space(text + 1, len - 1);
  if (gap + 1 < len && (text[gap + 1] == '}' || text[gap + 1] == ']')) {
    mrpc_buf_addc(buf, text[gap + 1]); /* {} and [] stay on their line */
    return gap + 2;
  }
  break_line(buf, ++*depth);
  return 1;
}

char *mrpc_json_pretty(mrpc_env *env, const char *text, size_t len,
                       bool indent) {
  mrpc_buf buf;
  size_t depth = 0;
  mrpc_buf_init(&buf, &env->mem, SIZE_MAX);
  for (size_t i = skip_space(text, len); i < len && !buf.err;
       i += skip_space(text + i, len - i))
    i += put_token(&buf, text + i, len - i, indent, &depth);
  return finish(env, &buf);
}
