/* wal_dir.c - the files of a data directory: names, making, removal */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/vec.h"
#include "coord/wal/wal_internal.h"

static const char *const prefixes[] = {
	[WAL_LOG] = "log-",
	[WAL_SNAPSHOT] = "snapshot-",
};

enum { N_DIGITS = 16 };

int wal_dir_open(struct wal_dir *d, const char *path, struct roar_error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set(err, -errno,
				 "the data directory '%s' cannot be created: %s",
				 path, strerror(errno));
	*d = (struct wal_dir){ .fd = -1, .path = strdup(path) };
	if (!d->path)
		return -ENOMEM;
	d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0)
		return error_set(err, -errno,
				 "the data directory '%s' cannot be opened: %s",
				 path, strerror(errno));
	return 0;
}

void wal_dir_release(struct wal_dir *d)
{
	free(d->path);
	free(d->files);
	closep(&d->fd);
	*d = (struct wal_dir){ .fd = -1 };
}

void wal_name(char name[WAL_NAME], enum wal_kind kind, uint64_t number)
{
	(void)snprintf(name, WAL_NAME, "%s%016" PRIx64, prefixes[kind], number);
}

static void new_name(char name[WAL_NAME], enum wal_kind kind, uint64_t number)
{
	(void)snprintf(name, WAL_NAME, "%s%016" PRIx64 ".new", prefixes[kind],
		       number);
}

/* 1: `name` is that of such a file, 2: of an unfinished one, 0: of neither. */
static int parse(const char *name, enum wal_kind kind, uint64_t *ret_number)
{
	size_t len = strlen(prefixes[kind]);
	char again[WAL_NAME];

	if (strncmp(name, prefixes[kind], len) != 0 ||
	    strnlen(name + len, N_DIGITS) != N_DIGITS)
		return 0;
	*ret_number = strtoull(name + len, NULL, 16);
	wal_name(again, kind, *ret_number);
	if (*ret_number && strcmp(name, again) == 0)
		return 1;
	new_name(again, kind, *ret_number);
	return strcmp(name, again) == 0 ? 2 : 0;
}

static int take_name(struct wal_dir *d, const char *name)
{
	for (enum wal_kind kind = WAL_LOG; kind <= WAL_SNAPSHOT; kind++) {
		struct wal_file *file;
		uint64_t number;
		int what = parse(name, kind, &number);

		if (what == 2)
			(void)unlinkat(d->fd, name, 0);
		if (what != 1)
			continue;
		file = VEC_PUSH(d->files, d->n_files, d->cap);
		if (!file)
			return -ENOMEM;
		*file = (struct wal_file){ kind, number };
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct wal_file *x = a;
	const struct wal_file *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int wal_dir_list(struct wal_dir *d)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		int e = -errno;

		closep(&fd);
		return e;
	}
	d->n_files = 0;
	while ((errno = 0, entry = readdir(dir))) {
		int e = take_name(d, entry->d_name);

		if (e < 0)
			return e;
	}
	if (errno)
		return -errno;
	if (d->n_files)
		qsort(d->files, d->n_files, sizeof(*d->files), by_number);
	return 0;
}

bool wal_dir_has(const struct wal_dir *d, enum wal_kind kind, uint64_t number)
{
	for (size_t i = 0; i < d->n_files; i++)
		if (d->files[i].kind == kind && d->files[i].number == number)
			return true;
	return false;
}

/* A pipe or a link under our names is nothing of ours: it must not make us wait,
 * nor lead us elsewhere. */
int wal_dir_file(const struct wal_dir *d, enum wal_kind kind, uint64_t number,
		 int flags)
{
	char name[WAL_NAME];
	CLEANUP(closep) int fd = -1;
	struct stat st;
	int e;

	wal_name(name, kind, number);
	fd = openat(d->fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	e = fd_stat(fd, &st);
	if (e < 0)
		return e;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EBADMSG;
}

int wal_write_at(int fd, const void *data, size_t len, uint64_t at)
{
	const char *p = data;

	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int wal_dir_create(const struct wal_dir *d, enum wal_kind kind, uint64_t number,
		   uint64_t *ret_salt)
{
	unsigned char header[WAL_HEADER];
	CLEANUP(closep) int fd = -1;
	char name[WAL_NAME];
	uint64_t salt;
	int e;

	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return -EIO;
	new_name(name, kind, number);
	fd = openat(d->fd, name,
		    O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	wal_header_put(header, kind, number, salt);
	e = wal_write_at(fd, header, sizeof(header), 0);
	if (e < 0) {
		wal_dir_forget(d, kind, number);
		return e;
	}
	*ret_salt = salt;
	return TAKE_FD(fd);
}

int wal_dir_publish(const struct wal_dir *d, enum wal_kind kind,
		    uint64_t number)
{
	char from[WAL_NAME];
	char to[WAL_NAME];

	new_name(from, kind, number);
	wal_name(to, kind, number);
	if (renameat(d->fd, from, d->fd, to) < 0)
		return -errno;
	/* Some file systems cannot sync a directory; there the name is safe without. */
	return fsync(d->fd) < 0 && errno != EINVAL ? -EIO : 0;
}

void wal_dir_forget(const struct wal_dir *d, enum wal_kind kind,
		    uint64_t number)
{
	char name[WAL_NAME];

	new_name(name, kind, number);
	(void)unlinkat(d->fd, name, 0);
}

/* What cannot be removed now is removed another time. */
void wal_dir_prune(struct wal_dir *d, uint64_t number)
{
	if (wal_dir_list(d) < 0)
		return;
	for (size_t i = 0; i < d->n_files; i++) {
		char name[WAL_NAME];

		if (d->files[i].number >= number)
			continue;
		wal_name(name, d->files[i].kind, d->files[i].number);
		(void)unlinkat(d->fd, name, 0);
	}
}
