/* SPDX-License-Identifier: MIT
 *
 * A table is walked with raw accesses, so that no script code runs. It may
 * hold itself: a table that is being walked isn't entered again. One that is
 * reached by two ways gives two names, as its author wrote it. */
#include "runtime/methods.h"

#include <lauxlib.h>
#include <string.h>

#include "json/scan.h"
#include "runtime/file.h"
#include "runtime/text.h"

enum { MAX_NAME = 512, MAX_DEPTH = 16, MAX_METHODS = 10000 };

/* A table on the way from the file's value to where the walk is. */
typedef struct level {
  const struct level *up;
  const void *table;
  unsigned depth;
} level;

typedef struct walk {
  lua_State *L;
  mrpc_file *file;
  mrpc_faults *faults;
  char name[MAX_NAME];
} walk;

static void collect(walk *w, const level *up, size_t len);

int mrpc_methods_prefix(const char *path, char *out, size_t size,
                        size_t *out_len) {
  size_t len = strlen(path);
  if (len <= 4 || memcmp(path + len - 4, ".lua", 4)) return MRPC_EINVAL;
  len -= 4;
  bool is_init = len >= 4 && memcmp(path + len - 4, "init", 4) == 0 &&
                 (len == 4 || path[len - 5] == '/');
  if (is_init) len -= len == 4 ? 4 : 5;
  if (len >= size) return MRPC_ELIMIT;
  for (size_t i = 0; i < len; i++) out[i] = path[i] == '/' ? '.' : path[i];
  out[len] = '\0';
  *out_len = len;
  return MRPC_OK;
}

/* What parameters a function has, from the function itself. */
static int inspect(lua_State *L, lua_Debug *info) {
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">uS", info);
  return info->nparams;
}

static void describe(lua_State *L, mrpc_lua_method *method, int count,
                     const lua_Debug *info) {
  for (int i = 0; i < count; i++) {
    const char *name = lua_getlocal(L, NULL, i + 1);
    method->params[i] = name ? name : "?";
  }
  method->param_count = (uint16_t)count;
  method->is_vararg = info->isvararg;
  method->takes_params =
      count == 1 && !info->isvararg && strcmp(method->params[0], "params") == 0;
  method->line = info->linedefined > 0 ? info->linedefined : 0;
}

/* The struct is the file's before anything can throw. */
void mrpc_methods_add(lua_State *L, mrpc_file *file, const char *name,
                      size_t len) {
  lua_Debug info;
  int count = inspect(L, &info);
  size_t params = (size_t)count * sizeof(const char *);
  size_t size = sizeof(mrpc_lua_method) + params + len + 1;
  mrpc_lua_method *method = mrpc_mem_new(&file->runtime->env->mem, size);
  if (!method) {
    luaL_error(L, "not enough memory");
    return;
  }
  char *copy = (char *)method->params + params;
  memcpy(copy, name, len);
  method->base = (mrpc_method){copy, len, mrpc_lua_method_start, method};
  method->runtime = file->runtime;
  method->owner = file;
  method->size = size;
  method->function = LUA_NOREF;
  method->next = file->methods;
  file->methods = method;
  file->method_count++;
  describe(L, method, count, &info);
  method->function = luaL_ref(L, LUA_REGISTRYINDEX);
  if (count && !strcmp(method->params[0], "self"))
    mrpc_methods_doubt(file, method->line,
                       "the first parameter of a method is called self; write "
                       "it with a dot, M.name, not with a colon");
}

void mrpc_methods_doubt(const mrpc_file *file, int line, const char *why) {
  char at[512];
  mrpc_text place = mrpc_text_in(at, sizeof at);
  mrpc_text_add(&place, file->path);
  mrpc_text_add(&place, ":");
  mrpc_text_addu(&place, (uint64_t)line);
  mrpc_log(file->runtime->env, MRPC_LOG_WARN, "doubtful", "at", at, "why", why,
           NULL);
}

void mrpc_methods_release(mrpc_file *file) {
  for (mrpc_lua_method *at = file->methods; at; at = at->next) {
    luaL_unref(file->runtime->L, LUA_REGISTRYINDEX, at->function);
    at->function = LUA_NOREF;
  }
}

void mrpc_methods_free(mrpc_file *file) {
  while (file->methods) {
    mrpc_lua_method *method = file->methods;
    file->methods = method->next;
    mrpc_mem_free(&file->runtime->env->mem, method, method->size);
  }
}

