/* hash_stream.h - the digests of what a descriptor still has to give.
 *
 * For the standard input, whatever it is: read once, from where it stands, to its
 * end. */
#ifndef ROAR_HASH_STREAM_H
#define ROAR_HASH_STREAM_H

#include "hash/digest/digest.h"

/* 0, or the negative errno of read(2) or -ENOMEM; -ENOTSUP when a git blob is wanted,
 * which begins with its size, and nobody knows that beforehand. */
int hash_stream(int fd, digest_set want, struct digests *ret,
		uint64_t *ret_bytes);

#endif
