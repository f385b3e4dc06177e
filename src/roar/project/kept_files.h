/* kept_files.h - files whose content goes into .roar/objects, within the limits of the
 * settings. */
#ifndef ROAR_KEPT_FILES_H
#define ROAR_KEPT_FILES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "keep/keep.h"
#include "project/config.h"

struct stat;

struct kept_files {
	int dirfd; /* .roar */
	const struct config *config;
	uint64_t n_total; /* bytes of all kept content */
	bool has_total;
	bool is_changed; /* something was added: keep_sync() is worth it */
};

/* Failures that are limits of the settings, not of the file system. */
enum {
	KEPT_FILES_TOO_LARGE = -EOVERFLOW, /* objects.max_file_size */
	KEPT_FILES_FULL = -E2BIG, /* objects.max_size */
};

/* Keeps the file at `path`, if it has that content.  0; one of the above; or a negative errno
 * of open(2) or keep_add(). */
int kept_files_add(struct kept_files *k, const char *path,
		   const uint8_t blake3[BLAKE3_LEN], uint64_t *ret_size_bytes,
		   enum keep_how *ret_how);

/* Opens a regular file, and nothing else.  Returns the descriptor or a negative errno. */
int kept_files_open(const char *path, struct stat *ret);

/* A phrase on a failure. */
const char *kept_files_reason(int error);

#endif
