/* SPDX-License-Identifier: MIT
 *
 * A queue exists while somebody is in it. The first task in it runs, the others
 * are parked where their functions would begin; who leaves wakes the next. A
 * peer that ends cancels its calls, and so empties its queues, but for the
 * notifications that HTTP has answered: those still have their turns. */
#include "runtime/serial.h"

#include <lauxlib.h>

#include "rpc/peer.h"
#include "runtime/api.h"
#include "runtime/error.h"

static const char groups_key; /* in the registry: its address counts */

typedef struct place {
  uint64_t peer; /* its id */
  uint64_t group;
} place;

struct mrpc_queue {
  place key;
  mrpc_link tasks; /* in the order of their calls */
};

void mrpc_serial_init(mrpc_runtime *rt) {
  mrpc_map_init(&rt->queues, &rt->env->mem, rt->env->seed);
}

void mrpc_serial_free(mrpc_runtime *rt) {
  mrpc_map_clear(&rt->queues);
}

/* Queues. */

static mrpc_queue *make_queue(mrpc_runtime *rt, place key) {
  mrpc_queue *q = mrpc_mem_new(&rt->env->mem, sizeof *q);
  if (!q) return NULL;
  q->key = key;
  mrpc_list_init(&q->tasks);
  if (mrpc_map_set(&rt->queues, (const char *)&q->key, sizeof q->key, q) == 0)
    return q;
  mrpc_mem_free(&rt->env->mem, q, sizeof *q);
  return NULL;
}

static void free_queue(mrpc_runtime *rt, mrpc_queue *q) {
  mrpc_map_remove(&rt->queues, (const char *)&q->key, sizeof q->key);
  mrpc_mem_free(&rt->env->mem, q, sizeof *q);
}

int mrpc_serial_enter(mrpc_task *task, mrpc_peer *peer, uint32_t group) {
  mrpc_runtime *rt = task->runtime;
  place key = {mrpc_peer_id(peer), group};
  mrpc_queue *q = mrpc_map_get(&rt->queues, (const char *)&key, sizeof key);
  if (!q) q = make_queue(rt, key);
  if (!q) return MRPC_ENOMEM;
  task->queue = q;
  mrpc_list_insert(&q->tasks, &task->in_queue);
  return MRPC_OK;
}

bool mrpc_serial_must_wait(const mrpc_task *task) {
  return task->queue && task->queue->tasks.next != &task->in_queue;
}

/* One that was cancelled when its turn had come doesn't begin either. */
static int go_on(lua_State *L, int status, lua_KContext k) {
  if (mrpc_runtime_of(L)->current->cancelled)
    return mrpc_error_raise_cancelled(L);
  return ((lua_KFunction)k)(L, status, 0);
}

int mrpc_serial_wait(lua_State *L, lua_KFunction k) {
  return mrpc_task_park(L, NULL, NULL, go_on, (lua_KContext)k);
}

void mrpc_serial_leave(mrpc_task *task) {
  mrpc_queue *q = task->queue;
  if (!q) return;
  bool is_first = q->tasks.next == &task->in_queue;
  task->queue = NULL;
  mrpc_list_remove(&task->in_queue);
  if (mrpc_list_is_empty(&q->tasks))
    free_queue(task->runtime, q);
  else if (is_first)
    mrpc_task_wake_later(mrpc_list_of(q->tasks.next, mrpc_task, in_queue), 0);
}

/* What scripts see. */

/* The number of the group whose name is on top. stack: [name] -> [] */
static uint32_t find_group(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &groups_key);
  lua_pushvalue(L, -2);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1) + 1);
    lua_pushvalue(L, -3);
    lua_rawseti(L, -3, lua_tointeger(L, -2));
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  uint32_t group = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 3);
  return group;
}

/* rpc.serial(name), while a file loads. Files without a name are told apart by
 * their paths, so that a file that is loaded again keeps its queues.
 * stack: [name?] -> [] */
static int serial(lua_State *L) {
  const mrpc_task *by = mrpc_runtime_of(L)->current;
  const char *name = luaL_optstring(L, 1, NULL);
  if (!by || !mrpc_file_is_loading(by->owner))
    return luaL_error(L,
                      "rpc.serial is for the top level of a file: call it "
                      "while the file is loaded");
  lua_settop(L, 0);
  if (name)
    lua_pushfstring(L, "name %s", name);
  else
    lua_pushfstring(L, "file %s", mrpc_file_path(by->owner));
  by->owner->group = find_group(L);
  return 0;
}

void mrpc_serial_open(lua_State *L) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &groups_key);
  lua_pushcfunction(L, serial);
  lua_setfield(L, -2, "serial");
}
