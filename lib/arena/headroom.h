/* headroom.h - how much memory can be had before the kernel kills for it.
 *
 * fallocate() on a memfd knows no limit: where the machine, or the control group, has not
 * that much, it goes on until the out-of-memory killer has ended somebody, most likely
 * somebody else.  So one has to ask before. */
#ifndef ROAR_ARENA_HEADROOM_H
#define ROAR_ARENA_HEADROOM_H

#include <stdint.h>

/* Bytes, UINT64_MAX when nothing tells. */
uint64_t headroom_bytes(void);

/* The same of other folders than /proc and /sys/fs/cgroup, for tests. */
uint64_t headroom_of(const char *proc, const char *cgroup);

#endif
