/* hash_list.h - reads the lines of lists of digests.
 *
 * It reads the lists of b3sum, sha256sum, sha512sum, md5sum and `roar hash`, in the formats
 * of hash_line.h.  A plain line may have '*' instead of its second blank, a tagged line may
 * lack the blanks around its parentheses (openssl).  Leading blanks and a trailing carriage
 * return are dropped.
 *
 * A tagged line names its algorithm.  In a plain line it follows from the number of digits,
 * except that 64 digits are BLAKE3 or SHA-256: the caller must decide. */
#ifndef ROAR_HASH_LIST_H
#define ROAR_HASH_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "hash/digest/digest.h"

struct hash_entry {
	enum digest_algo algo;
	uint8_t digest[DIGEST_MAX]; /* its length is that of the algorithm */
	const char *name; /* of the file; points into the parsed line */
};

/* The algorithm of 64 digits in a list of that name: SHA-256 if it ends in ".sha256" or
 * "SHA256SUMS", otherwise BLAKE3. */
enum digest_algo hash_list_of_64(const char *list_name);

/* Parses one line without its newline, and modifies it.  line[len] must be NUL.  Returns 1
 * and an entry; 0: an empty line or a comment (#); -EINVAL: anything else. */
int hash_list_parse(char *line, size_t len, enum digest_algo of_64,
		    struct hash_entry *ret);

#endif
