/* hash_line.h - one line about one file, in the format of sha256sum and b3sum.
 *
 *	DIGEST  NAME			plain
 *	SHA256 (NAME) = DIGEST		tagged, the BSD style
 *	NAME: OK			the verdict of a check
 *
 * A name may have any bytes but NUL.  A newline, a carriage return and a backslash are
 * written as \n, \r and \\, and the line then starts with an additional backslash, so that
 * it stays one line.  hash_list.h reads them. */
#ifndef ROAR_HASH_LINE_H
#define ROAR_HASH_LINE_H

#include <stdint.h>

#include "hash/digest/digest.h"

struct str;

/* "SHA256" */
const char *hash_line_tag(enum digest_algo algo);

/* Each appends one line with its newline. */
void hash_line_plain(struct str *out, const char *name, enum digest_algo algo,
		     const uint8_t *digest);
void hash_line_tagged(struct str *out, const char *name, enum digest_algo algo,
		      const uint8_t *digest);
void hash_line_verdict(struct str *out, const char *name, const char *verdict);

/* Writes lines to stdout and clears them.  A program gets the raw bytes; for a terminal,
 * names are made printable.  Returns an exit status. */
int hash_line_print(struct str *lines);

#endif
