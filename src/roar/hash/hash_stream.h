/* hash_stream.h - digests of the remaining content of a descriptor.
 *
 * For standard input of any kind: read once, from its position to its end. */
#ifndef ROAR_HASH_STREAM_H
#define ROAR_HASH_STREAM_H

#include "hash/digest/digest.h"

/* 0, or the negative errno of read(2) or -ENOMEM; -ENOTSUP: a git blob is wanted, which
 * starts with its size, and that is not known in advance. */
int hash_stream(int fd, digest_set want, struct digests *ret,
		uint64_t *ret_bytes);

#endif
