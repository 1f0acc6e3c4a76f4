/* SPDX-License-Identifier: MIT
 *
 * The host runs until the answer is there, the connection has gone, or a
 * signal ends it. Who gives up tells the server so, and lets what it says
 * leave: the connection is closed in good order, for a second at most. */
#include "cli/remote.h"

#include "cli/session.h"

typedef struct progress {
  const remote_call *call;
  session session;
  mrpc_peer *peer; /* while it is connected */
  int64_t id;      /* of the call; 0: not made */
  bool settled;    /* the code is known, the connection ends */
  bool is_stuck;   /* given up before it was connected */
  int code;
} progress;

static const double grace = 1; /* seconds for a connection to end */

static void settle(progress *p, int code) {
  if (p->settled) return;
  p->settled = true;
  p->code = code;
  if (p->peer) {
    session_alarm(grace);
    mrpc_peer_close(p->peer, NULL);
  } else {
    mrpc_host_stop(p->session.host);
  }
}

static void on_answer(mrpc_peer *peer, const mrpc_answer *answer, void *ud) {
  progress *p = ud;
  const remote_call *call = p->call;
  (void)peer;
  p->id = 0;
  if (p->settled) return;
  if (answer->result == MRPC_ETIMEOUT)
    settle(p, session_complain_late(&p->session, call->timeout));
  else if (answer->result != MRPC_OK)
    return; /* on_close knows more */
  else if (answer->is_error)
    settle(p, session_show_fault(&p->session, answer, call->unknown_hint));
  else
    settle(p, call->on_result(p->session.env, answer->json, answer->len));
}

static void on_close(mrpc_peer *peer, void *ud) {
  progress *p = ud;
  (void)peer;
  p->peer = NULL;
  if (p->settled) {
    mrpc_host_stop(p->session.host);
  } else if (*mrpc_host_error(p->session.host)) {
    int code = session_complain_host(&p->session);
    session_suggest_framing(&p->session);
    settle(p, code);
  } else if (p->call->notify) {
    settle(p, EXIT_DONE);
  } else {
    int code = session_complain(&p->session,
                                "the connection was closed without an answer");
    session_suggest_framing(&p->session);
    settle(p, code);
  }
}

static void on_open(mrpc_peer *peer, void *ud) {
  progress *p = ud;
  const remote_call *call = p->call;
  int rc;
  if (!peer) {
    settle(p, session_complain_host(&p->session));
    return;
  }
  p->peer = peer;
  if (call->notify)
    rc = mrpc_peer_notify(peer, call->method, call->params);
  else
    rc = mrpc_peer_call(peer, call->method, call->params, call->timeout,
                        on_answer, p, &p->id);
  if (rc) settle(p, session_complain(&p->session, mrpc_strerror(rc)));
  if (call->notify) mrpc_peer_drain(peer);
}

/* It takes too long, or the user doesn't want to wait. On HTTP the end of the
 * connection is what tells the server. */
static void on_signal(mrpc_host *host, void *ud) {
  progress *p = ud;
  if (p->settled) {
    mrpc_host_stop(host);
    return;
  }
  int code = EXIT_INTERRUPTED;
  if (!session_is_interrupted())
    code = session_complain_late(&p->session, p->call->timeout);
  p->is_stuck = !p->peer;
  if (p->id) mrpc_peer_cancel(p->peer, p->id);
  settle(p, code);
  if (session_is_http(&p->session)) mrpc_host_stop(host);
}

int remote_run(const remote_call *call) {
  progress p = {.call = call};
  int code =
      session_open(&p.session, call->self, call->url, NULL, on_signal, &p);
  if (!code) code = session_connect(&p.session, on_open, on_close, &p);
  if (!code) {
    session_alarm(call->timeout);
    mrpc_host_run(p.session.host);
    code = p.code;
  }
  session_close(&p.session, p.is_stuck, code);
  return code;
}
