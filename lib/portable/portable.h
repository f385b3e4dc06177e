/* portable.h - records that travel: a file with everything known of some jobs.
 *
 * docs/portable-record.md has the format.  Writing and reading are streams: memory does
 * not grow with the number of jobs or files.  What is read is added in one transaction,
 * all of a file or nothing; what the record has already stays as it is. */
#ifndef ROAR_PORTABLE_PORTABLE_H
#define ROAR_PORTABLE_PORTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;

enum { PORTABLE_LINE_MAX = 64 << 20 }; /* bytes */

/* Writes the jobs, with their sessions, in this order; a joined job comes after its parts.
 * `program` is the name and version of the writer. */
int portable_write(struct store *s, const int64_t *jobs, size_t n,
		   const char *program, int fd, struct roar_error *err);

struct portable_input {
	const char *name; /* for messages; safe to print */
	int fd;
	const char *head; /* bytes that were read from `fd` already */
	size_t head_len;
};

struct portable_result {
	size_t n_jobs; /* added */
	size_t n_known; /* the record had them */
};

/* Do the first bytes begin a portable record? */
bool portable_matches(const char *head, size_t len);

/* Adds what the file has.  -EINVAL and a sentence with the line for a file that is not a
 * portable record, is damaged or contradicts itself or the record; then nothing is added.
 * Begins and commits its own transaction. */
int portable_read(struct store *s, const struct portable_input *in,
		  struct portable_result *ret, struct roar_error *err);

#endif
