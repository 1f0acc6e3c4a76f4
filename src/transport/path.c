/* SPDX-License-Identifier: MIT */
#include "transport/path.h"

#include <stdio.h>
#include <unistd.h>

#include "moonrpc.h"

int mrpc_path_absolute(const char *path, char *out, size_t size) {
  char here[MRPC_PATH_MAX];
  bool is_absolute = path[0] == '/';
  if (!is_absolute && !getcwd(here, sizeof here)) return MRPC_EIO;
  int len = is_absolute ? snprintf(out, size, "%s", path)
                        : snprintf(out, size, "%s/%s", here, path);
  return len < 0 || (size_t)len >= size ? MRPC_ELIMIT : MRPC_OK;
}
