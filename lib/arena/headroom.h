/* headroom.h - how much memory can be allocated before the out-of-memory killer acts.
 *
 * fallocate() on a memfd does not fail when the machine or the control group has too little
 * memory: it goes on until the out-of-memory killer ends a process, most likely another
 * one.  So the caller checks first. */
#ifndef ROAR_ARENA_HEADROOM_H
#define ROAR_ARENA_HEADROOM_H

#include <stdint.h>

/* In bytes; UINT64_MAX if it is not known. */
uint64_t headroom_bytes(void);

/* The same with other directories than /proc and /sys/fs/cgroup, for tests. */
uint64_t headroom_of(const char *proc, const char *cgroup);

#endif
