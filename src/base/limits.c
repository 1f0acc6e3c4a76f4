/* SPDX-License-Identifier: MIT
 *
 * The defaults of all limits, in one place. */
#include "moonrpc.h"

#define DEFAULT(field, value) \
  if (limits->field == 0) limits->field = (value)

void mrpc_limits_init(mrpc_limits *limits) {
  DEFAULT(message, 4U << 20);
  DEFAULT(depth, 128);
  DEFAULT(batch, 1000);
  DEFAULT(reply, 16U << 20);
  DEFAULT(in_flight, 1024);
  DEFAULT(output, 1U << 20);
  DEFAULT(header, 16U << 10);
  DEFAULT(connections, 16384);
  DEFAULT(memory, 256U << 20);
  DEFAULT(header_time, 10);
  DEFAULT(body_time, 30);
  DEFAULT(idle_time, 60);
  DEFAULT(write_time, 30);
  DEFAULT(half_closed, 10);
  DEFAULT(wait, 60);
  DEFAULT(handler, 5);
  DEFAULT(load, 2);
}
