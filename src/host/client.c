/* SPDX-License-Identifier: MIT
 *
 * Connections that we open: an address becomes a stream, its framing and a
 * peer whose calls both sides may make. */
#include <stdio.h>
#include <string.h>

#include "framing/stream.h"
#include "host/endpoint.h"
#include "transport/child.h"
#include "transport/stream.h"

typedef struct client {
  mrpc_host *host;
  mrpc_url url;
  mrpc_peer_open_fn on_open;
  mrpc_peer_fn on_close;
  void *ud;
  bool is_dialled; /* by rpc.connect */
  char *header;    /* further fields, NULL: none */
} client;

static void free_client(client *c) {
  const mrpc_mem *mem = &c->host->env->mem;
  if (c->header) mrpc_mem_free(mem, c->header, strlen(c->header) + 1);
  mrpc_mem_free(mem, c, sizeof *c);
}

static int make_framing(client *c, mrpc_framing **out) {
  mrpc_host *host = c->host;
  const mrpc_url *url = &c->url;
  char name[MRPC_URL_MAX];
  if (url->kind == MRPC_URL_EXEC)
    return mrpc_stream_new(
        host->env, &host->config.limits,
        url->framing == MRPC_URL_HEADER ? &mrpc_header_vt : &mrpc_line_vt,
        MRPC_LINE_NOISY, out);
  if (url->framing == MRPC_URL_HEADER)
    return mrpc_framing_header(host->env, &host->config.limits, out);
  if (!mrpc_url_is_http(url))
    return mrpc_framing_line(host->env, &host->config.limits, out);
  bool six = strchr(url->host, ':') != NULL;
  snprintf(name, sizeof name, six ? "[%s]:%u" : "%s:%u", url->host, url->port);
  const char *to = url->file[0] ? "localhost" : name;
  const char *path = url->path[0] ? url->path : "/";
  if (mrpc_url_is_ws(url))
    return mrpc_framing_ws_client(host->env, &host->config.limits, to, path,
                                  NULL, out);
  return mrpc_framing_http_client(host->env, &host->config.limits, to, path,
                                  out);
}

static int add_header(const client *c, mrpc_framing *f) {
  if (!c->header || !f->vt->add_headers) return MRPC_OK;
  return f->vt->add_headers(f, c->header, strlen(c->header));
}

static int make_peer(client *c, mrpc_conn *conn, mrpc_peer **out) {
  mrpc_framing *framing;
  int rc = make_framing(c, &framing);
  if (rc) return rc;
  framing->is_told = true; /* by on_close */
  rc = add_header(c, framing);
  if (!rc)
    return mrpc_endpoint_peer(c->host, &c->url, conn, c->url.text, framing,
                              out);
  framing->vt->free(framing);
  return rc;
}

/* Leaves why the connection ended in the host's error. */
static void explain(const client *c, const mrpc_conn *conn) {
  char text[MRPC_REASON_SIZE];
  const char *why = text;
  mrpc_peer_reason(conn->peer, text, sizeof text);
  if (!*why && c->url.kind == MRPC_URL_EXEC) why = mrpc_child_end(conn);
  mrpc_host_fail(c->host, MRPC_OK, "%s%s%s", *why ? c->url.text : "",
                 *why ? ": " : "", why);
}

/* A server takes a mere end for one who still reads: it is reset, so that it
 * cancels what we don't wait for any more. */
static void on_end(mrpc_conn *conn, void *ud) {
  client *c = ud;
  mrpc_host *host = c->host;
  explain(c, conn);
  conn->resets = mrpc_peer_is_moot(conn->peer);
  if (c->on_close) c->on_close(conn->peer, c->ud);
  if (c->is_dialled) host->dialled--;
  conn->ud = NULL;
  free_client(c);
  mrpc_host_note_close(host, conn);
}

/* The callback comes before the stream is opened, so that its first call is
 * in the first write; it may close the stream, and then `c` is gone. */
static void on_connect(mrpc_conn *conn, void *ud) {
  client *c = ud;
  mrpc_host *host = c->host;
  mrpc_peer *peer;
  int rc = conn ? make_peer(c, conn, &peer) : MRPC_EIO;
  if (conn && rc) mrpc_conn_close(conn);
  if (rc) {
    mrpc_host_fail(host, rc, "%s: %s", c->url.text,
                   conn ? mrpc_strerror(rc) : host->loop->error);
    c->on_open(NULL, c->ud);
    free_client(c);
    mrpc_host_check_end(host);
    return;
  }
  conn->stays = c->is_dialled;
  if (c->is_dialled) host->dialled++;
  conn->on_close = on_end;
  conn->ud = c;
  conn->peer = peer;
  host->connections++;
  c->on_open(peer, c->ud);
  mrpc_conn_open(conn, peer);
}

static int start(client *c) {
  mrpc_loop *loop = c->host->loop;
  if (c->url.kind == MRPC_URL_STDIO)
    return mrpc_host_fail(c->host, MRPC_ESYNTAX, "%s: nothing to connect to",
                          c->url.text);
  int rc;
  if (c->url.kind == MRPC_URL_EXEC)
    rc = mrpc_child_start(loop, c->url.file, on_connect, c);
  else if (c->url.file[0])
    rc = mrpc_connect_unix(loop, c->url.file, on_connect, c);
  else
    rc = mrpc_connect_tcp(loop, c->url.host, c->url.port, on_connect, c);
  return rc ? mrpc_host_fail(c->host, rc, "%s: %s", c->url.text, loop->error)
            : MRPC_OK;
}

static int connect_to(mrpc_host *host, const char *url, const char *header,
                      const client *how) {
  client *c = mrpc_mem_new(&host->env->mem, sizeof *c);
  if (!c) return mrpc_host_fail(host, MRPC_ENOMEM, "%s: out of memory", url);
  *c = *how;
  c->host = host;
  if (*header) {
    c->header = mrpc_mem_copy(&host->env->mem, header, strlen(header));
    if (!c->header) {
      free_client(c);
      return mrpc_host_fail(host, MRPC_ENOMEM, "%s: out of memory", url);
    }
  }
  int rc = mrpc_url_parse(&c->url, url);
  rc = rc ? mrpc_host_fail(host, rc, "%s: %s", url, c->url.error) : start(c);
  if (rc) free_client(c);
  return rc;
}

int mrpc_host_connect(mrpc_host *host, const char *url,
                      mrpc_peer_open_fn on_open, mrpc_peer_fn on_close,
                      void *ud) {
  client c = {.on_open = on_open, .on_close = on_close, .ud = ud};
  if (!host) return MRPC_EINVAL;
  return connect_to(host, url, "", &c);
}

int mrpc_host_dial(void *host, const char *url, const char *header,
                   mrpc_peer_open_fn on_open, mrpc_peer_fn on_close, void *ud) {
  client c = {
      .on_open = on_open, .on_close = on_close, .ud = ud, .is_dialled = true};
  if (((mrpc_host *)host)->state >= MRPC_HOST_DRAINING)
    return mrpc_host_fail(host, MRPC_ESTATE, "%s: the host is ending", url);
  return connect_to(host, url, header, &c);
}
