/* hash_list.h - reads the lines of lists of digests.
 *
 * These are the lists of b3sum, sha256sum, sha512sum, md5sum and `roar hash`, as
 * hash_line.h shows them; a plain line may have '*' in place of its second blank,
 * a tagged one no blanks around its parentheses (openssl).  Blanks before a line
 * and a carriage return behind it are dropped.
 *
 * A tagged line names its algorithm.  That of a plain one follows from the number
 * of digits, but 64 digits are BLAKE3 or SHA-256: the caller has to know. */
#ifndef ROAR_HASH_LIST_H
#define ROAR_HASH_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "hash/digest/digest.h"

struct hash_entry {
	enum digest_algo algo;
	uint8_t digest[DIGEST_MAX]; /* as many bytes as the algorithm has */
	const char *name; /* of the file; lies in the line that was parsed */
};

/* What 64 digits are in a list of that name: SHA-256 when it ends in ".sha256" or
 * "SHA256SUMS", else BLAKE3. */
enum digest_algo hash_list_of_64(const char *list_name);

/* Parses one line without its newline, and changes it.  line[len] is NUL.
 * Returns 1 with an entry, 0 for an empty line or a comment (#), -EINVAL for
 * anything else. */
int hash_list_parse(char *line, size_t len, enum digest_algo of_64,
		    struct hash_entry *ret);

#endif
