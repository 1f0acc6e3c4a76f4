/* SPDX-License-Identifier: MIT
 *
 * A handler's stack looks like this, from level 0 on: the message handler;
 * `error` or `assert`, when the script raised; the script's functions; the
 * host's C function at the bottom. The first two and the last aren't news, nor
 * what the host's own Lua files do for a script that calls them. A deep stack
 * is shown by both of its ends, a very deep one by its top.
 *
 * A tail call takes its caller's place (`return client:call(...)`). Where that
 * leaves nothing of the author's, the method that the task answers is shown, by
 * the line where it begins. */
#include "runtime/trace.h"

#include <lauxlib.h>
#include <string.h>

#include "runtime/methods.h"
#include "runtime/task.h"

enum { FIRST_LEVELS = 10, LAST_LEVELS = 11, DEEP = 5000 };

/* The first ":<digits>: " in the message ends the place. */
size_t mrpc_trace_place(const char *message, size_t *file_len, int *line) {
  for (const char *at = strchr(message, ':'); at; at = strchr(at + 1, ':')) {
    size_t digits = strspn(at + 1, "0123456789");
    const char *end = at + 1 + digits;
    if (digits == 0 || digits > 9 || end[0] != ':' || end[1] != ' ') continue;
    if (memchr(message, '\n', (size_t)(at - message))) return 0;
    *file_len = (size_t)(at - message);
    *line = 0;
    for (const char *d = at + 1; d < end; d++) *line = *line * 10 + (*d - '0');
    return (size_t)(end + 2 - message);
  }
  return 0;
}

bool mrpc_trace_is_own(const lua_Debug *ar) {
  return !strncmp(ar->source, "=rpc.", 5);
}

/* The method that the task answers, unless that is in C.
 * stack: [] -> [file] or [] */
static bool push_method(lua_State *L, int *line) {
  const mrpc_task *task = mrpc_runtime_of(L)->current;
  const mrpc_lua_method *method = task && task->call ? task->ud : NULL;
  if (!method || !method->line) return false;
  *line = method->line;
  lua_pushstring(L, method->owner->path);
  return true;
}

bool mrpc_trace_push_file(lua_State *L, int *line) {
  lua_Debug ar;
  for (int level = 1; level < FIRST_LEVELS; level++) {
    if (!lua_getstack(L, level, &ar)) return push_method(L, line);
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0 || mrpc_trace_is_own(&ar)) continue;
    *line = ar.currentline;
    lua_pushstring(L, ar.short_src);
    return true;
  }
  return false;
}

bool mrpc_trace_is_deep(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, DEEP, &ar);
}

/* The level of the bottom function, found by halving, or DEEP when it isn't
 * above that: reaching a level costs as many steps as it is deep. */
static int last_level(lua_State *L) {
  lua_Debug ar;
  int low = 1, high = DEEP;
  if (mrpc_trace_is_deep(L)) return DEEP;
  while (low < high) {
    int middle = (low + high) / 2;
    if (lua_getstack(L, middle, &ar))
      low = middle + 1;
    else
      high = middle;
  }
  return high - 1;
}

static bool is_raiser(const lua_Debug *ar) {
  return *ar->what == 'C' && ar->name &&
         (!strcmp(ar->name, "error") || !strcmp(ar->name, "assert"));
}

/* Where the author's part of the stack begins, and whether a tail call of his
 * stands before it. */
static int first_level(lua_State *L, bool *is_tail) {
  lua_Debug ar;
  int first = 1;
  *is_tail = false;
  for (int level = 1; level < FIRST_LEVELS; level++) {
    if (!lua_getstack(L, level, &ar)) break;
    lua_getinfo(L, "St", &ar);
    if (!mrpc_trace_is_own(&ar)) continue;
    first = level + 1;
    *is_tail = ar.istailcall;
  }
  return first;
}

/* stack: [] -> [line] */
static void push_line(lua_State *L, lua_Debug *ar) {
  if (ar->currentline > 0)
    lua_pushfstring(L, "%s:%d: in ", ar->short_src, ar->currentline);
  else
    lua_pushfstring(L, "%s: in ", ar->short_src);
  if (*ar->namewhat)
    lua_pushfstring(L, "%s '%s'\n", ar->namewhat, ar->name);
  else if (*ar->what == 'm')
    lua_pushliteral(L, "main chunk\n");
  else if (*ar->what == 'C')
    lua_pushliteral(L, "?\n");
  else
    lua_pushfstring(L, "function <%s:%d>\n", ar->short_src, ar->linedefined);
  lua_concat(L, 2);
}

/* Leaves out what stands between the first levels and the last, or the end.
 * stack: [] -> [line] */
static int push_gap(lua_State *L, int level, int last) {
  if (last == DEEP) {
    lua_pushliteral(L, "... (thousands of levels)\n");
    return last;
  }
  int to = last - LAST_LEVELS;
  lua_pushfstring(L, "... (%d levels)\n", to - level);
  return to - 1;
}

static void add_tail_call(luaL_Buffer *buffer) {
  luaL_addstring(buffer, "(...tail calls...)\n");
}

static void add_method(lua_State *L, luaL_Buffer *buffer) {
  int line;
  if (!push_method(L, &line)) return;
  const char *file = lua_tostring(L, -1);
  lua_pushfstring(L, "%s: in function <%s:%d>\n", file, file, line);
  lua_remove(L, -2);
  luaL_addvalue(buffer);
}

void mrpc_trace_push(lua_State *L) {
  lua_Debug ar;
  luaL_Buffer buffer;
  bool is_tail, is_lost = true;
  int first = first_level(L, &is_tail), last = last_level(L);
  luaL_checkstack(L, 10, NULL);
  luaL_buffinit(L, &buffer);
  if (is_tail) add_tail_call(&buffer);
  for (int level = first; level <= last && lua_getstack(L, level, &ar);
       level++) {
    if (level > FIRST_LEVELS && level < last - LAST_LEVELS) {
      level = push_gap(L, level, last);
      luaL_addvalue(&buffer);
      continue;
    }
    lua_getinfo(L, "Slnt", &ar);
    if (level == 1 && is_raiser(&ar)) continue;
    if (level == last && *ar.what == 'C') break;
    push_line(L, &ar);
    luaL_addvalue(&buffer);
    if (*ar.what != 'C') is_lost = false;
    if (ar.istailcall) add_tail_call(&buffer);
  }
  if (is_lost) add_method(L, &buffer);
  luaL_pushresult(&buffer);
}
