/* SPDX-License-Identifier: MIT
 *
 * moonrpc: one program, a command for each of its uses. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"

static const command *const commands[] = {&cli_serve, &cli_call,  &cli_listen,
                                          &cli_bench, &cli_check, &cli_methods,
                                          &cli_status};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void show_help(FILE *to) {
  fprintf(to,
          "moonrpc serves directories of Lua files as JSON-RPC 2.0 methods.\n"
          "\nusage: moonrpc COMMAND [ARGUMENT]...\n\n");
  for (int i = 0; i < COMMANDS; i++)
    fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(to,
          "\nmoonrpc COMMAND --help tells more, moonrpc --version its "
          "version.\n");
}

static const command *find_command(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (!strcmp(commands[i]->name, name)) return commands[i];
  return NULL;
}

static int fail_unknown(const char *name) {
  const char *nearest = mrpc_nearer(name, "help", NULL);
  for (int i = 0; i < COMMANDS; i++)
    nearest = mrpc_nearer(name, nearest, commands[i]->name);
  fprintf(stderr, "moonrpc: there is no command %s%s%s\n\n", name,
          nearest ? "; the nearest is " : "", nearest ? nearest : "");
  show_help(stderr);
  return EXIT_USAGE;
}

/* moonrpc help, moonrpc help COMMAND. */
static int help(int argc, char **argv) {
  const command *found = argc > 2 ? find_command(argv[2]) : NULL;
  if (argc > 2 && !found) return fail_unknown(argv[2]);
  if (found)
    printf("usage: moonrpc %s", found->help);
  else
    show_help(stdout);
  return EXIT_DONE;
}

static volatile sig_atomic_t pipe_broke;

/* A handler rather than SIG_IGN: that would be inherited by the programs that
 * scripts start. */
static void on_pipe(int number) {
  (void)number;
  pipe_broke = 1;
}

/* Who has closed the pipe has had enough; a full disk must not look like
 * success. */
int cli_finish(int code) {
  bool is_written = !fflush(stdout) && !ferror(stdout);
  if (is_written || pipe_broke) return code;
  fputs("moonrpc: the output can't be written\n", stderr);
  return code == EXIT_DONE ? EXIT_FAULT : code;
}

/* A descriptor 0, 1 or 2 that is closed would be given to a socket, and what is
 * printed would go there. */
static void fill_standard(void) {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2) fd = dup(fd);
  if (fd > 2) close(fd);
}

uint64_t cli_raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return UINT64_MAX;
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) ? before : limit.rlim_max;
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  const command *found = find_command(name);
  fill_standard();
  struct sigaction action = {.sa_handler = on_pipe, .sa_flags = SA_RESTART};
  sigaction(SIGPIPE, &action, NULL);
  if (found == &cli_serve) /* what its scripts print is their own */
    return found->run(found, argc - 1, argv + 1);
  if (found) return cli_finish(found->run(found, argc - 1, argv + 1));
  if (cli_is_help(name) || !strcmp(name, "help"))
    return cli_finish(help(argc, argv));
  if (!strcmp(name, "--version")) {
    printf("moonrpc %s\n", MRPC_VERSION);
    return cli_finish(EXIT_DONE);
  }
  if (argc > 1) return fail_unknown(name);
  show_help(stderr);
  return EXIT_USAGE;
}
