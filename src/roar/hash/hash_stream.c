/* hash_stream.c - see hash_stream.h */
#include "hash/hash_stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hash/digest/multihash.h"

enum { BUFFER = 256 * 1024 };

/* Waits where the descriptor does not block: it may be shared with a program that
 * made it so. */
static ssize_t read_patiently(int fd, void *data, size_t len)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	for (;;) {
		ssize_t n = read(fd, data, len);

		if (n >= 0)
			return n;
		if (errno == EAGAIN)
			(void)poll(&ready, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
}

static int feed(struct multihash *m, int fd, uint64_t *ret_bytes)
{
	CLEANUP(freep) char *buffer = malloc(BUFFER);
	uint64_t total = 0;

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read_patiently(fd, buffer, BUFFER);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		multihash_update(m, buffer, (size_t)n);
		total += (uint64_t)n;
	}
	*ret_bytes = total;
	return 0;
}

/* What there is to read of a file that was redirected; 0 where nobody knows. */
static uint64_t size_left(int fd)
{
	struct stat st;
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (at < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    at > st.st_size)
		return 0;
	return (uint64_t)(st.st_size - at);
}

int hash_stream(int fd, digest_set want, struct digests *ret,
		uint64_t *ret_bytes)
{
	CLEANUP(multihash_release) struct multihash m;
	uint64_t total;
	int r;

	multihash_init(&m);
	r = multihash_start(&m, want, size_left(fd));
	if (r == 0)
		r = feed(&m, fd, &total);
	if (r == 0)
		r = multihash_final(&m, ret);
	if (r == 0)
		*ret_bytes = total;
	return r == -ESTALE ? -ENOTSUP : r;
}