static bool is_utf8(const char *text, size_t len) {
  const char *end = text + len;
  for (size_t step; text < end; text += step) {
    step = (unsigned char)*text < 0x80 ? 1 : mrpc_utf8_length(text, end);
    if (step == 0) return false;
  }
  return true;
}

const char *mrpc_methods_refuse(const mrpc_file *file, const char *name,
                                size_t len) {
  if (len == 0)
    return "init.lua of the top directory can't be a method: it has no name";
  if (len >= 4 && memcmp(name, "rpc.", 4) == 0)
    return "names that begin with 'rpc.' belong to the host";
  if (len >= MAX_NAME) return "a method's name is too long";
  if (!is_utf8(name, len)) return "a method's name isn't valid UTF-8";
  if (file->method_count >= MAX_METHODS) return "more than 10000 methods";
  return NULL;
}

/* stack: [function] -> [] */
static void add_function(walk *w, size_t len) {
  lua_Debug info;
  const char *why = mrpc_methods_refuse(w->file, w->name, len);
  if (!why) {
    mrpc_methods_add(w->L, w->file, w->name, len);
    return;
  }
  inspect(w->L, &info);
  int line = info.linedefined > 0 ? info.linedefined : 0;
  mrpc_faults_add(w->faults, w->file->path, line, "%s", why);
  lua_pop(w->L, 1);
}

static bool is_inside(const void *table, const level *up) {
  for (; up; up = up->up)
    if (up->table == table) return true;
  return false;
}

/* Puts the key behind the first `len` bytes of the name; 0 if it is too
 * long. */
static size_t extend(walk *w, size_t len, const char *key, size_t more) {
  if (more + 1 > sizeof w->name - len) return 0;
  if (len) w->name[len++] = '.';
  memcpy(w->name + len, key, more);
  return len + more;
}

/* Tables that share tables can name more functions than there is memory, so
 * the walk ends at the first method too many. */
static bool is_full(const walk *w) {
  return w->file->method_count >= MAX_METHODS && w->faults->count > 0;
}

/* Walks the value of one key. stack: [value] -> [] */
static void collect_entry(walk *w, const level *here, size_t len,
                          const char *key, size_t key_len) {
  size_t deeper = extend(w, len, key, key_len);
  if (deeper) {
    collect(w, here, deeper);
    return;
  }
  mrpc_faults_add(w->faults, w->file->path, 0, "a method's name is too long");
  lua_pop(w->L, 1);
}

/* stack: [table] -> [table] */
static void collect_entries(walk *w, const level *here, size_t len) {
  lua_State *L = w->L;
  int top = lua_gettop(L);
  luaL_checkstack(L, 8, "nested tables");
  lua_pushnil(L);
  while (!is_full(w) && lua_next(L, top)) {
    size_t key_len = 0;
    const char *key =
        lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &key_len) : NULL;
    if (key && key_len && key[0] != '_')
      collect_entry(w, here, len, key, key_len);
    else
      lua_pop(L, 1);
  }
  lua_settop(L, top);
}

/* stack: [table] -> [] */
static void collect_table(walk *w, const level *up, size_t len) {
  level here = {up, lua_topointer(w->L, -1), up ? up->depth + 1 : 0};
  if (here.depth >= MAX_DEPTH)
    mrpc_faults_add(w->faults, w->file->path, 0, "%.*s: nested too deep",
                    (int)len, w->name);
  else if (!is_inside(here.table, up))
    collect_entries(w, &here, len);
  lua_pop(w->L, 1);
}

/* stack: [value] -> [] */
static void collect(walk *w, const level *up, size_t len) {
  if (lua_isfunction(w->L, -1))
    add_function(w, len);
  else if (lua_istable(w->L, -1))
    collect_table(w, up, len);
  else
    lua_pop(w->L, 1);
}

void mrpc_methods_collect(lua_State *L, mrpc_file *file, mrpc_faults *faults) {
  walk w = {.L = L, .file = file, .faults = faults};
  size_t len = 0;
  if (!lua_istable(L, -1) && !lua_isfunction(L, -1)) {
    mrpc_faults_add(
        faults, file->path, file->end_line,
        "a file must return a table, a function or nothing, not a %s",
        luaL_typename(L, -1));
    lua_pop(L, 1);
    return;
  }
  if (mrpc_methods_prefix(file->path, w.name, sizeof w.name, &len) == MRPC_OK) {
    collect(&w, NULL, len);
    return;
  }
  mrpc_faults_add(faults, file->path, 0, "the path gives no name");
  lua_pop(L, 1);
}
