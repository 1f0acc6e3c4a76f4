/* SPDX-License-Identifier: MIT
 *
 * What the texts of a config file must look like. Each check answers whether
 * `text` is fine, and else leaves a phrase in `why`. */
#ifndef MRPC_HOST_CHECK_H
#define MRPC_HOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>

bool mrpc_check_url(const char *text, char *why, size_t size);
/* A path of HTTP. */
bool mrpc_check_path(const char *text, char *why, size_t size);
/* What a Host field may name. */
bool mrpc_check_host(const char *text, char *why, size_t size);
/* scheme://host or scheme://host:port. */
bool mrpc_check_origin(const char *text, char *why, size_t size);
/* The name of a header field. */
bool mrpc_check_header(const char *text, char *why, size_t size);
/* A subprotocol of WebSocket. */
bool mrpc_check_protocol(const char *text, char *why, size_t size);

#endif
