/* SPDX-License-Identifier: MIT */
#include "moonrpc.h"

const char *mrpc_strerror(int code) {
  switch (code) {
    case MRPC_OK: return "success";
    case MRPC_PARTIAL: return "more bytes are needed";
    case MRPC_EINVAL: return "invalid argument";
    case MRPC_ESTATE: return "not possible in this state";
    case MRPC_ELIMIT: return "limit exceeded";
    case MRPC_ENOTFOUND: return "not found";
    case MRPC_EEXIST: return "already exists";
    case MRPC_ESYNTAX: return "malformed input";
    case MRPC_ETYPE: return "value can't be represented in JSON";
    case MRPC_ESCRIPT: return "error in a script";
    case MRPC_EIO: return "input/output error";
    case MRPC_ETIMEOUT: return "timed out";
    case MRPC_ECANCELLED: return "cancelled";
    case MRPC_ECLOSED: return "connection closed";
    case MRPC_ESIGPIPE: return "SIGPIPE isn't ignored";
    case MRPC_ENOMEM: return "out of memory";
    case MRPC_EPROTO: return "protocol error";
    default: return "unknown error";
  }
}
