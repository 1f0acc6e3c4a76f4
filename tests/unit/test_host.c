/* SPDX-License-Identifier: MIT
 *
 * A host inside another program: stepped from a frame loop, with C methods,
 * on a loop of its own or the program's, and as a client of itself. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "oom.h"
#include "tap.h"

static char dir[] = "/tmp/moonrpc-host-XXXXXX";

typedef struct world {
  oom mem;
  mrpc_env *env;
  mrpc_host *host;
  int ready;
  int opens, closes, answers;
  bool is_error;
  int result;
  char text[200];
  const char *method, *params;
} world;

static void subtract(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_call_reply(call, "19", 2);
}

static void on_ready(mrpc_host *host, void *ud) {
  (void)host;
  ((world *)ud)->ready++;
}

static int make(world *w, mrpc_host_config *config) {
  memset(w, 0, sizeof *w);
  mrpc_env_config env = {.alloc = oom_alloc, .alloc_ud = &w->mem};
  if (mrpc_env_new(&env, &w->env)) abort();
  config->env = w->env;
  config->on_ready = on_ready;
  config->ud = w;
  return mrpc_host_new(config, &w->host);
}

static void unmake(world *w, const char *name) {
  mrpc_host_free(w->host);
  mrpc_env_free(w->env);
  ok(w->mem.live == 0, "%s: all memory is given back", name);
}

static void begin(world *w) {
  mrpc_host_config config;
  mrpc_host_config_init(&config);
  if (make(w, &config)) abort();
  mrpc_dispatch_add(mrpc_host_dispatch(w->host), "subtract", subtract, NULL);
}

/* Steps until `*count` reaches `want`, for five seconds at most. */
static void step_until(world *w, const int *count, int want) {
  time_t end = time(NULL) + 5;
  while (*count < want && time(NULL) < end) mrpc_host_step(w->host, 1000);
}

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  world *w = ud;
  (void)peer;
  w->answers++;
  w->result = answer->result;
  w->is_error = answer->is_error;
  snprintf(w->text, sizeof w->text, "%.*s", (int)answer->len,
           answer->json ? answer->json : "");
}

static void on_open(mrpc_peer *peer, void *ud) {
  world *w = ud;
  w->opens++;
  if (peer) mrpc_peer_call(peer, w->method, w->params, 5, on_answer, w, NULL);
}

static void on_close(mrpc_peer *peer, void *ud) {
  (void)peer;
  ((world *)ud)->closes++;
}

static void test_step(void) {
  static const char *const urls[] = {"http://127.0.0.1:0", "tcp://127.0.0.1:0",
                                     "tcp://[::1]:0"};
  world w;
  begin(&w);
  for (int i = 0; i < 3; i++) {
    int rc = mrpc_host_listen(w.host, urls[i]);
    if (rc && i == 2) continue; /* no IPv6 here */
    ok(rc == MRPC_OK, "listens on %s", urls[i]);
  }
  ok(mrpc_host_step(w.host, 0) == MRPC_OK && w.ready == 1, "ready at once");
  w.method = "subtract";
  int calls = 0;
  for (size_t i = 0; *mrpc_host_url(w.host, i); i++) {
    const char *url = mrpc_host_url(w.host, i);
    ok(!strstr(url, ":0"), "%s has its real port", url);
    ok(!mrpc_host_connect(w.host, url, on_open, on_close, &w), "connects");
    step_until(&w, &w.answers, ++calls);
    is_str(w.text, "19", "a call of its own method");
  }
  w.method = "nope";
  mrpc_host_connect(w.host, mrpc_host_url(w.host, 0), on_open, on_close, &w);
  step_until(&w, &w.answers, ++calls);
  ok(w.is_error && strstr(w.text, "-32601"), "an error is an answer");
  mrpc_host_stop(w.host);
  ok(w.closes == w.opens, "stop closes the connections");
  ok(mrpc_host_step(w.host, 0) == MRPC_ECLOSED, "then the host has ended");
  unmake(&w, "step");
}

