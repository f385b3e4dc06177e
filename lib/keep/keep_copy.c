/* keep_copy.c - a copy that is known to be right.
 *
 * A reflink is hashed after it was made, because the source may change at any time.  The
 * bytes of a copy are hashed on their way.  Blocks of zeros stay holes. */
#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hash/digest/multihash.h"
#include "hash/file/file_hash.h"
#include "keep/keep_internal.h"

enum { PIECE = 256 * 1024 };

int keep_compare(int fd, const uint8_t blake3[BLAKE3_LEN])
{
	struct file_hash hash;
	int r = file_hash_fd(fd, DIGEST_SET_BLAKE3, NULL, NULL, &hash);

	if (r == -EAGAIN)
		return -ESTALE; /* it keeps changing */
	if (r < 0)
		return r;
	return memcmp(hash.digests.blake3, blake3, BLAKE3_LEN) == 0 ? 0 :
								      -ESTALE;
}

bool keep_clone(int from, int to)
{
	return ioctl(to, FICLONE, from) == 0;
}

static bool is_zero(const char *data, size_t len)
{
	return data[0] == '\0' && memcmp(data, data + 1, len - 1) == 0;
}

static int write_at(int fd, const char *data, size_t len, off_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
		offset += n;
	}
	return 0;
}

/* Copies until the end; returns the number of bytes. */
static int64_t copy_bytes(int from, int to, char *buffer,
			  struct multihash *hash)
{
	off_t offset = 0;

	for (;;) {
		ssize_t n = pread(from, buffer, PIECE, offset);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : (int64_t)offset;
		multihash_update(hash, buffer, (size_t)n);
		r = is_zero(buffer, (size_t)n) ?
			    0 :
			    write_at(to, buffer, (size_t)n, offset);
		if (r < 0)
			return r;
		offset += n;
	}
}

int keep_copy(int from, int to, const uint8_t blake3[BLAKE3_LEN])
{
	CLEANUP(multihash_release) struct multihash hash;
	CLEANUP(freep) char *buffer = malloc(PIECE);
	struct digests digests;
	int64_t n;
	int r;

	multihash_init(&hash);
	if (!buffer)
		return -ENOMEM;
	r = multihash_start(&hash, DIGEST_SET_BLAKE3, 0);
	if (r < 0)
		return r;
	n = copy_bytes(from, to, buffer, &hash);
	if (n < 0)
		return (int)n;
	if (ftruncate(to, n) < 0) /* it may end in a hole */
		return -errno;
	r = multihash_final(&hash, &digests);
	if (r < 0)
		return r;
	return memcmp(digests.blake3, blake3, BLAKE3_LEN) == 0 ? 0 : -ESTALE;
}
