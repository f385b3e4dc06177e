/* hash_check.h - `roar hash --check`: do the files have the listed digests?
 *
 * All lists are read first, then each file.  A file is read once for all digests of
 * consecutive lines. */
#ifndef ROAR_HASH_CHECK_H
#define ROAR_HASH_CHECK_H

enum hash_check_flags {
	HASH_CHECK_QUIET = 1 << 0, /* no line for what matches */
	HASH_CHECK_STATUS = 1 << 1, /* print nothing, only the exit status */
	HASH_CHECK_IGNORE_MISSING = 1 << 2,
};

struct hash_check_options {
	/* Enum digest_algo of plain lines with 64 digits; negative: by the name of the
	 * list. */
	int of_64;
	unsigned n_threads; /* 0: the pool's default */
	unsigned flags;
};

/* Checks the lists of these names ("-": standard input), terminated by NULL.  Prints
 * verdicts and errors.  Returns an exit status. */
int hash_check(const struct hash_check_options *options, char *const *lists);

#endif
