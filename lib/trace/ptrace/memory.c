/* memory.c - see memory.h */
#include "trace/ptrace/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { PAGE = 4096 };

static ssize_t read_some(pid_t tid, uint64_t address, void *data, size_t len)
{
	struct iovec local = { data, len };
	struct iovec remote = { (void *)(uintptr_t)address, len };
	ssize_t n = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

/* Reads never cross a page boundary in one piece, because the next page may
 * not be mapped; most paths end within the first piece. */
ssize_t memory_read_path(pid_t tid, uint64_t address, char *buf)
{
	size_t got = 0;

	while (got < MEMORY_PATH_MAX) {
		uint64_t at = address + got;
		size_t piece = PAGE - (size_t)(at & (PAGE - 1));
		char *nul;
		ssize_t n;

		if (got == 0 && piece > 256)
			piece = 256;
		if (piece > MEMORY_PATH_MAX - got)
			piece = MEMORY_PATH_MAX - got;
		n = read_some(tid, at, buf + got, piece);
		if (n <= 0)
			return n < 0 ? n : -EFAULT;
		nul = memchr(buf + got, '\0', (size_t)n);
		if (nul)
			return nul - buf;
		got += (size_t)n;
	}
	return -ENAMETOOLONG;
}

int memory_read(pid_t tid, uint64_t address, void *data, size_t len)
{
	ssize_t n = read_some(tid, address, data, len);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EFAULT;
}
