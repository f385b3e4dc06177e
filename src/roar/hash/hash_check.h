/* hash_check.h - `roar hash --check`: do the files have the listed digests?
 *
 * All lists are read first, then each file once, with all digests that any list
 * wants of it where its lines stand together. */
#ifndef ROAR_HASH_CHECK_H
#define ROAR_HASH_CHECK_H

enum hash_check_flags {
	HASH_CHECK_QUIET = 1 << 0, /* no line for what matches */
	HASH_CHECK_STATUS = 1 << 1, /* the exit status says it all */
	HASH_CHECK_IGNORE_MISSING = 1 << 2,
};

struct hash_check_options {
	int of_64; /* enum digest_algo of plain lines with 64 digits; negative:
		    * as the list's name says */
	unsigned n_threads; /* 0: as many as the pool finds right */
	unsigned flags;
};

/* Checks the lists of these names ("-": standard input), ended by NULL.  Prints
 * the verdicts and what went wrong.  Returns an exit status. */
int hash_check(const struct hash_check_options *options, char *const *lists);

#endif
