/* SPDX-License-Identifier: MIT
 *
 * Lua values to JSON, behind what stands in the buffer. Only raw access is
 * used, so no script code runs and nothing throws. A table whose first key is
 * a number is an array, if it has as many keys as its length says and none of
 * these is missing; one whose first key is a string is an object. */
#include <string.h>

#include "json/write.h"
#include "runtime/convert.h"
#include "runtime/names.h"
#include "runtime/text.h"

/* Of a path that is too long, so many bytes of its start and end stay. */
enum { STACK_LEVELS = 8 }; /* levels for which stack is reserved at once */
enum { PATH_BYTES = 160, PATH_START = 64, PATH_END = 24 };

typedef struct encoder {
  lua_State *L;
  mrpc_buf *buf;
  const mrpc_runtime *runtime;
  uint32_t depth; /* containers that may still open */
  const char *why;
  char path[PATH_BYTES]; /* of the fault, filled from its end */
  size_t path_at;
} encoder;

enum { KIND_PLAIN, KIND_ARRAY, KIND_OBJECT };

static int write_table(encoder *e);
static int write_other(encoder *e, int type);

/* Faults. */

static int refuse(encoder *e, const char *why) {
  e->why = why;
  return MRPC_ETYPE;
}

/* Makes room in the path of a deep fault: its ends stay, its middle goes. */
static void shorten(encoder *e) {
  static const char gap[] = {'.', '.', '.'};
  char *middle = e->path + sizeof e->path - PATH_END;
  memcpy(middle - sizeof gap, gap, sizeof gap);
  memmove(middle - sizeof gap - PATH_START, e->path + e->path_at, PATH_START);
  e->path_at = sizeof e->path - PATH_END - sizeof gap - PATH_START;
}

/* Puts a part before the path. */
static void put_before(encoder *e, const char *part, size_t len) {
  if (len > PATH_START) len = PATH_START;
  if (len > e->path_at) shorten(e);
  e->path_at -= len;
  memcpy(e->path + e->path_at, part, len);
}

static void put_index(encoder *e, uint64_t n) {
  char digits[24];
  size_t at = sizeof digits;
  digits[--at] = ']';
  do digits[--at] = (char)('0' + n % 10);
  while (n /= 10);
  digits[--at] = '[';
  put_before(e, digits + at, sizeof digits - at);
}

static void put_key(encoder *e, const char *key, size_t len) {
  put_before(e, key, len);
  put_before(e, ".", 1);
}

/* Scalars. */

static int write_string(encoder *e) {
  size_t len;
  const char *text = lua_tolstring(e->L, -1, &len);
  int rc = mrpc_json_write_string(e->buf, text, len);
  return rc == MRPC_ETYPE ? refuse(e, "not valid UTF-8") : rc;
}

/* Whole numbers that an integer and a float write alike come first. In line:
 * calls of small functions are what most of the time goes to. */
MRPC_INLINE int write_number(encoder *e) {
  const lua_Integer exact = (lua_Integer)1 << 53;
  int is_whole;
  lua_Integer i = lua_tointegerx(e->L, -1, &is_whole);
  if (is_whole && ((i > 0 && i <= exact) || lua_isinteger(e->L, -1)))
    return mrpc_json_write_int(e->buf, i);
  int rc = mrpc_json_write_double(e->buf, lua_tonumber(e->L, -1));
  return rc == MRPC_ETYPE ? refuse(e, "not a finite number") : rc;
}

/* Most values are one of these. */
static inline int write_value(encoder *e, int type) {
  switch (type) {
    case LUA_TTABLE: return write_table(e);
    case LUA_TSTRING: return write_string(e);
    case LUA_TNUMBER: return write_number(e);
    default: return write_other(e, type);
  }
}

/* Arrays. */

/* Says what is wrong with the keys of the table on top, whatever the order in
 * which they are met. */
