/* private_file.h - files that only their owner may read: tokens, passwords. */
#ifndef BASE_PRIVATE_FILE_H
#define BASE_PRIVATE_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/* Reads the whole file, at most `max` bytes; `what` names its content in error messages.  The
 * memory is not reallocated while it is read, so that private_wipe() clears all of it. */
int private_file_read(const char *path, const char *what, size_t max,
		      struct str *out, struct roar_error *err);
void private_wipe(struct str *text);

#endif
