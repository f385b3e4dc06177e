/* hash_line.h - one line about one file, as sha256sum and b3sum write it.
 *
 *	DIGEST  NAME			plain
 *	SHA256 (NAME) = DIGEST		tagged, the BSD style
 *	NAME: OK			the verdict of a check
 *
 * A name may hold every byte but NUL.  Where it has a newline, a carriage return
 * or a backslash, these are written \n, \r and \\ and the whole line begins with
 * one more backslash, so a line is always one line.  hash_list.h reads them. */
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

/* Writes lines to stdout and forgets them.  A program gets the bytes as they are;
 * on a terminal, names cannot drive it.  Returns an exit status. */
int hash_line_print(struct str *lines);

#endif
