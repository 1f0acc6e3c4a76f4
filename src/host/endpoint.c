/* SPDX-License-Identifier: MIT
 *
 * The address decides the framing: that is where transports and framings
 * meet, and the only place. */
#include "host/endpoint.h"

#include "framing/stream.h"
#include "transport/listen.h"
#include "transport/stdio.h"
#include "transport/stream.h"

/* A pipe from a parent needs no guard against browsers. */
static int make_bare_framing(mrpc_endpoint *e, mrpc_framing **out) {
  static const mrpc_framing_vt *const tables[] = {&mrpc_auto_vt, &mrpc_line_vt,
                                                  &mrpc_header_vt};
  bool is_pipe = e->url.kind == MRPC_URL_STDIO;
  return mrpc_stream_new(e->host->env, &e->host->config.limits,
                         tables[e->url.framing],
                         is_pipe ? MRPC_LINE_PLAIN : MRPC_LINE_GUARDED, out);
}

static int make_framing(mrpc_endpoint *e, mrpc_framing **out) {
  mrpc_host *host = e->host;
  if (!mrpc_url_is_http(&e->url)) return make_bare_framing(e, out);
  mrpc_http_config config = host->config.http;
  config.limits = &host->config.limits;
  config.dev = host->config.dev;
  if (e->url.path[0]) config.path = e->url.path;
  config.bound = e->url.file[0] ? NULL : e->url.host;
  config.websocket.only = mrpc_url_is_ws(&e->url);
  return mrpc_framing_http(host->env, &config, out);
}

int mrpc_endpoint_peer(mrpc_host *host, const mrpc_url *url, mrpc_conn *conn,
                       const char *address, mrpc_framing *framing,
                       mrpc_peer **out) {
  mrpc_peer_config config = {
      .env = host->env,
      .dispatch = host->dispatch,
      .limits = &host->config.limits,
      .transport = mrpc_url_transport(url),
      .address = address,
      .on_wake = mrpc_conn_wake,
      .reject_duplicate_ids = host->config.reject_duplicate_ids,
      .explain = host->config.dev,
      .ud = conn,
  };
  return mrpc_peer_new(&config, framing, out);
}

static int make_peer(mrpc_endpoint *e, mrpc_conn *conn, mrpc_peer **out) {
  mrpc_framing *framing;
  char address[80];
  int rc = make_framing(e, &framing);
  if (rc) return rc;
  mrpc_conn_address(conn, address, sizeof address);
  return mrpc_endpoint_peer(e->host, &e->url, conn, address, framing, out);
}

static void on_close(mrpc_conn *conn, void *ud) {
  mrpc_endpoint *e = ud;
  if (conn == e->stdio) {
    e->stdio = NULL;
    e->host->open_endpoints--;
  }
  mrpc_host_note_close(e->host, conn);
}

static int converse(mrpc_endpoint *e, mrpc_conn *conn) {
  mrpc_peer *peer;
  int rc = make_peer(e, conn, &peer);
  if (rc) {
    mrpc_log(e->host->env, MRPC_LOG_ERROR, "can't serve a connection", "error",
             mrpc_strerror(rc), NULL);
    mrpc_conn_close(conn);
    return rc;
  }
  conn->on_close = on_close;
  conn->ud = e;
  e->host->connections++;
  mrpc_conn_open(conn, peer);
  return MRPC_OK;
}

static void on_accept(mrpc_conn *conn, void *ud) {
  converse(ud, conn);
}

static int take_stdio(mrpc_endpoint *e) {
  int rc = mrpc_stdio_new(e->host->loop, &e->stdio);
  if (rc) return rc;
  e->stdio->on_close = on_close;
  e->stdio->ud = e;
  return MRPC_OK;
}

static int bind_address(mrpc_endpoint *e) {
  mrpc_loop *loop = e->host->loop;
  const mrpc_url *url = &e->url;
  if (url->kind == MRPC_URL_STDIO) return take_stdio(e);
  if (url->file[0])
    return mrpc_listen_unix(loop, url->file, on_accept, e, &e->listener);
  return mrpc_listen_tcp(loop, url->host, url->port, on_accept, e,
                         &e->listener);
}

static bool is_stdio_taken(const mrpc_host *host) {
  for (mrpc_link *l = host->endpoints.next; l != &host->endpoints; l = l->next)
    if (mrpc_list_of(l, mrpc_endpoint, link)->url.kind == MRPC_URL_STDIO)
      return true;
  return false;
}

static int bind_new(mrpc_endpoint *e, const char *url) {
  mrpc_host *host = e->host;
  int rc = mrpc_url_parse(&e->url, url);
  if (rc) return mrpc_host_fail(host, rc, "%s: %s", url, e->url.error);
  if (mrpc_url_is_ws(&e->url) && host->config.http.websocket.off)
    return mrpc_host_fail(host, MRPC_EINVAL, "%s: websocket is off", url);
  if (e->url.kind == MRPC_URL_EXEC)
    return mrpc_host_fail(host, MRPC_ESYNTAX, "%s: one can only connect to it",
                          url);
  if (e->url.kind == MRPC_URL_STDIO && is_stdio_taken(host))
    return mrpc_host_fail(host, MRPC_EEXIST, "%s: it is served already", url);
  rc = bind_address(e);
  if (rc) return mrpc_host_fail(host, rc, "%s: %s", url, host->loop->error);
  return MRPC_OK;
}

int mrpc_endpoint_new(mrpc_host *host, const char *url) {
  mrpc_endpoint *e = mrpc_mem_new(&host->env->mem, sizeof *e);
  if (!e) return mrpc_host_fail(host, MRPC_ENOMEM, "%s: out of memory", url);
  e->host = host;
  int rc = bind_new(e, url);
  if (rc) {
    mrpc_mem_free(&host->env->mem, e, sizeof *e);
    return rc;
  }
  uint16_t port = e->listener ? mrpc_listener_port(e->listener) : 0;
  mrpc_url_write(&e->url, port, e->text, sizeof e->text);
  mrpc_list_insert(&host->endpoints, &e->link);
  host->open_endpoints++;
  return MRPC_OK;
}

int mrpc_endpoint_open(mrpc_endpoint *e) {
  if (e->listener) mrpc_listener_accept(e->listener);
  return e->stdio && !e->stdio->peer ? converse(e, e->stdio) : MRPC_OK;
}

void mrpc_endpoint_resume(mrpc_endpoint *e) {
  if (e->listener) mrpc_listener_accept(e->listener);
}

void mrpc_endpoint_close(mrpc_endpoint *e) {
  if (!e->listener) return;
  mrpc_listener_close(e->listener);
  e->listener = NULL;
  e->host->open_endpoints--;
}

void mrpc_endpoint_free(mrpc_endpoint *e) {
  mrpc_list_remove(&e->link);
  mrpc_mem_free(&e->host->env->mem, e, sizeof *e);
}
