/* SPDX-License-Identifier: MIT
 *
 * A chunk is named by its path below the directory, so that what Lua says of a
 * place ("user/admin.lua:12:") is what a report says too. A file has a task of
 * its own even when another requires it: what it makes meanwhile is its own,
 * and who requires it waits like anybody else. */
#include "runtime/chunk.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/loader.h"
#include "runtime/protect.h"
#include "runtime/require.h"
#include "runtime/task.h"

enum { NAME_MAX_BYTES = 512 };

static void on_end(mrpc_task *task, lua_State *co, int status);
static void settle(mrpc_file *file, bool is_ready, uint64_t run_ns);

/* Faults. */

static mrpc_faults *faults_of(const mrpc_file *file) {
  return &file->loader->faults[file->loader->noting];
}

/* Is `name` how Lua shortens the path? It keeps the end of long ones. */
static bool is_short_form(const char *name, const char *path, size_t len) {
  if (strncmp(name, "...", 3)) return strcmp(name, path) == 0;
  size_t tail = strlen(name + 3);
  return tail <= len && strcmp(name + 3, path + len - tail) == 0;
}

/* The path of the file that a chunk's name means, NULL if none of ours. */
static const char *find_path(const mrpc_file *file, const char *name) {
  if (is_short_form(name, file->path, file->len)) return file->path;
  const mrpc_tree_node *node = NULL;
  while ((node = mrpc_tree_next(&file->loader->tree, node)))
    if (is_short_form(name, node->path, node->len)) return node->path;
  return NULL;
}

static int parse_line(const char *digits) {
  int line = 0;
  for (; *digits >= '0' && *digits <= '9' && line < 100000000; digits++)
    line = line * 10 + (*digits - '0');
  return line;
}

/* The line of the file's own in a traceback, 0 when it has none. Other paths
 * may end as this one does. */
static int find_line(const mrpc_file *file, const char *traceback) {
  for (const char *at = traceback; (at = strstr(at, file->path));) {
    bool is_whole = at == traceback || strchr(" \t\n", at[-1]);
    at += file->len;
    if (is_whole && *at == ':' && parse_line(at + 1)) return parse_line(at + 1);
  }
  return 0;
}

/* The place of an error that isn't in a file of ours is said in its text; the
 * fault's own is where our file got there. */
static void note_foreign(mrpc_file *file, const mrpc_failure *failure) {
  mrpc_faults *faults = faults_of(file);
  int line = find_line(file, failure->traceback);
  if (failure->line > 0)
    mrpc_faults_add(faults, file->path, line, "%s:%d: %s", failure->file,
                    failure->line, failure->message);
  else
    mrpc_faults_add(faults, file->path, line, "%s", failure->message);
}

static void note_failure(mrpc_file *file, const mrpc_failure *failure) {
  mrpc_faults *faults = faults_of(file);
  const char *path = failure->file[0] ? find_path(file, failure->file) : NULL;
  if (!path)
    note_foreign(file, failure);
  else if (path == file->path)
    mrpc_faults_add(faults, path, failure->line, "%s", failure->message);
  else
    mrpc_faults_add(faults, path, failure->line, "%s (while %s was loaded)",
                    failure->message, file->path);
}

/* Gives what went wrong to the load, or to the calls that wait for the file:
 * its value becomes the message. May throw. stack: [error value] -> [] */
static void take_error(lua_State *L, mrpc_file *file) {
  mrpc_failure failure;
  mrpc_error_object object;
  bool is_traced = mrpc_foreign_get(L, -1, &failure);
  if (!is_traced) mrpc_failure_get(L, -1, &failure);
  if (!is_traced && mrpc_error_object_get(L, -1, &object)) {
    failure.message = object.message;
    lua_pop(L, 1);
  }
  if (!file->epoch && !file->is_blocked) note_failure(file, &failure);
  if (failure.file[0])
    lua_pushfstring(L, "%s:%d: %s", failure.file, failure.line,
                    failure.message);
  else
    lua_pushfstring(L, "%s: %s", file->path, failure.message);
  file->value = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pop(L, 1);
}

/* Compiling. */

typedef struct start {
  mrpc_file *file;
  mrpc_task *task;
  const char *text;
  size_t len;
  bool is_compiled;
} start;

/* A file may begin with a byte order mark and a line that starts with "#". The
 * end of that line stays, so that lines are counted right. */
static void skip_preamble(start *s) {
  if (s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0) {
    s->text += 3;
    s->len -= 3;
  }
  if (s->len == 0 || s->text[0] != '#') return;
  const char *end = memchr(s->text, '\n', s->len);
  size_t skip = end ? (size_t)(end - s->text) : s->len;
  s->text += skip;
  s->len -= skip;
}

