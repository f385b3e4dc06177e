/* fd.h - whole reads and writes on descriptors.
 *
 * All functions retry on EINTR, return a negative errno, and open descriptors
 * close-on-exec. */
#ifndef ROAR_BASE_FD_H
#define ROAR_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

struct str;

/* Writes all of it.  Returns 0 or a negative errno. */
int fd_write_all(int fd, const void *data, size_t len);

/* Reads until `len` bytes or end of file; returns the number of bytes. */
ssize_t fd_read_all(int fd, void *data, size_t len);

/* Appends the whole file to `out`.  -EFBIG when it has more than `max` bytes. */
int fd_read_file(int dirfd, const char *path, size_t max, struct str *out);

/* Puts `data` under `path` so that a reader, now or after a crash, sees the old
 * content or the new, never a part: temporary name, fsync, rename, fsync of the
 * directory.  `mode` is the mode of the new file. */
int fd_replace_file(int dirfd, const char *path, const void *data, size_t len,
		    mode_t mode);

#endif
