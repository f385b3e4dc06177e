/* private_file.c - see private_file.h */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int read_all(int fd, size_t size, size_t max, struct str *out)
{
	ssize_t n;

	if (size > max)
		return -EFBIG;
	if (str_reserve(out, size + 1) < 0)
		return -ENOMEM;
	n = fd_read_all(fd, out->data, size);
	if (n < 0)
		return (int)n;
	out->len = (size_t)n;
	out->data[n] = '\0';
	return 0;
}

/* Of a server that runs as a user of its own the file is root's: it is lent to the group of
 * that user, or by an access list (systemd's credentials), whose mask stands where
 * the group's permissions stand. */
static bool is_lent(const struct stat *st)
{
	return st->st_uid == 0 && geteuid() != 0 &&
	       (st->st_gid == 0 || st->st_gid == getegid()) &&
	       !(st->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO));
}

/* Permissions are those of what was opened, whatever has the name by now. */
int private_file_read(const char *path, const char *what, size_t max,
		      struct str *out, struct roar_error *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r = fd < 0 ? -errno : fd_stat(fd, &st);

	if (r == 0 && !S_ISREG(st.st_mode))
		return error_set(err, -EINVAL,
				 "'%s' is not a regular file with %s", path,
				 what);
	if (r == 0 && st.st_mode & (S_IRWXG | S_IRWXO) && !is_lent(&st))
		return error_set(err, -EACCES,
				 "others may read or write '%s', which holds "
				 "%s: chmod 600 it (640 where it is root's "
				 "and of the server's group)",
				 path, what);
	if (r == 0)
		r = read_all(fd, (size_t)st.st_size, max, out);
	if (r < 0)
		return error_set(err, r, "cannot read the %s in '%s': %s", what,
				 path, strerror(-r));
	return 0;
}

void private_wipe(struct str *text)
{
	if (text->data)
		explicit_bzero(text->data, text->cap);
}
