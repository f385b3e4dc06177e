/* private_file.h - files that nobody but their owner may read: tokens, passwords. */
#ifndef BASE_PRIVATE_FILE_H
#define BASE_PRIVATE_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/* The whole file, of `max` bytes at most; `what` it holds is for sentences.  Its memory does not
 * move while it is read, so that it can be wiped with private_wipe(). */
int private_file_read(const char *path, const char *what, size_t max,
		      struct str *out, struct roar_error *err);
void private_wipe(struct str *text);

#endif
