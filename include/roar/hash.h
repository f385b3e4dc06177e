/* roar/hash.h - what files and bytes are, by their content, whole and in parts.
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

/* Bytes in memory, with all CPUs if there are many.  -EINVAL for a set that is empty or
 * has unknown members, -ENOTSUP for a digest that this machine's libcrypto refuses,
 * -ENOMEM. */
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

/* ---- the tree of a large file ----
 *
 * BLAKE3 joins the values of the parts of a file.  A part is a leaf: all have one
 * length, a power of two, but the last, which has what is left.  A program that
 * writes a checkpoint hands leaves in as it has them, in any order and from any
 * threads, and has the BLAKE3 of the file when the last one is in, without reading
 * it back.  Stored beside the file, the tree lets a reader prove any leaf
 * against that digest without the others.
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

/* An empty tree of a file of `size_bytes`, up to 2^63, with leaves of `leaf_bytes`: a
 * power of two from 2^10 to 2^30, or 0 for the default.  It takes 33 bytes a leaf.
 * -EINVAL for other sizes, -ENOMEM. */
int roar_tree_new(uint64_t size_bytes, uint32_t leaf_bytes,
		  struct roar_tree **ret);
void roar_tree_free(struct roar_tree *t); /* NULL is fine */

uint64_t roar_tree_size_bytes(const struct roar_tree *t);
uint32_t roar_tree_leaf_bytes(const struct roar_tree *t);

/* Hands in the bytes of the file from `offset` on: one leaf or several, whole ones.
 * So `offset` is a multiple of a leaf, and so is `len` unless it reaches the end of
 * the file.  Leaves that were in already are replaced.  An empty file has one leaf,
 * of no bytes.  -EINVAL for bytes that are no leaves of the file, -EBUSY when another
 * thread is handing one of them in. */
int roar_tree_add(struct roar_tree *t, uint64_t offset, const void *data,
		  size_t len);

/* The BLAKE3 of the file.  -ENODATA until all leaves are in.  This, roar_tree_store() and
 * roar_tree_check() are for when no thread hands leaves in any more. */
int roar_tree_root(const struct roar_tree *t, uint8_t ret_digest[32]);

/* The tree as bytes to be kept, as `man 5 roar-lineage` describes them: how many,
 * and they themselves into `bytes`, which has room for `len`.  -ENODATA until all
 * leaves are in, -ENOBUFS when that is too little room. */
size_t roar_tree_stored_len(const struct roar_tree *t);
int roar_tree_store(const struct roar_tree *t, void *bytes, size_t len);

/* Reads a tree back.  Nothing in it is trusted: its leaves must join to `digest`, which
 * comes from elsewhere.  -EINVAL for bytes that are no tree, -EBADMSG for the tree of
 * another file, -ENOMEM. */
int roar_tree_load(const void *bytes, size_t len, const uint8_t digest[32],
		   struct roar_tree **ret);

/* Are these the bytes of the file from `offset` on?  They are whole leaves, as for
 * roar_tree_add().  0: they are.  -EBADMSG: they are not, and *ret_bad, which may be
 * NULL, is the offset of the first leaf that is not.  -EINVAL as roar_tree_add(),
 * -ENODATA when such a leaf is not in. */
int roar_tree_check(const struct roar_tree *t, uint64_t offset,
		    const void *data, size_t len, uint64_t *ret_bad);

#ifdef __cplusplus
}
#endif
#endif
