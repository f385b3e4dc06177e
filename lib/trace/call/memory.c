/* memory.c - see memory.h */
#include "trace/call/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/proc.h"

enum { PAGE = 4096, FIRST = 256 };

void memory_attach(struct memory *m, pid_t tid)
{
	if (m->tid == tid)
		return;
	if (m->tid)
		(void)close(m->fd);
	m->tid = 0;
	if (!tid)
		return;
	m->fd = open(proc_path(tid, "mem").text, O_RDONLY | O_CLOEXEC);
	if (m->fd >= 0)
		m->tid = tid;
}

static ssize_t read_some(const struct memory *m, pid_t tid, uint64_t address,
			 void *data, size_t len)
{
	struct iovec local = { data, len };
	struct iovec remote = { (void *)(uintptr_t)address, len };
	ssize_t n;

	if (m->tid == tid && address <= INT64_MAX)
		n = pread(m->fd, data, len, (off_t)address);
	else
		n = process_vm_readv(tid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return errno == EIO ? -EFAULT : -errno;
	return n;
}

static size_t left_of_page(uint64_t address)
{
	return PAGE - (size_t)(address & (PAGE - 1));
}

size_t memory_first_piece(uint64_t address)
{
	size_t left = left_of_page(address);

	return left < FIRST ? left : FIRST;
}

/* Reads never cross a page boundary in one piece, because the next page may
 * not be mapped; most paths end within the first piece. */
ssize_t memory_read_path(const struct memory *m, pid_t tid, uint64_t address,
			 char *buf)
{
	size_t got = 0;

	while (got < MEMORY_PATH_MAX) {
		uint64_t at = address + got;
		size_t piece = got ? left_of_page(at) : memory_first_piece(at);
		char *nul;
		ssize_t n;

		if (piece > MEMORY_PATH_MAX - got)
			piece = MEMORY_PATH_MAX - got;
		n = read_some(m, tid, at, buf + got, piece);
		if (n <= 0)
			return n < 0 ? n : -EFAULT;
		nul = memchr(buf + got, '\0', (size_t)n);
		if (nul)
			return nul - buf;
		got += (size_t)n;
	}
	return -ENAMETOOLONG;
}

int memory_read(const struct memory *m, pid_t tid, uint64_t address, void *data,
		size_t len)
{
	ssize_t n = read_some(m, tid, address, data, len);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EFAULT;
}

int memory_write(pid_t tid, uint64_t address, const void *data, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)data, len };
	struct iovec remote = { (void *)(uintptr_t)address, len };
	ssize_t n = process_vm_writev(tid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}
