/* blob_disk_files.c - small files of a directory, its list, and removal */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "blob/blob_disk.h"

/* ---- put and get ---- */

static int write_new(int dirfd, const char *name, const void *data, size_t len)
{
	CLEANUP(closep)
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0666);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, data, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && close(TAKE_FD(fd)) < 0 && errno != EINTR)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, name, 0);
	return r;
}

/* Gives the file its name if that is free.  Some file systems know no RENAME_NOREPLACE; a
 * hard link does the same in two steps, and after a crash both names are the same file. */
static int rename_exclusive(int dirfd, const char *from, const char *to)
{
	if (renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(dirfd, from, dirfd, to, 0) < 0)
		return -errno;
	(void)unlinkat(dirfd, from, 0);
	return 0;
}

static int make_temporary(struct str *out, const char *name)
{
	uint32_t bits;

	if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return -errno;
	str_addf(out, "%s.%08x", name, bits);
	return str_error(out);
}

static void directory_of(const char *name, char *ret, size_t size)
{
	const char *slash = strchr(name, '/');

	(void)snprintf(ret, size, "%.*s", slash ? (int)(slash - name) : 0,
		       name);
}

/* The name is there, but may be gone after a power failure: take it back, so that nobody
 * relies on it. */
static int publish(struct blob_store *s, const char *from, const char *to,
		   enum blob_put_flags flags, struct roar_error *err)
{
	int dirfd = blob_disk_fd(s);
	char dir[256];
	int r = 0;

	if (flags & BLOB_PUT_EXCLUSIVE)
		r = rename_exclusive(dirfd, from, to);
	else if (renameat(dirfd, from, dirfd, to) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dirfd, from, 0);
		return blob_disk_fail(s, to, "create", r, err);
	}
	directory_of(to, dir, sizeof(dir));
	r = blob_disk_make_durable(s, dir, err);
	if (r < 0 && flags & BLOB_PUT_EXCLUSIVE)
		(void)unlinkat(dirfd, to, 0);
	return r;
}

int blob_disk_put(struct blob_store *s, const char *name, const char *temporary,
		  const void *data, size_t len, enum blob_put_flags flags,
		  struct roar_error *err)
{
	CLEANUP(str_release) struct str made = STR_INIT;
	int r = flags ? 0 : blob_disk_make_dir(s, name, err);

	if (flags & BLOB_PUT_UNSEEN)
		temporary = name;
	if (r == 0 && !temporary) {
		r = make_temporary(&made, name);
		temporary = str_cstr(&made);
	}
	if (r < 0)
		return r;
	r = write_new(blob_disk_fd(s), temporary, data, len);
	if (r < 0)
		return blob_disk_fail(s, temporary, "write", r, err);
	if (flags & BLOB_PUT_UNSEEN)
		return 0;
	return publish(s, temporary, name, flags, err);
}

int blob_disk_get(struct blob_store *s, const char *name, size_t max,
		  struct str *out, struct roar_error *err)
{
	CLEANUP(closep) int fd = blob_disk_open_file(s, name);
	int r = fd < 0 ? fd : fd_read_file(-1, proc_fd_path(fd).text, max, out);

	return r < 0 ? blob_disk_fail(s, name, "read", r, err) : 0;
}

int blob_disk_make_durable(struct blob_store *s, const char *dir,
			   struct roar_error *err)
{
	CLEANUP(closep)
	int fd = openat(blob_disk_fd(s), *dir ? dir : ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return blob_disk_fail(s, dir, "open the directory", -errno,
				      err);
	/* Some file systems cannot sync a directory, and need not. */
	if (fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
		return blob_disk_fail(s, dir, "sync the directory", -errno,
				      err);
	return 0;
}

/* ---- lists ---- */

struct listing {
	struct blob_store *store;
	const char *prefix;
	int (*fn)(void *ctx, const struct blob_entry *entry);
	void *ctx;
};

static int list_dir(const struct listing *l, const char *dir,
		    struct roar_error *err);

static bool is_between(const char *name, const char *prefix)
{
	size_t n = strlen(name), p = strlen(prefix);

	/* A directory is entered if the prefix may be below it. */
	return strncmp(name, prefix, n < p ? n : p) == 0;
}

static int list_entry(const struct listing *l, const char *dir,
		      const char *file, struct roar_error *err)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct blob_entry entry;
	struct stat st;
	int r = 0;

	if (file[0] == '.')
		return 0;
	str_addf(&name, "%s%s", dir, file);
	if (str_error(&name) < 0)
		return -ENOMEM;
	if (!is_between(name.data, l->prefix))
		return 0;
	if (fstatat(blob_disk_fd(l->store), name.data, &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno; /* just removed */
	if (S_ISDIR(st.st_mode)) {
		if (*dir)
			return 0;
		str_addc(&name, '/');
		if (str_error(&name) < 0)
			return -ENOMEM;
		r = list_dir(l, name.data, err);
	} else if (!S_ISREG(st.st_mode)) {
		return 0;
	}
	if (r || strncmp(name.data, l->prefix, strlen(l->prefix)) != 0)
		return r;
	entry = (struct blob_entry){ .name = name.data,
				     .size_bytes = (uint64_t)st.st_size,
				     .modified_ns = clock_timespec_ns(
					     st.st_mtim) };
	return l->fn(l->ctx, &entry);
}

static int list_dir(const struct listing *l, const char *dir,
		    struct roar_error *err)
{
	int fd = openat(blob_disk_fd(l->store), *dir ? dir : ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(closedirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (!d) {
		r = -errno;
		closep(&fd);
		return blob_disk_fail(l->store, dir, "list", r, err);
	}
	while (r == 0 && (errno = 0, entry = readdir(d)))
		r = list_entry(l, dir, entry->d_name, err);
	if (r == 0 && errno)
		r = blob_disk_fail(l->store, dir, "list", -errno, err);
	return r;
}

int blob_disk_list(struct blob_store *s, const char *prefix,
		   int (*fn)(void *ctx, const struct blob_entry *entry),
		   void *ctx, struct roar_error *err)
{
	const struct listing l = { s, prefix, fn, ctx };

	return list_dir(&l, "", err);
}

int blob_disk_remove(struct blob_store *s, const char *name,
		     struct roar_error *err)
{
	size_t len = strlen(name);
	bool is_dir = len && name[len - 1] == '/';

	if (unlinkat(blob_disk_fd(s), name, is_dir ? AT_REMOVEDIR : 0) == 0)
		return 0;
	return blob_disk_fail(s, name, "remove", -errno, err);
}
