/* memory.h - reads strings from a tracee's memory, in one system call each.
 *
 * Any thread can be read.  One of them, the one that stops most often, may be attached:
 * an open /proc/PID/mem saves a quarter of the time of process_vm_readv().  The
 * attachment is to the memory, not to the thread, so it must end with an exec. */
#ifndef ROAR_TRACE_CALL_MEMORY_H
#define ROAR_TRACE_CALL_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MEMORY_PATH_MAX = 4096 };

struct memory {
	pid_t tid; /* attached thread, 0 none */
	int fd; /* its memory, valid while attached */
};

/* Attaches to another thread, or to none (0). */
void memory_attach(struct memory *m, pid_t tid);

/* Reads the NUL-terminated path at `address` into `buf` (MEMORY_PATH_MAX bytes).
 * Returns its length; -EFAULT for a bad address, -ENAMETOOLONG without a NUL in
 * that range (the kernel would refuse both), -EPERM or -ESRCH when the memory
 * cannot be read. */
ssize_t memory_read_path(const struct memory *m, pid_t tid, uint64_t address,
			 char *buf);

/* The number of bytes that memory_read_path() has put in `buf` when it read a shorter
 * path there: the memory after the path was read as well. */
size_t memory_first_piece(uint64_t address);

/* Reads exactly `len` bytes.  0 or a negative errno. */
int memory_read(const struct memory *m, pid_t tid, uint64_t address, void *data,
		size_t len);

/* Writes all of `data`.  0 or a negative errno. */
int memory_write(pid_t tid, uint64_t address, const void *data, size_t len);

#endif