static void test_addresses(void) {
  world w;
  char url[100];
  struct stat st;
  begin(&w);
  snprintf(url, sizeof url, "unix:%s/s", dir);
  ok(mrpc_host_listen(w.host, "ftp://a") == MRPC_ESYNTAX, "a bad address: %s",
     mrpc_host_error(w.host));
  ok(mrpc_host_listen(w.host, url) == MRPC_OK, "a Unix socket");
  ok(stat(url + 5, &st) == 0 && (st.st_mode & 0777) == 0600, "of mode 0600");
  ok(mrpc_host_listen(w.host, url) == MRPC_EEXIST, "a live one: %s",
     mrpc_host_error(w.host));
  ok(stat(url + 5, &st) == 0, "stays");
  mrpc_host_free(w.host);
  ok(stat(url + 5, &st) != 0, "its file goes with the host");
  w.host = NULL;
  unmake(&w, "addresses");

  begin(&w);
  mrpc_host_listen(w.host, url);
  unlink(url + 5);
  FILE *file = fopen(url + 5, "w");
  if (file) fclose(file);
  mrpc_host_free(w.host);
  ok(stat(url + 5, &st) == 0, "a file in its place isn't ours to remove");
  w.host = NULL;
  unmake(&w, "foreign file");

  begin(&w);
  ok(mrpc_host_listen(w.host, url) == MRPC_EEXIST, "nor to replace: %s",
     mrpc_host_error(w.host));
  unlink(url + 5);
  mrpc_host_connect(w.host, url, on_open, on_close, &w);
  step_until(&w, &w.opens, 1);
  ok(strstr(mrpc_host_error(w.host), "no such file") != NULL, "nobody there");
  unmake(&w, "nobody there");
}

static void wait_forever(mrpc_call *call, void *ud) {
  *(mrpc_call **)ud = call;
}

static void test_drain(void) {
  world w;
  mrpc_call *waiting = NULL;
  begin(&w);
  mrpc_dispatch_add(mrpc_host_dispatch(w.host), "wait", wait_forever, &waiting);
  mrpc_host_listen(w.host, "tcp://127.0.0.1:0");
  mrpc_host_step(w.host, 0);
  w.method = "wait";
  mrpc_host_connect(w.host, mrpc_host_url(w.host, 0), on_open, on_close, &w);
  time_t end = time(NULL) + 5;
  while (!waiting && time(NULL) < end) mrpc_host_step(w.host, 1000);
  mrpc_host_drain(w.host, 5);
  mrpc_host_drain(w.host, 5);
  ok(mrpc_host_step(w.host, 0) == MRPC_OK, "a call in flight holds the drain");
  if (waiting) mrpc_call_reply(waiting, "1", 1);
  int rc = MRPC_OK;
  while (!rc && time(NULL) < end) rc = mrpc_host_step(w.host, 1000);
  ok(rc == MRPC_ECLOSED && w.answers == 1, "it is answered, the host ends");
  unmake(&w, "drain");
}

static void on_asked(uv_timer_t *timer) {
  mrpc_host_signal(timer->data, MRPC_HOST_DRAIN);
}

static void test_given_loop(void) {
  uv_loop_t uv;
  uv_timer_t timer;
  world w;
  mrpc_host_config config;
  mrpc_host_config_init(&config);
  config.loop = &uv;
  uv_loop_init(&uv);
  if (make(&w, &config)) abort();
  uv_timer_init(&uv, &timer);
  timer.data = w.host;
  mrpc_host_listen(w.host, "tcp://127.0.0.1:0");
  ok(mrpc_host_start(w.host) == MRPC_OK, "starts on the program's loop");
  uv_timer_start(&timer, on_asked, 1, 0);
  uv_run(&uv, UV_RUN_DEFAULT);
  ok(mrpc_host_step(w.host, 0) == MRPC_ECLOSED,
     "drained by a signal, the loop has nothing more to do");
  uv_close((uv_handle_t *)&timer, NULL);
  unmake(&w, "given loop");
  uv_run(&uv, UV_RUN_DEFAULT);
  ok(uv_loop_close(&uv) == 0, "the program's loop closes");
}

