/* SPDX-License-Identifier: MIT
 *
 * The limit: libuv and wslay's frame level with nothing behind them. Every
 * message is unmasked and sent back as it came; the echoes of all messages of
 * one read leave in one write.
 */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <wslay/wslay.h>

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

typedef struct connection {
  uv_tcp_t tcp; /* first, so that the handle is the connection */
  wslay_frame_context_ptr frames;
  bool is_open;
  const char *from, *to; /* of what was read */
  size_t held;           /* bytes of `out` in use */
  char in[64 * 1024];
  char out[128 * 1024];
} connection;

static void flush(connection *c) {
  uv_buf_t out = uv_buf_init(c->out, (unsigned)c->held);
  if (c->held) uv_try_write((uv_stream_t *)&c->tcp, &out, 1);
  c->held = 0;
}

static ssize_t give(uint8_t *to, size_t len, int flags, void *ud) {
  connection *c = ud;
  (void)flags;
  if ((size_t)(c->to - c->from) < len) len = (size_t)(c->to - c->from);
  if (len == 0) return -1;
  memcpy(to, c->from, len);
  c->from += len;
  return (ssize_t)len;
}

static ssize_t take(const uint8_t *from, size_t len, int flags, void *ud) {
  connection *c = ud;
  (void)flags;
  if (c->held + len > sizeof c->out) flush(c);
  memcpy(c->out + c->held, from, len);
  c->held += len;
  return (ssize_t)len;
}

static void echo(connection *c) {
  struct wslay_frame_iocb frame;
  while (wslay_frame_recv(c->frames, &frame) >= 0) {
    frame.mask = 0;
    wslay_frame_send(c->frames, &frame);
  }
  flush(c);
}

/* The whole of the handshake comes in one read, from our client. */
static void shake_hands(connection *c, const char *text) {
  const char *key = strstr(text, "Sec-WebSocket-Key: ");
  unsigned char joined[24 + sizeof GUID], hash[20], proof[29];
  if (!key) return;
  memcpy(joined, key + 19, 24);
  memcpy(joined + 24, GUID, sizeof GUID);
  EVP_Digest(joined, sizeof joined - 1, hash, NULL, EVP_sha1(), NULL);
  EVP_EncodeBlock(proof, hash, sizeof hash);
  c->held = (size_t)snprintf(c->out, sizeof c->out,
                             "HTTP/1.1 101 Switching Protocols\r\n"
                             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Accept: %s\r\n\r\n",
                             (char *)proof);
  c->is_open = true;
  flush(c);
}

static void on_close(uv_handle_t *handle) {
  wslay_frame_context_free(((connection *)handle)->frames);
  free(handle);
}

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf) {
  connection *c = (connection *)handle;
  (void)hint;
  *buf = uv_buf_init(c->in, sizeof c->in - 1);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf) {
  connection *c = (connection *)stream;
  if (len < 0) {
    uv_close((uv_handle_t *)stream, on_close);
    return;
  }
  c->from = buf->base;
  c->to = buf->base + len;
  if (c->is_open) {
    echo(c);
  } else {
    buf->base[len] = 0;
    shake_hands(c, buf->base);
  }
}

static void on_connection(uv_stream_t *server, int status) {
  static const struct wslay_frame_callbacks callbacks = {.send_callback = take,
                                                         .recv_callback = give};
  connection *c = status ? NULL : calloc(1, sizeof *c);
  if (!c) return;
  uv_tcp_init(server->loop, &c->tcp);
  uv_accept(server, (uv_stream_t *)&c->tcp);
  uv_tcp_nodelay(&c->tcp, 1);
  wslay_frame_context_init(&c->frames, &callbacks, c);
  uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

int main(int argc, char **argv) {
  uv_tcp_t server;
  struct sockaddr_in address;
  if (argc != 2) return 2;
  uv_tcp_init(uv_default_loop(), &server);
  uv_ip4_addr("127.0.0.1", atoi(argv[1]), &address);
  if (uv_tcp_bind(&server, (struct sockaddr *)&address, 0) ||
      uv_listen((uv_stream_t *)&server, 511, on_connection)) {
    fprintf(stderr, "barews: can't listen on port %s\n", argv[1]);
    return 1;
  }
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
