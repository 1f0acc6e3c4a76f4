/* SPDX-License-Identifier: MIT
 *
 * Plays dialogue files (tests/README.md) against the core: whole messages,
 * byte by byte, and all at once with the end of input behind. Prints TAP. */
#include <stdio.h>

#include "json/parse.h"
#include "talk.h"

/* One `-->` and the `<--` and `<==` lines behind it. */
typedef struct step {
  char *send;
  char **expect;
  size_t count;
  int line;
} step;

typedef struct dialogue {
  step *steps;
  size_t count;
  bool has_calls; /* the host speaks first: nothing can be said at once */
} dialogue;

static void fail(const char *path, const char *why, int line) {
  fprintf(stderr, "%s:%d: %s\n", path, line, why);
  exit(1);
}

/* Reading. */

static char *join(char *text, const char *more) {
  size_t old = text ? strlen(text) : 0, len = strlen(more);
  text = realloc(text, old + len + 2);
  if (old) text[old++] = ' ';
  memcpy(text + old, more, len + 1);
  return text;
}

static step *add_step(dialogue *d, int line) {
  d->steps = realloc(d->steps, (d->count + 1) * sizeof *d->steps);
  d->steps[d->count] = (step){.line = line};
  return &d->steps[d->count++];
}

static char **add_expect(step *s) {
  s->expect = realloc(s->expect, (s->count + 1) * sizeof *s->expect);
  s->expect[s->count] = NULL;
  return &s->expect[s->count++];
}

/* Where a line that begins with four spaces goes on. */
static char **read_line(dialogue *d, char **open, const char *text, int line,
                        const char *path) {
  step *last = d->count ? &d->steps[d->count - 1] : NULL;
  if (!strncmp(text, "    ", 4)) {
    if (!open) fail(path, "a line that goes on with nothing", line);
    *open = join(*open, text + 4);
    return open;
  }
  if (!*text || *text == '#') return NULL;
  if (!strncmp(text, "--> ", 4)) {
    open = &add_step(d, line)->send;
  } else if (!strncmp(text, "<-- ", 4) && last) {
    open = add_expect(last);
  } else if (!strncmp(text, "<== ", 4) && last) {
    if (!strstr(text, "\"method\"")) fail(path, "what isn't a call", line);
    open = add_expect(last);
    d->has_calls = true;
  } else {
    fail(path, "neither an arrow nor prose", line);
  }
  *open = join(NULL, text + 4);
  return open;
}

static dialogue read_dialogue(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path, "can't be opened", 0);
  dialogue d = {0};
  char *text = NULL, **open = NULL;
  size_t size = 0;
  ssize_t len;
  for (int line = 1; (len = getline(&text, &size, file)) >= 0; line++) {
    if (len && text[len - 1] == '\n') text[len - 1] = '\0';
    open = read_line(&d, open, text, line, path);
  }
  free(text);
  fclose(file);
  return d;
}

static void free_dialogue(dialogue *d) {
  for (size_t i = 0; i < d->count; i++) {
    for (size_t k = 0; k < d->steps[i].count; k++) free(d->steps[i].expect[k]);
    free(d->steps[i].expect);
    free(d->steps[i].send);
  }
  free(d->steps);
}

/* Comparing. */

static bool same(const mrpc_doc *a, uint32_t i, const mrpc_doc *b, uint32_t k);

static bool same_scalar(const mrpc_doc *a, uint32_t i, const mrpc_doc *b,
                        uint32_t k) {
  size_t alen, blen;
  const char *left = mrpc_doc_raw(a, i, &alen);
  const char *right = mrpc_doc_raw(b, k, &blen);
  return alen == blen && !memcmp(left, right, alen);
}

static bool same_array(const mrpc_doc *a, uint32_t i, const mrpc_doc *b,
                       uint32_t k) {
  uint32_t left = a->nodes[i++].size;
  k++;
  for (; left; left--) {
    if (!same(a, i, b, k)) return false;
    i = mrpc_doc_next(a, i);
    k = mrpc_doc_next(b, k);
  }
  return true;
}

/* Each member of `a` must be one of `b`; there are as many of them. */
static bool same_object(const mrpc_doc *a, uint32_t i, const mrpc_doc *b,
                        uint32_t k) {
  uint32_t at = i + 1;
  for (uint32_t left = a->nodes[i].size; left; left--) {
    uint32_t other = k + 1, tries = b->nodes[k].size;
    while (tries && !same_scalar(a, at, b, other)) {
      other = mrpc_doc_next(b, other + 1);
      tries--;
    }
    if (!tries || !same(a, at + 1, b, other + 1)) return false;
    at = mrpc_doc_next(a, at + 1);
  }
  return true;
}

