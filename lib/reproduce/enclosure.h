/* enclosure.h - files below one directory, and nowhere else.
 *
 * Places are relative paths that may come from the record of somebody else, or meet links
 * that a step has made.  Every function walks one name after the other from the directory
 * and follows no symbolic link.  -ELOOP: the way has one,
 * or something else that is not a directory; -EINVAL: the place is absolute,
 * or has an empty name, "." or "..". */
#ifndef ROAR_REPRODUCE_ENCLOSURE_H
#define ROAR_REPRODUCE_ENCLOSURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hash/digest/digest.h"

/* Opens the directory at `place` ("." for the enclosure itself); `make` creates it and
 * those on the way.  Returns a descriptor, or a negative errno. */
int enclosure_open_dir(int dirfd, const char *place, bool make);

/* Opens the regular file at `place` for reading.  -EINVAL also for another type. */
int enclosure_open_file(int dirfd, const char *place);

/* Creates the directories above `place`. */
int enclosure_make_parents(int dirfd, const char *place);

/* Makes `place` a copy of the file `from`, in the place of a file that is there.
 * Verified: -ESTALE when the copy has another digest, and nothing has changed. */
int enclosure_copy(int dirfd, const char *place, int from, mode_t mode,
		   const uint8_t blake3[BLAKE3_LEN]);

/* Removes a file or link; a missing one is no error. */
int enclosure_remove(int dirfd, const char *place);

/* The BLAKE3 of a regular file, or of the text of a symbolic link.  *ret_is_link, which may
 * be NULL, says which. */
int enclosure_hash(int dirfd, const char *place, struct digests *ret,
		   bool *ret_is_link);

#endif
