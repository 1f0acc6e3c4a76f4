/* SPDX-License-Identifier: MIT
 *
 * Who may speak to this server: the Host and Origin rules that keep web pages
 * and rebound DNS names out. It knows names, not requests.
 *
 * Host, its port ignored, must be the address that the listener is bound to,
 * localhost, or a configured name; a loopback listener takes 127.0.0.1 and
 * [::1] as well. A listener on all addresses (0.0.0.0, ::) takes every IP
 * literal, since no DNS name can be rebound to one. Addresses are compared as
 * text: browsers write each in one way only.
 *
 * Origin must be configured or be that of the Host itself. "null" never is
 * allowed, and "*" is no wildcard. */
#ifndef MRPC_HTTP_POLICY_H
#define MRPC_HTTP_POLICY_H

#include "framing/text.h"
#include "moonrpc.h"

/* Is it host[:port] (RFC 3986 section 3.2.2)? `name` gets the host, without
 * brackets. */
bool mrpc_http_split_host(mrpc_text host, mrpc_text *name);

/* May a request name this host? `name` is what split_host gave. */
bool mrpc_http_allows_host(const mrpc_http_config *config, mrpc_text name);

/* May a page of this origin call? `shared` gets what is to be echoed in
 * Access-Control-Allow-Origin: the configured string, or NULL for the same
 * origin, which needs none. */
bool mrpc_http_allows_origin(const mrpc_http_config *config, mrpc_text origin,
                             mrpc_text host, const char **shared);

#endif