/* The line on which the text ends, blanks aside. */
static int find_end(const start *s) {
  size_t len = s->len;
  int line = 1;
  while (len && strchr(" \t\r\n", s->text[len - 1])) len--;
  for (size_t i = 0; i < len; i++) line += s->text[i] == '\n';
  return line;
}

/* The file's environment: what isn't in it is looked up among the globals;
 * what the file sets stays in it. stack: [] -> [environment] */
static void push_environment(lua_State *L) {
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "_G");
  lua_createtable(L, 0, 1);
  lua_pushglobaltable(L);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* Text only: bytecode can be made to crash the host. Without a task the
 * function is dropped.
 * stack: [start] -> [start], and the task's gets [function name path] */
static int compile(lua_State *L) {
  start *s = lua_touserdata(L, 1);
  char name[NAME_MAX_BYTES];
  size_t len = 0;
  skip_preamble(s);
  s->file->end_line = find_end(s);
  lua_pushfstring(L, "@%s", s->file->path);
  if (luaL_loadbufferx(L, s->text, s->len, lua_tostring(L, -1), "t")) {
    mrpc_failure_push(L);
    take_error(L, s->file);
    return 0;
  }
  if (!s->task) return 0;
  push_environment(L);
  if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
  if (mrpc_methods_prefix(s->file->path, name, sizeof name, &len)) len = 0;
  lua_pushlstring(L, name, len);
  lua_pushstring(L, s->file->path);
  lua_xmove(L, s->task->co, 3);
  s->is_compiled = true;
  return 0;
}

/* Running. */

/* The text that is compiled is what the file's hash stands for, even if it
 * changed since the plan was made. */
static int read_text(mrpc_file *file) {
  mrpc_tree_node *node = file->node;
  int rc = MRPC_OK;
  if (!node->text.data) rc = mrpc_tree_read(&file->loader->tree, node);
  file->hash = node->hash;
  if (rc || !node->fault) return rc;
  if (!file->epoch)
    mrpc_faults_add(faults_of(file), file->path, 0, "%s", node->fault);
  return MRPC_EIO;
}

static int make_task(mrpc_file *file, mrpc_task **out) {
  mrpc_tree_node *node = file->node;
  int rc = mrpc_task_new(file->runtime, file, on_end, file, out);
  if (rc) return rc;
  start s = {file, *out, node->text.data, node->text.len, false};
  rc = mrpc_protect(file->runtime, compile, &s);
  mrpc_tree_drop_text(node);
  if (rc == MRPC_OK && s.is_compiled) return MRPC_OK;
  mrpc_task_discard(*out);
  return rc ? rc : MRPC_ESYNTAX;
}

/* EIO and ESYNTAX have their faults noted already. */
static int prepare(mrpc_file *file, mrpc_task **out) {
  int rc = read_text(file);
  if (!rc) rc = make_task(file, out);
  if (rc && rc != MRPC_EIO && rc != MRPC_ESYNTAX && !file->epoch)
    mrpc_faults_add(faults_of(file), file->path, 0, "%s", mrpc_strerror(rc));
  return rc;
}

void mrpc_chunk_start(mrpc_file *file, bool later) {
  mrpc_task *task;
  file->state = MRPC_FILE_LOADING;
  if (prepare(file, &task)) {
    settle(file, false, 0);
    return;
  }
  file->task = task;
  task->sliced = true;
  task->limit_ns = mrpc_load_run_left(file);
  if (later)
    mrpc_task_start_later(task, 2);
  else
    mrpc_task_start(task, 2);
}

void mrpc_chunk_check(mrpc_file *file) {
  mrpc_tree_node *node = file->node;
  int rc = read_text(file);
  start s = {file, NULL, node->text.data, node->text.len, false};
  if (!rc) rc = mrpc_protect(file->runtime, compile, &s);
  mrpc_tree_drop_text(node);
  if (rc && rc != MRPC_EIO)
    mrpc_faults_add(faults_of(file), file->path, 0, "%s", mrpc_strerror(rc));
}

/* The file's value is `true` when it returns nothing, as with Lua's own
 * require. stack: [] -> [value] */
static void push_value(lua_State *L, lua_State *co) {
  if (lua_gettop(co) == 0 || lua_isnil(co, 1)) {
    lua_pushboolean(L, true);
    return;
  }
  lua_settop(co, 1);
  lua_xmove(co, L, 1);
}

/* A file may have other uses, so that this is no fault.
 * stack: [value] -> [value] */
