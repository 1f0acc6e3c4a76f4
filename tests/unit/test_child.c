/* SPDX-License-Identifier: MIT
 *
 * Programs that a host starts and speaks with: shell scripts of one line play
 * every way to behave. Each test ends with a loop that closes, no child left
 * and no descriptor more than before. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <uv.h>

#include "oom.h"
#include "tap.h"

#define ANSWER(result)                                         \
  "echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"result\\\":" result \
  ",\\\"id\\\":1}\"; "

typedef struct world {
  uv_loop_t uv;
  mrpc_env *env;
  mrpc_host *host;
  mrpc_peer *peer;
  int fds;
  int opens, closes, answers, says, warnings;
  int result; /* of the last answer */
  char text[100];
  char error[400]; /* the host's, at open or close */
  char said[1200]; /* the last line of stderr */
} world;

static int count_fds(void) {
  DIR *dir = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_log(const mrpc_log_entry *entry, void *ud) {
  world *w = ud;
  if (entry->level <= MRPC_LOG_WARN) w->warnings++;
  if (strcmp(entry->text, "stderr") != 0) return;
  w->says++;
  snprintf(w->said, sizeof w->said, "%s", entry->pairs[3]);
}

static void subtract(mrpc_call *call, void *ud) {
  (void)ud;
  mrpc_call_reply(call, "19", 2);
}

static void begin(world *w) {
  mrpc_host_config config;
  memset(w, 0, sizeof *w);
  w->fds = count_fds();
  uv_loop_init(&w->uv);
  mrpc_host_config_init(&config);
  if (mrpc_env_new(&(mrpc_env_config){.log = on_log, .log_ud = w}, &w->env))
    abort();
  config.env = w->env;
  config.loop = &w->uv;
  if (mrpc_host_new(&config, &w->host)) abort();
  mrpc_dispatch_add(mrpc_host_dispatch(w->host), "subtract", subtract, NULL);
}

static void end(world *w, const char *name) {
  mrpc_host_free(w->host);
  mrpc_env_free(w->env);
  ok(uv_loop_close(&w->uv) == 0, "%s: the loop closes", name);
  ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD,
     "%s: no child is left", name);
  ok(count_fds() == w->fds, "%s: no descriptor is left", name);
}

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  world *w = ud;
  (void)peer;
  w->answers++;
  w->result = answer->result;
  snprintf(w->text, sizeof w->text, "%.*s", (int)answer->len, answer->json);
}

static void on_open(mrpc_peer *peer, void *ud) {
  world *w = ud;
  w->opens++;
  w->peer = peer;
  snprintf(w->error, sizeof w->error, "%s", mrpc_host_error(w->host));
  if (peer) mrpc_peer_call(peer, "x", NULL, 10, on_answer, w, NULL);
}

static void on_close(mrpc_peer *peer, void *ud) {
  world *w = ud;
  (void)peer;
  w->closes++;
  w->peer = NULL;
  snprintf(w->error, sizeof w->error, "%s", mrpc_host_error(w->host));
}

static void turn(world *w) {
  uv_run(&w->uv, UV_RUN_ONCE);
}

static int start(world *w, const char *url) {
  int rc = mrpc_host_connect(w->host, url, on_open, on_close, w);
  mrpc_host_step(w->host, 0);
  return rc;
}

static void test_talk(void) {
  world w;
  begin(&w);
  ok(start(&w, "exec:sh -c 'read l; " ANSWER("7") "read l'") == MRPC_OK,
     "starts");
  while (!w.answers) turn(&w);
  is_str(w.text, "7", "an answer");
  ok(w.peer != NULL && w.closes == 0, "it lives on");
  end(&w, "talk");
  ok(w.closes == 1, "its end is told");
  ok(w.warnings == 0, "and no reason to warn");

  begin(&w);
  start(&w,
        "exec:sh -c 'echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":"
        "\\\"subtract\\\",\\\"id\\\":5}\"; read a; read a; echo $a >&2'");
  while (!w.says) turn(&w);
  ok(strstr(w.said, "\"result\":19") != NULL, "it may call: %s", w.said);
  end(&w, "calls back");
}

static void ends(const char *url, const char *error) {
  world w;
  begin(&w);
  start(&w, url);
  double since = now();
  while (!w.closes) turn(&w);
  ok(strstr(w.error, error) != NULL, "%s: %s", url, w.error);
  ok(w.answers == 1 && w.result == MRPC_ECLOSED, "its call fails");
  ok(now() - since < 0.9, "at once");
  ok(w.warnings == 0, "which tells of it, so the log needn't");
  end(&w, error);
}

static void test_death(void) {
  ends("exec:sh -c 'exit 127'", "127': exited with status 127");
  ends("exec:false", "exec:false: exited with status 1");
  ends("exec:sh -c 'read l; kill -9 $$'", "was ended by signal 9");
  ends("exec:sh -c 'sleep 3 & exit 4'", "exited with status 4");
  ends("exec:sh -c 'exec >&-; sleep 0.2; exit 5'", "exited with status 5");

  world w;
  begin(&w);
  start(&w, "exec:sh -c 'read l; " ANSWER("8") "exit 3'");
  while (!w.closes) turn(&w);
  is_str(w.text, "8", "what it said last is read");
  ok(strstr(w.error, "status 3") != NULL, "before its end: %s", w.error);
  end(&w, "last words");
}

