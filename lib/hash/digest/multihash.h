/* multihash.h - several digests of one message, in one pass.
 *
 * A multihash is started, fed and finished; then it can be started again, and
 * keeps its contexts for that.  BLAKE3 and CRC-64 are our own; the others come from
 * libcrypto, which is initialised by the first set that names one of them.  That takes
 * longer than hashing a hundred small files, so a process that wants BLAKE3 alone never
 * touches it.
 *
 * A git blob begins with its own size, so that must be known before the first
 * byte.  A message that turns out longer or shorter has no such digest.
 *
 * A multihash belongs to one thread at a time. */
#ifndef ROAR_HASH_MULTIHASH_H
#define ROAR_HASH_MULTIHASH_H

#include <blake3.h>
#include <stddef.h>

#include "hash/digest/digest.h"

struct evp_md_ctx_st;

struct multihash {
	digest_set want;
	int error; /* the first failure of an update, reported at the end */
	uint64_t size; /* bytes that were announced */
	uint64_t n_fed; /* bytes that came */
	uint64_t crc64nvme;
	blake3_hasher blake3;
	struct evp_md_ctx_st *evp[DIGEST_ALGO_END]; /* made when first wanted */
};

/* Makes an empty one; nothing is allocated yet. */
void multihash_init(struct multihash *m);
void multihash_release(struct multihash *m);

/* Begins a message of `size` bytes, which only matters when `want` names the git
 * blob.  -EINVAL for an algorithm that does not exist,
 * -ENOTSUP for one that this libcrypto refuses, -ENOMEM. */
int multihash_start(struct multihash *m, digest_set want, uint64_t size);

void multihash_update(struct multihash *m, const void *data, size_t len);

/* Ends the message.  0, or a negative errno with `ret` untouched: -ESTALE when a
 * git blob was wanted and the message has another size. */
int multihash_final(struct multihash *m, struct digests *ret);

#endif
