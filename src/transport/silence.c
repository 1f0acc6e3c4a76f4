/* SPDX-License-Identifier: MIT */
#include "transport/silence.h"

#include <stddef.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#ifdef __linux__
/* File systems that other machines write to, or that this kernel doesn't see
 * the writes of. The numbers are statfs(2)'s. */
const char *mrpc_silence_find(const char *path) {
  static const unsigned silent[] = {
      0x6969,     /* NFS */
      0x517b,     /* SMB */
      0xfe534d42, /* SMB2 */
      0xff534d42, /* CIFS */
      0x01021997, /* 9P */
      0x65735546, /* FUSE, virtiofs */
      0x786f4256, /* VirtualBox */
      0x00c36400, /* Ceph */
      0x5346414f, /* AFS */
      0x0bd00bd0  /* Lustre */
  };
  struct statfs fs;
  if (statfs(path, &fs)) return NULL;
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
    if ((unsigned)fs.f_type == silent[i])
      return "this file system doesn't tell of all changes";
  return NULL;
}
#elif defined(__APPLE__)
const char *mrpc_silence_find(const char *path) {
  (void)path;
  return NULL;
}
#else
/* kqueue tells of a directory's entries, not of what is written to them. */
const char *mrpc_silence_find(const char *path) {
  (void)path;
  return "this system doesn't tell of changes inside files";
}
#endif