/* Its input is closed: what we write fails. */
static void test_deaf(void) {
  world w;
  begin(&w);
  start(&w, "exec:sh -c 'exec <&-; sleep 0.3; exit 6'");
  while (!w.opens) turn(&w);
  while (!w.closes) {
    if (w.peer) mrpc_peer_notify(w.peer, "n", NULL);
    turn(&w);
  }
  ok(strstr(w.error, "status 6") != NULL, "deaf: %s", w.error);
  end(&w, "deaf");
}

static void test_refusals(void) {
  world w;
  begin(&w);
  ok(start(&w, "exec:no-such-program x") == MRPC_EIO, "no program: %s",
     mrpc_host_error(w.host));
  ok(strstr(mrpc_host_error(w.host), "no-such-program: no such file") != NULL,
     "by its name");
  ok(start(&w, "exec:/") == MRPC_EIO, "none that could run: %s",
     mrpc_host_error(w.host));
  ok(start(&w, "exec:a 'b") == MRPC_ESYNTAX, "an open quote: %s",
     mrpc_host_error(w.host));
  ok(start(&w, "exec: ") == MRPC_ESYNTAX, "no command: %s",
     mrpc_host_error(w.host));
  ok(mrpc_host_listen(w.host, "exec:true") == MRPC_ESYNTAX,
     "nothing to listen on: %s", mrpc_host_error(w.host));
  ok(w.opens == 0 && w.closes == 0, "nobody is called back");
  end(&w, "refusals");
}

/* One that won't end, and one that is asked to before it was there. */
static void test_stubborn(void) {
  world w;
  begin(&w);
  start(&w, "exec:sh -c 'trap \"\" TERM; echo up >&2; exec sleep 30'");
  while (!w.says) turn(&w);
  double since = now();
  end(&w, "stubborn");
  double took = now() - since;
  ok(took > 1.9 && took < 4, "killed after two seconds: %.1f", took);

  begin(&w);
  start(&w,
        "exec:sh -c 'trap \"exit 0\" TERM; echo up >&2; while :; do"
        " sleep 0.01; done'");
  while (!w.says) turn(&w);
  since = now();
  end(&w, "obedient");
  took = now() - since;
  ok(took > 0.4 && took < 1.9, "asked after half a second: %.1f", took);

  begin(&w);
  mrpc_host_connect(w.host, "exec:cat", on_open, on_close, &w);
  end(&w, "early");
  ok(w.opens == 1 && w.closes == 0, "given up before it was open");
}

static void test_stderr(void) {
  world w;
  begin(&w);
  start(&w, "exec:sh -c 'echo one >&2; printf \"%3000d\\nlast\" 7 >&2'");
  while (!w.closes) turn(&w);
  ok(w.says == 3, "three lines: %d", w.says);
  is_str(w.said, "last", "the last without its end");
  end(&w, "stderr");
  begin(&w);
  start(&w, "exec:sh -c 'printf \"%3000d\" 7 >&2'");
  while (!w.closes) turn(&w);
  ok(strlen(w.said) == 1000, "a long line is cut");
  end(&w, "long line");
}

/* It dies when it can't write any more. */
static void test_flood(void) {
  world w;
  int most = 0;
  begin(&w);
  start(&w, "exec:sh -c 'exec yes >&2'");
  while (w.says < 2000) {
    int before = w.says;
    turn(&w);
    if (w.says - before > most) most = w.says - before;
  }
  ok(most <= 512, "of a flood it takes little at once: %d lines", most);
  end(&w, "flood");
}

static void without_memory(oom *o) {
  mrpc_host_config config;
  mrpc_env *env;
  mrpc_host *host = NULL;
  world nobody = {0};
  mrpc_host_config_init(&config);
  if (mrpc_env_new(&(mrpc_env_config){.alloc = oom_alloc, .alloc_ud = o}, &env))
    return;
  config.env = env;
  if (mrpc_host_new(&config, &host) == MRPC_OK) {
    nobody.host = host;
    bool has_begun = mrpc_host_connect(host, "exec:true", on_open, on_close,
                                       &nobody) == MRPC_OK;
    while (has_begun && !nobody.closes && nobody.opens == (nobody.peer != NULL))
      mrpc_host_step(host, 1000);
    mrpc_host_free(host);
  }
  mrpc_env_free(env);
}

int main(void) {
  uv_loop_t first; /* opens what libuv keeps until the process ends */
  uv_loop_init(&first);
  uv_loop_close(&first);
  signal(SIGPIPE, SIG_IGN);
  test_talk();
  test_death();
  test_deaf();
  test_refusals();
  test_stubborn();
  test_stderr();
  test_flood();
  oom_each("a child that is called", without_memory, false);
  oom_each("the same for good", without_memory, true);
  return tap_finish();
}
