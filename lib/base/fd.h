/* fd.h - whole reads and writes on descriptors, and messages that carry one.
 *
 * All functions retry on EINTR, return a negative errno, and open descriptors
 * close-on-exec. */
#ifndef ROAR_BASE_FD_H
#define ROAR_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

struct stat;
struct str;

/* fstat(2) by the system call of that name.  The C library often uses an empty path
 * instead, which takes the kernel longer. */
int fd_stat(int fd, struct stat *ret);

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

/* Sends a message over a Unix socket, with a copy of `fd` unless that is negative.  `flags`
 * as for send(); SIGPIPE is never raised.  Returns 0, a negative errno, or -EMSGSIZE when
 * only a part was sent (streams).  Allocates nothing and takes no lock: also for a child
 * between fork and exec. */
int fd_send(int to, const void *data, size_t len, int fd, int flags);

/* Receives such a message.  Returns the number of bytes, 0 when the peer has closed.
 * *ret_fd is its descriptor, owned by the caller, or -1.  A packet longer than `len`, or
 * with more than one descriptor, is -EBADMSG; its descriptors are closed. */
ssize_t fd_receive(int from, void *data, size_t len, int flags, int *ret_fd);

#endif
