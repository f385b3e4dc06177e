/* kept_content.h - puts content of a run into .roar/objects.
 *
 * After the record is written: what the user asked to keep (objects.keep, --keep), and,
 * outside of a git repository, the code of the project that the run read.  A file that
 * changed meanwhile, or does not fit, is not kept; the report has one sentence about it,
 * and the record stays as it is. */
#ifndef ROAR_RUN_KEPT_CONTENT_H
#define ROAR_RUN_KEPT_CONTENT_H

#include <stdint.h>

struct run;
struct str;
struct term;

/* What was done, for the report. */
struct kept_content {
	uint64_t n, n_bytes; /* kept now, or before, as the user asked */
	uint64_t n_failed;
	const char *failed_path; /* the first one; in the pool of the run */
	int error; /* why it was not kept: a negative errno */
};

enum {
	/* Limits of the code of one run; those of git.h. */
	KEPT_CODE_FILE_BYTES = 1 << 20,
	KEPT_CODE_BYTES = 64 << 20,
	KEPT_CODE_FILES = 10000,
};

void kept_content_add(struct run *run);

/* ", kept 3 files (1.2 GiB)"; nothing when none was to be kept. */
void kept_content_add_words(struct str *out, const struct run *run);

/* A line about files that were not kept; nothing when there are none. */
void kept_content_add_advice(struct str *out, const struct run *run);

#endif
