/* partial_file.h - a file that has not got its name yet.
 *
 * It is ".roar-HASH.part" beside the destination, and locked while a transfer writes to it:
 * two transfers to one destination would mix their bytes. */
#ifndef ROAR_PARTIAL_FILE_H
#define ROAR_PARTIAL_FILE_H

#include <stdbool.h>
#include <sys/types.h>

struct str;

/* Appends the name for this destination, an absolute path. */
void partial_file_name(struct str *out, const char *path);
/* Creates or opens it, with its directories, and locks it until it is closed.  What it has
 * stays.  The descriptor; -EBUSY: another transfer writes to it; or as open(2). */
int partial_file_open(const char *name, mode_t mode);
/* Gives it its name.  -EEXIST: the destination is there and must not be replaced. */
int partial_file_rename(const char *name, const char *path, bool replaces);

#endif
