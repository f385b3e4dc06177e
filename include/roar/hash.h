/* roar/hash.h - digests of files and of memory, as a whole and in parts.
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

/* Any combination is computed in one pass over the content. */
enum {
	ROAR_BLAKE3 = 1,
	ROAR_SHA256 = 2,
	ROAR_SHA512 = 4,
	ROAR_MD5 = 8,
	ROAR_CRC64NVME = 16, /* big-endian; detects accidental damage only */
	ROAR_GIT_BLOB = 32, /* what `git hash-object --no-filters` prints */
};

struct roar_digests {
	uint32_t have; /* bit mask of the digests that are valid */
	uint8_t blake3[32];
	uint8_t sha256[32];
	uint8_t sha512[64];
	uint8_t md5[16];
	uint8_t crc64nvme[8];
	uint8_t git_blob[20];
};

struct roar_file {
	const char *path; /* input; the other fields are output */
	int error; /* 0, or why there is no digest */
	uint64_t size_bytes;
	struct roar_digests digests;
};

/* Hashes bytes in memory; large inputs are hashed on all CPUs.  -EINVAL: `want` is empty or
 * has unknown bits; -ENOTSUP: this machine's libcrypto refuses a digest; -ENOMEM. */
int roar_hash(const void *data, size_t len, unsigned want,
	      struct roar_digests *ret);

/* Hashes one file; a large file is hashed on all CPUs.  Also -ENOENT, -EACCES and other
 * errors of open(2); -EISDIR and -EINVAL: not a regular file (it is never opened); -EAGAIN:
 * the file changed during each attempt to read it. */
int roar_hash_file(const char *path, unsigned want, struct roar_digests *ret);

/* Hashes many files with `n_threads` threads (0: one per CPU).  A file that fails has its
 * `error` set; the others are hashed.  -EINVAL and -ENOMEM concern the whole call. */
int roar_hash_files(struct roar_file *files, size_t n, unsigned want,
		    unsigned n_threads);

/* ---- the tree of a large file ----
 *
 * BLAKE3 is a tree over equal parts of a file, the leaves.  All leaves have the same
 * length, a power of two; the last one may be shorter.  A program that writes a checkpoint
 * adds leaves as they become available, in any order and from any thread.  After the last
 * leaf it has the BLAKE3 of the file without reading the file back.  If the tree is stored
 * beside the file, a reader can verify any leaf against that digest without the others.
 *
 *	struct roar_tree *t;
 *
 *	r = roar_tree_new(size, 0, &t);
 *	...	r = roar_tree_add(t, offset, data, len);	any thread
 *	r = roar_tree_root(t, digest);
 *	...
 *	roar_tree_free(t);
 */
struct roar_tree;

enum {
	ROAR_TREE_LEAF = 1 << 20, /* bytes, the default */
};

/* Creates an empty tree for a file of `size_bytes`, up to 2^63, with leaves of
 * `leaf_bytes`: a power of two from 2^10 to 2^30, or 0 for the default.  It needs 33 bytes
 * per leaf.  -EINVAL: other sizes; -ENOMEM. */
int roar_tree_new(uint64_t size_bytes, uint32_t leaf_bytes,
		  struct roar_tree **ret);
void roar_tree_free(struct roar_tree *t); /* NULL is allowed */

uint64_t roar_tree_size_bytes(const struct roar_tree *t);
uint32_t roar_tree_leaf_bytes(const struct roar_tree *t);

/* Adds the bytes of the file from `offset` on: one or more complete leaves.  So `offset` is
 * a multiple of the leaf length, and so is `len` unless the bytes reach the end of the
 * file.  Leaves that were added before are replaced.  An empty file has one empty leaf.
 * -EINVAL: the bytes are not complete leaves of the file; -EBUSY: another thread is adding
 * one of them. */
int roar_tree_add(struct roar_tree *t, uint64_t offset, const void *data,
		  size_t len);

/* The BLAKE3 of the file.  -ENODATA: a leaf is missing.  This function, roar_tree_store()
 * and roar_tree_check() must not run while a thread adds leaves. */
int roar_tree_root(const struct roar_tree *t, uint8_t ret_digest[32]);

/* Serializes the tree in the format of `man 5 roar-lineage`: its length, and its bytes into
 * `bytes`, a buffer of `len` bytes.  -ENODATA: a leaf is missing; -ENOBUFS: the buffer is
 * too small. */
size_t roar_tree_stored_len(const struct roar_tree *t);
int roar_tree_store(const struct roar_tree *t, void *bytes, size_t len);

/* Reads a serialized tree.  Nothing in it is trusted: its leaves must hash to `digest`,
 * which comes from elsewhere.  -EINVAL: not a tree; -EBADMSG: the tree of another file;
 * -ENOMEM. */
int roar_tree_load(const void *bytes, size_t len, const uint8_t digest[32],
		   struct roar_tree **ret);

/* Verifies bytes of the file from `offset` on, complete leaves as for roar_tree_add().  0:
 * they match.  -EBADMSG: they do not, and *ret_bad, which may be NULL, is the offset of the
 * first leaf that differs.  -EINVAL: as roar_tree_add(); -ENODATA: one of these leaves was
 * not added. */
int roar_tree_check(const struct roar_tree *t, uint64_t offset,
		    const void *data, size_t len, uint64_t *ret_bad);

#ifdef __cplusplus
}
#endif
#endif
