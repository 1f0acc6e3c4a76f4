/* SPDX-License-Identifier: MIT
 *
 * The limit: libuv and llhttp with nothing behind them. Every request is
 * parsed as HTTP and answered with the same text; the answers to all requests
 * of one read leave in one write.
 */
#include <llhttp/llhttp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static const char answer[] =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 36\r\n\r\n"
    "{\"jsonrpc\":\"2.0\",\"result\":19,\"id\":1}";
enum { ANSWER = sizeof answer - 1 };

typedef struct connection {
  uv_tcp_t tcp; /* first, so that the handle is the connection */
  llhttp_t parser;
  size_t held; /* bytes of `out` in use */
  char in[64 * 1024];
  char out[256 * ANSWER];
} connection;

static llhttp_settings_t settings;

static int on_body(llhttp_t *parser, const char *at, size_t len) {
  (void)parser, (void)at, (void)len;
  return 0;
}

static void flush(connection *c) {
  uv_buf_t out = uv_buf_init(c->out, (unsigned)c->held);
  if (c->held) uv_try_write((uv_stream_t *)&c->tcp, &out, 1);
  c->held = 0;
}

static int on_complete(llhttp_t *parser) {
  connection *c = parser->data;
  if (c->held + ANSWER > sizeof c->out) flush(c);
  memcpy(c->out + c->held, answer, ANSWER);
  c->held += ANSWER;
  return 0;
}

static void on_close(uv_handle_t *handle) {
  free(handle);
}

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf) {
  connection *c = (connection *)handle;
  (void)hint;
  *buf = uv_buf_init(c->in, sizeof c->in);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf) {
  connection *c = (connection *)stream;
  if (len < 0 || llhttp_execute(&c->parser, buf->base, (size_t)len) != HPE_OK) {
    uv_close((uv_handle_t *)stream, on_close);
    return;
  }
  flush(c);
}

static void on_connection(uv_stream_t *server, int status) {
  connection *c = status ? NULL : calloc(1, sizeof *c);
  if (!c) return;
  uv_tcp_init(server->loop, &c->tcp);
  uv_accept(server, (uv_stream_t *)&c->tcp);
  uv_tcp_nodelay(&c->tcp, 1);
  llhttp_init(&c->parser, HTTP_REQUEST, &settings);
  c->parser.data = c;
  uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

int main(int argc, char **argv) {
  uv_tcp_t server;
  struct sockaddr_in address;
  if (argc != 2) return 2;
  llhttp_settings_init(&settings);
  settings.on_body = on_body;
  settings.on_message_complete = on_complete;
  uv_tcp_init(uv_default_loop(), &server);
  uv_ip4_addr("127.0.0.1", atoi(argv[1]), &address);
  if (uv_tcp_bind(&server, (struct sockaddr *)&address, 0) ||
      uv_listen((uv_stream_t *)&server, 511, on_connection)) {
    fprintf(stderr, "bare: can't listen on port %s\n", argv[1]);
    return 1;
  }
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