static int refuse_keys(encoder *e, const char *otherwise) {
  lua_State *L = e->L;
  bool strings = false, others = false;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING)
      strings = true;
    else
      others = true;
  }
  return refuse(
      e, strings && others ? "a table with string keys and others" : otherwise);
}

/* An array of which a part stands in the hash of its table: its keys come in
 * no order, so they are counted first. stack: [] -> [] */
static int write_scattered(encoder *e) {
  static const char gaps[] = "an array with gaps or odd keys";
  lua_State *L = e->L;
  lua_Unsigned count = 0, n = lua_rawlen(L, -1);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) count++;
  if (n != count) return refuse_keys(e, gaps);
  for (lua_Unsigned i = 1; i <= n; i++) {
    mrpc_buf_addc(e->buf, i > 1 ? ',' : '[');
    int type = lua_rawgeti(L, -1, (lua_Integer)i);
    int rc = type == LUA_TNIL ? MRPC_EINVAL : write_value(e, type);
    lua_pop(L, 1);
    if (rc == MRPC_EINVAL) return refuse_keys(e, gaps);
    if (rc == MRPC_ETYPE) put_index(e, i);
    if (rc) return rc;
  }
  mrpc_buf_addc(e->buf, ']');
  return e->buf->err;
}

/* Most arrays are walked in order, once. The first key and its value are on
 * the stack. stack: [key value] -> [] */
static int write_array(encoder *e) {
  lua_State *L = e->L;
  size_t mark = e->buf->len;
  lua_Integer i = 1;
  do {
    if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) != i) {
      lua_pop(L, 2);
      mrpc_buf_truncate(e->buf, mark);
      return write_scattered(e);
    }
    mrpc_buf_addc(e->buf, i > 1 ? ',' : '[');
    int rc = write_value(e, lua_type(L, -1));
    lua_pop(L, 1);
    if (rc == MRPC_ETYPE) put_index(e, (uint64_t)i);
    if (rc) {
      lua_pop(L, 1);
      return rc;
    }
    i++;
  } while (lua_next(L, -2));
  mrpc_buf_addc(e->buf, ']');
  return e->buf->err;
}

/* Objects. */

/* Writes a name that isn't kept. MRPC_EINVAL: the key is no string. What this
 * needs is kept out of the loop over the members. */
__attribute__((noinline)) static int write_name(encoder *e, char before,
                                                const void *address) {
  if (lua_type(e->L, -2) != LUA_TSTRING) return MRPC_EINVAL;
  size_t len;
  const char *key = lua_tolstring(e->L, -2, &len);
  int rc = mrpc_names_add(e->runtime->names, e->buf, before, address, key, len);
  return rc == MRPC_ETYPE ? refuse(e, "a key that isn't valid UTF-8") : rc;
}

/* The member on the stack couldn't be written. If it was its value that failed
 * the key goes into the path. stack: [key value] -> [] */
MRPC_COLD static int fail_member(encoder *e, int rc, bool is_value) {
  lua_State *L = e->L;
  if (rc == MRPC_ETYPE && is_value) {
    size_t len;
    const char *key = lua_tolstring(L, -2, &len);
    put_key(e, key, len);
  }
  lua_pop(L, 2);
  return rc == MRPC_EINVAL ? refuse_keys(e, "a key that is no string") : rc;
}

/* The first key and its value are on the stack. stack: [key value] -> [] */
static int write_object(encoder *e) {
  lua_State *L = e->L;
  mrpc_names *names = e->runtime->names;
  char before = '{';
  do {
    const void *key = lua_topointer(L, -2);
    if (MRPC_UNLIKELY(!mrpc_names_write(names, e->buf, before, key))) {
      int rc = write_name(e, before, key);
      if (rc) return fail_member(e, rc, false);
    }
    int rc = write_value(e, lua_type(L, -1));
    if (rc) return fail_member(e, rc, true);
    lua_pop(L, 1);
    before = ',';
  } while (lua_next(L, -2));
  mrpc_buf_addc(e->buf, '}');
  return e->buf->err;
}