static bool same(const mrpc_doc *a, uint32_t i, const mrpc_doc *b, uint32_t k) {
  const mrpc_node *left = &a->nodes[i], *right = &b->nodes[k];
  if (left->type != right->type) return false;
  if (left->type < MRPC_JSON_ARRAY) return same_scalar(a, i, b, k);
  if (left->size != right->size) return false;
  return left->type == MRPC_JSON_ARRAY ? same_array(a, i, b, k)
                                       : same_object(a, i, b, k);
}

static bool same_text(const char *a, const char *b) {
  const mrpc_mem mem = {mrpc_mem_default, NULL};
  mrpc_doc left, right;
  mrpc_doc_init(&left, &mem);
  mrpc_doc_init(&right, &mem);
  bool is_same = !mrpc_json_parse(&left, a, strlen(a), 1000) &&
                 !mrpc_json_parse(&right, b, strlen(b), 1000) &&
                 same(&left, 0, &right, 0);
  mrpc_doc_clear(&left);
  mrpc_doc_clear(&right);
  return is_same;
}

/* Takes the expected answer that `got` is out of the list. */
static bool strike(char **expect, size_t count, const char *got) {
  for (size_t i = 0; i < count; i++) {
    if (!expect[i] || !same_text(expect[i], got)) continue;
    expect[i] = NULL;
    return true;
  }
  return false;
}

/* Are the lines of output the expected answers, in any order? */
static bool compare(char **expect, size_t count, char *output) {
  char **left = malloc((count + 1) * sizeof *left);
  if (count) memcpy(left, expect, count * sizeof *left);
  bool fits = true;
  for (char *line = output, *end; (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    if (strike(left, count, line)) continue;
    printf("# got  %s\n", line);
    fits = false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!left[i]) continue;
    printf("# want %s\n", left[i]);
    fits = false;
  }
  free(left);
  return fits;
}

/* Playing. */

static bool play_steps(talk *t, const dialogue *d, size_t size) {
  bool fits = true;
  for (size_t i = 0; i < d->count; i++) {
    const step *s = &d->steps[i];
    size_t len = strlen(s->send);
    for (size_t at = 0; at < len; at += size)
      mrpc_peer_recv(t->peer, s->send + at, len - at < size ? len - at : size);
    talk_say(t, "\n");
    char *got = strdup(talk_take(t));
    if (!compare(s->expect, s->count, got)) {
      printf("# in answer to line %d: %s\n", s->line, s->send);
      fits = false;
    }
    free(got);
  }
  return fits;
}

static bool play_at_once(talk *t, const dialogue *d) {
  char *all = NULL, **expect = NULL;
  size_t len = 0, count = 0;
  for (size_t i = 0; i < d->count; i++) {
    const step *s = &d->steps[i];
    size_t more = strlen(s->send);
    all = realloc(all, len + more + 1);
    memcpy(all + len, s->send, more);
    len += more;
    all[len++] = '\n';
    expect = realloc(expect, (count + s->count + 1) * sizeof *expect);
    for (size_t k = 0; k < s->count; k++) expect[count++] = s->expect[k];
  }
  mrpc_peer_recv(t->peer, all, len);
  mrpc_peer_eof(t->peer);
  talk_run(t);
  char *got = strdup(talk_take(t));
  bool fits = compare(expect, count, got) && mrpc_peer_is_done(t->peer);
  free(got);
  free(expect);
  free(all);
  return fits;
}

static void play(const char *path, const char *way, const dialogue *d,
                 size_t size) {
  talk t = {0};
  talk_begin(&t);
  bool fits = size ? play_steps(&t, d, size) : play_at_once(&t, d);
  ok(fits, "%s, %s", path, way);
  ok(talk_end(&t), "%s, %s: all memory came back", path, way);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    dialogue d = read_dialogue(argv[i]);
    if (d.count == 0) fail(argv[i], "nothing is said", 0);
    play(argv[i], "message by message", &d, SIZE_MAX);
    play(argv[i], "byte by byte", &d, 1);
    if (!d.has_calls) play(argv[i], "all at once", &d, 0);
    free_dialogue(&d);
  }
  return tap_finish();
}
