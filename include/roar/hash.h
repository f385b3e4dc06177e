/* roar/hash.h - what files and bytes are, by their content.
 *
 * For C and C++; link with -lroar.  All functions may be called from any number of
 * threads at once.  Errors are negative errno values.
 *
 *	struct roar_digests d;
 *
 *	if (roar_hash_file("model.pt", ROAR_BLAKE3 | ROAR_SHA256, &d) == 0)
 *		use(d.blake3, d.sha256);
 */
#ifndef ROAR_HASH_H
#define ROAR_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Any set of them is taken in one pass over the content. */
enum {
	ROAR_BLAKE3 = 1,
	ROAR_SHA256 = 2,
	ROAR_SHA512 = 4,
	ROAR_MD5 = 8,
	ROAR_CRC64NVME = 16, /* big-endian; finds accidents, no intent */
	ROAR_GIT_BLOB = 32, /* what `git hash-object --no-filters` prints */
};

struct roar_digests {
	uint32_t have; /* which of the following are filled in */
	uint8_t blake3[32];
	uint8_t sha256[32];
	uint8_t sha512[64];
	uint8_t md5[16];
	uint8_t crc64nvme[8];
	uint8_t git_blob[20];
};

struct roar_file {
	const char *path; /* to be filled in by the caller, the rest by us */
	int error; /* 0, or why there is no digest */
	uint64_t size_bytes;
	struct roar_digests digests;
};

/* Bytes in memory.  -EINVAL for a set that is empty or has unknown members, -ENOTSUP
 * for a digest that this machine's libcrypto refuses, -ENOMEM. */
int roar_hash(const void *data, size_t len, unsigned want,
	      struct roar_digests *ret);

/* One file, with all CPUs if it is large.  Also -ENOENT, -EACCES, ... as open(2);
 * -EISDIR and -EINVAL for what is no regular file, which is never opened; -EAGAIN
 * when the file changed whenever it was read. */
int roar_hash_file(const char *path, unsigned want, struct roar_digests *ret);

/* Many files, with `n_threads` threads (0: one per CPU).  What fails has its `error`, the
 * others are hashed.  -EINVAL and -ENOMEM are those of the whole. */
int roar_hash_files(struct roar_file *files, size_t n, unsigned want,
		    unsigned n_threads);

#ifdef __cplusplus
}
#endif
#endif
