/* multihash.h - several digests of one message, in one pass.
 *
 * A multihash is started, updated and finished; then it can be started again with the same
 * contexts.  BLAKE3 and CRC-64 are part of roar; the others come from libcrypto, which is
 * initialised when the first set needs it.  That takes longer than hashing a hundred small
 * files, so a process that wants only BLAKE3 never does it.
 *
 * A git blob starts with its own size, so the size must be known before the first byte.  A
 * message that turns out longer or shorter has no such digest.
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
	uint64_t size; /* announced length of the message */
	uint64_t n_fed; /* bytes so far */
	uint64_t crc64nvme;
	blake3_hasher blake3;
	/* Created when first needed. */
	struct evp_md_ctx_st *evp[DIGEST_ALGO_END];
};

/* Initialises an empty multihash; nothing is allocated yet. */
void multihash_init(struct multihash *m);
void multihash_release(struct multihash *m);

/* Starts a message of `size` bytes, which matters only if `want` includes the git blob.
 * -EINVAL: unknown algorithm; -ENOTSUP: this libcrypto refuses one; -ENOMEM. */
int multihash_start(struct multihash *m, digest_set want, uint64_t size);

void multihash_update(struct multihash *m, const void *data, size_t len);

/* Ends the message.  0, or a negative errno with `ret` unchanged; -ESTALE: a git blob was
 * wanted, and the message has another size. */
int multihash_final(struct multihash *m, struct digests *ret);

#endif