/* Tables. */

/* What rpc.array or rpc.object have said of the table on top. */
MRPC_INLINE int kind_of(encoder *e) {
  if (!lua_getmetatable(e->L, -1)) return KIND_PLAIN;
  const void *meta = lua_topointer(e->L, -1);
  lua_pop(e->L, 1);
  if (meta == e->runtime->array_meta) return KIND_ARRAY;
  return meta == e->runtime->object_meta ? KIND_OBJECT : KIND_PLAIN;
}

static int write_empty(encoder *e, int kind) {
  if (kind == KIND_ARRAY)
    mrpc_buf_lit(e->buf, "[]");
  else
    mrpc_buf_lit(e->buf, "{}");
  return e->buf->err;
}

/* Every few levels down: may it go on? */
MRPC_COLD static int go_deeper(encoder *e) {
  if (e->depth == 0) return refuse(e, "nested too deeply (or in itself)");
  return lua_checkstack(e->L, 3 * STACK_LEVELS + 4) ? MRPC_OK : MRPC_ENOMEM;
}

static int write_table(encoder *e) {
  lua_State *L = e->L;
  if (MRPC_UNLIKELY(e->depth % STACK_LEVELS == 0)) {
    int rc = go_deeper(e);
    if (rc) return rc;
  }
  int kind = kind_of(e);
  lua_pushnil(L);
  if (!lua_next(L, -2)) return write_empty(e, kind);
  if (kind == KIND_PLAIN)
    kind = lua_type(L, -2) == LUA_TNUMBER ? KIND_ARRAY : KIND_OBJECT;
  e->depth--;
  int rc = kind == KIND_ARRAY ? write_array(e) : write_object(e);
  e->depth++;
  return rc;
}

static int write_other(encoder *e, int type) {
  lua_State *L = e->L;
  switch (type) {
    case LUA_TBOOLEAN:
      if (lua_toboolean(L, -1))
        mrpc_buf_lit(e->buf, "true");
      else
        mrpc_buf_lit(e->buf, "false");
      return e->buf->err;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(L, -1)) return refuse(e, "a light userdata");
      mrpc_buf_lit(e->buf, "null");
      return e->buf->err;
    case LUA_TNIL: mrpc_buf_lit(e->buf, "null"); return e->buf->err;
    case LUA_TFUNCTION: return refuse(e, "a function");
    case LUA_TTHREAD: return refuse(e, "a coroutine");
    default: return refuse(e, "a userdata");
  }
}

static void tell(const encoder *e, const char *root, mrpc_encode_error *error) {
  mrpc_text text = mrpc_text_in(error->text, sizeof error->text);
  mrpc_text_add(&text, root);
  mrpc_text_addn(&text, e->path + e->path_at, sizeof e->path - e->path_at);
  mrpc_text_add(&text, ": ");
  mrpc_text_add(&text, e->why);
}

int mrpc_encode(lua_State *L, int index, mrpc_buf *buf, const char *root,
                mrpc_encode_error *error) {
  if (lua_isinteger(L, index)) /* needs none of what follows */
    return mrpc_json_write_int(buf, lua_tointeger(L, index));
  mrpc_runtime *rt = mrpc_runtime_of(L);
  uint32_t depth = rt->limits.depth;
  encoder e; /* its path has no content yet */
  e.L = L;
  e.buf = buf;
  e.runtime = rt;
  e.why = "";
  e.path_at = sizeof e.path;
  e.depth = depth < MRPC_MAX_NESTING ? depth : MRPC_MAX_NESTING;
  mrpc_names_begin(rt->names);
  if (!lua_checkstack(L, 3 * STACK_LEVELS + 4)) return MRPC_ENOMEM;
  lua_pushvalue(L, index);
  int rc = write_value(&e, lua_type(L, -1));
  lua_pop(L, 1);
  if (rc == MRPC_ETYPE) tell(&e, root, error);
  return rc;
}