static void write_script(const char *name, const char *text) {
  char path[100];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

static void remove_script(const char *name) {
  char path[100];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  unlink(path);
}

static void call(world *w, const char *method, const char *params) {
  int want = w->answers + 1;
  w->method = method;
  w->params = params;
  mrpc_host_connect(w->host, mrpc_host_url(w->host, 0), on_open, on_close, w);
  step_until(w, &w->answers, want);
}

static void test_scripts(void) {
  world w;
  mrpc_host_config config;
  mrpc_host_config_init(&config);
  write_script("m.lua",
               "local uv = require 'luv'\n"
               "local M = { add = function(a, b) return a + b end }\n"
               "function M.later()\n"
               "  return rpc.await(function(resume)\n"
               "    local t = uv.new_timer()\n"
               "    t:start(1, 0, function() t:close() resume(rpc.null) end)\n"
               "  end)\n"
               "end\n"
               "function M.loop() while true do end end\n"
               "uv.new_timer():start(1, 1, function() end)\n"
               "return M\n");
  config.methods = dir;
  config.no_watch = true;
  config.limits.handler = 0.05;
  config.interrupt_signal = SIGRTMIN + 4;
  if (make(&w, &config)) abort();
  mrpc_host_listen(w.host, "http://127.0.0.1:0");
  step_until(&w, &w.ready, 1);
  call(&w, "m.add", "[1, 2]");
  is_str(w.text, "3", "a Lua method");
  call(&w, "m.later", NULL);
  is_str(w.text, "null", "a wait for luv");
  call(&w, "m.loop", NULL);
  ok(strstr(w.text, "-32053") != NULL, "an endless handler is ended: %s",
     w.text);
  call(&w, "rpc.status", NULL);
  ok(strstr(w.text, "-32601") != NULL, "the host's methods are closed");
  unmake(&w, "scripts");
  remove_script("m.lua");
}

static void make_without_memory(oom *o) {
  mrpc_host_config config;
  mrpc_env *env;
  mrpc_host *host = NULL;
  world nobody = {0};
  mrpc_host_config_init(&config);
  if (mrpc_env_new(&(mrpc_env_config){.alloc = oom_alloc, .alloc_ud = o}, &env))
    return;
  config.env = env;
  config.methods = dir;
  if (mrpc_host_new(&config, &host) == MRPC_OK) {
    if (!mrpc_host_listen(host, "tcp://127.0.0.1:0"))
      mrpc_host_connect(host, mrpc_host_url(host, 0), on_open, NULL, &nobody);
    mrpc_host_free(host);
  }
  mrpc_env_free(env);
}

static void test_sigpipe(void) {
  world w;
  mrpc_host_config config;
  mrpc_host_config_init(&config);
  signal(SIGPIPE, SIG_DFL);
  ok(make(&w, &config) == MRPC_ESIGPIPE, "no host where SIGPIPE would kill");
  signal(SIGPIPE, SIG_IGN);
  unmake(&w, "SIGPIPE");
}

/* Who doesn't look at what mrpc_host_new gave is told, and lives. */
static void test_no_host(void) {
  mrpc_host_config config;
  mrpc_host *host = (mrpc_host *)&config;
  mrpc_host_config_init(&config);
  ok(mrpc_host_new(&config, &host) == MRPC_EINVAL && !host,
     "no host without an environment");
  ok(mrpc_host_listen(host, "tcp://127.0.0.1:0") == MRPC_EINVAL &&
         mrpc_host_connect(host, "tcp://127.0.0.1:1", on_open, NULL, NULL) ==
             MRPC_EINVAL &&
         mrpc_host_start(host) == MRPC_EINVAL &&
         mrpc_host_run(host) == MRPC_EINVAL &&
         mrpc_host_step(host, 0) == MRPC_EINVAL,
     "nothing is done without a host");
  is_str(mrpc_host_error(host), "there is no host", "and this is why");
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  if (!mkdtemp(dir)) return 1;
  test_step();
  test_addresses();
  test_drain();
  test_given_loop();
  test_scripts();
  test_sigpipe();
  test_no_host();
  oom_each("a host that listens and connects", make_without_memory, false);
  oom_each("the same for good", make_without_memory, true);
  rmdir(dir);
  return tap_finish();
}