static void doubt(lua_State *L, const mrpc_file *file, bool is_empty) {
  if (file->method_count || !mrpc_list_is_empty(&file->owned)) return;
  if (is_empty)
    mrpc_methods_doubt(file, file->end_line,
                       "it defines no methods; is a return missing here?");
  else if (lua_istable(L, -1))
    mrpc_methods_doubt(file, file->end_line,
                       "the table that it returns has no methods, which are "
                       "functions under names");
}

/* A file that a call requires has no methods: those come by a load only.
 * stack: [file] -> [] */
static int take_value(lua_State *L) {
  mrpc_file *file = lua_touserdata(L, 1);
  bool is_empty = lua_isnoneornil(file->task->co, 1);
  push_value(L, file->task->co);
  if (!file->node->is_private && !file->epoch) {
    const mrpc_faults *faults = faults_of(file);
    size_t before = faults->count;
    lua_pushvalue(L, -1);
    if (is_empty)
      lua_pop(L, 1);
    else
      mrpc_methods_collect(L, file, faults_of(file));
    if (faults->count == before) doubt(L, file, is_empty);
  }
  file->value = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

/* stack: [file] -> [] */
static int take_task_error(lua_State *L) {
  mrpc_file *file = lua_touserdata(L, 1);
  lua_xmove(file->task->co, L, 1);
  take_error(L, file);
  return 0;
}

static void say_run(const mrpc_file *file, char *text, size_t size) {
  double ms = file->runtime->limits.load * 1e3;
  snprintf(text, size, "the load ran longer than %.0f ms", ms);
}

/* The limit that struck is what the load had left; the author wants to know
 * the whole. The kill names its place: "math.lua:3: ran longer than 7 ms". */
static void note_kill(mrpc_file *file, const mrpc_task *task) {
  mrpc_failure failure = {.message = task->kill_why, .traceback = ""};
  char name[sizeof task->kill_why], message[80];
  const char *colon = strchr(task->kill_why, ':');
  if (task->kill_code == MRPC_SCRIPT_LIMIT) {
    say_run(file, message, sizeof message);
    failure.message = message;
  }
  if (colon && colon[1] >= '1' && colon[1] <= '9') {
    size_t len = (size_t)(colon - task->kill_why);
    memcpy(name, task->kill_why, len);
    name[len] = '\0';
    failure.file = name;
    failure.line = parse_line(colon + 1);
  } else {
    failure.file = "";
  }
  note_failure(file, &failure);
}

/* stack: unchanged */
static int take_end(mrpc_file *file, const mrpc_task *task, int status) {
  if (status == LUA_OK) return mrpc_protect(file->runtime, take_value, file);
  if (!task->killed) return mrpc_protect(file->runtime, take_task_error, file);
  if (!file->epoch) note_kill(file, task);
  return MRPC_OK;
}

static void on_end(mrpc_task *task, lua_State *co, int status) {
  mrpc_file *file = task->ud;
  bool is_wanted = file->state == MRPC_FILE_LOADING;
  (void)co;
  int rc = is_wanted ? take_end(file, task, status) : MRPC_OK;
  if (rc && !file->epoch)
    mrpc_faults_add(faults_of(file), file->path, 0, "%s", mrpc_strerror(rc));
  file->task = NULL;
  if (is_wanted) settle(file, status == LUA_OK && !rc, task->run_ns);
}

static void settle(mrpc_file *file, bool is_ready, uint64_t run_ns) {
  file->state = is_ready ? MRPC_FILE_READY : MRPC_FILE_FAILED;
  file->waits_for = NULL;
  mrpc_require_ended(file);
  mrpc_load_ended(file->loader, file, run_ns);
}

void mrpc_chunk_stop(mrpc_file *file, const char *why) {
  file->state = MRPC_FILE_FAILED;
  if (file->task) mrpc_task_kill(file->task, MRPC_SCRIPT_LIMIT, why);
  mrpc_require_ended(file);
}

/* The first line of the file's own on the stack of what stands still. */
static int find_waiting_line(const mrpc_file *file) {
  lua_State *L = mrpc_task_values(file->task);
  lua_Debug ar;
  for (int level = 0; L && lua_getstack(L, level, &ar); level++)
    if (lua_getinfo(L, "Sl", &ar) && ar.currentline > 0 &&
        is_short_form(ar.short_src, file->path, file->len))
      return ar.currentline;
  return 0;
}

void mrpc_chunk_note_wait(mrpc_file *file) {
  if (file->waits_for) return;
  mrpc_faults_add(faults_of(file), file->path, find_waiting_line(file),
                  "still loading when the time for it was over");
}

void mrpc_chunk_note_run(mrpc_file *file) {
  char message[80];
  say_run(file, message, sizeof message);
  mrpc_faults_add(faults_of(file), file->path, find_waiting_line(file), "%s",
                  message);
}
