/* memory.h - strings out of a tracee's memory, in one system call each. */
#ifndef ROAR_TRACE_PTRACE_MEMORY_H
#define ROAR_TRACE_PTRACE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MEMORY_PATH_MAX = 4096 };

/* Reads the NUL-terminated path at `address` into `buf` (MEMORY_PATH_MAX bytes).
 * Returns its length; -EFAULT for a bad address, -ENAMETOOLONG without a NUL in
 * that range (the kernel would refuse both), -EPERM or -ESRCH when the memory
 * cannot be read. */
ssize_t memory_read_path(pid_t tid, uint64_t address, char *buf);

/* Reads exactly `len` bytes.  0 or a negative errno. */
int memory_read(pid_t tid, uint64_t address, void *data, size_t len);

#endif
