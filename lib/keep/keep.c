/* keep.c - see keep.h */
#include "keep/keep.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "hash/digest/digest.h"
#include "keep/keep_internal.h"

enum {
	NAME_LEN = sizeof(KEEP_FOLDER "/ab/") + KEEP_HEX_LEN,
	SUFFIX_LEN = 80,
};

static void name_of(const uint8_t blake3[BLAKE3_LEN], char name[NAME_LEN])
{
	char hex[KEEP_HEX_LEN + 1];

	digest_hex(hex, blake3, BLAKE3_LEN);
	(void)snprintf(name, NAME_LEN, KEEP_FOLDER "/%.2s/%s", hex, hex + 2);
}

/* Unique: containers that share the directory may have equal pids, and threads of a process
 * share one, so `n` is atomic. */
static void suffix_of(char suffix[SUFFIX_LEN])
{
	static _Atomic unsigned n;

	(void)snprintf(suffix, SUFFIX_LEN, ".roar-%ld-%lld-%u", (long)getpid(),
		       (long long)clock_now_ns(), atomic_fetch_add(&n, 1));
}

/* ---- reading ---- */

/* -EBADMSG for what is not a file. */
static int open_kept(int dirfd, const char *name, struct stat *ret)
{
	CLEANUP(closep)
	int fd = openat(dirfd, name,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EBADMSG : -errno;
	if (fstat(fd, ret) < 0)
		return -errno;
	return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -EBADMSG;
}

bool keep_has(int dirfd, const uint8_t blake3[BLAKE3_LEN],
	      uint64_t *ret_size_bytes)
{
	char name[NAME_LEN];
	struct stat st;

	name_of(blake3, name);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	if (ret_size_bytes)
		*ret_size_bytes = (uint64_t)st.st_size;
	return true;
}

int keep_open(int dirfd, const uint8_t blake3[BLAKE3_LEN])
{
	CLEANUP(closep) int fd = -1;
	char name[NAME_LEN];
	struct stat st;
	int r;

	name_of(blake3, name);
	fd = open_kept(dirfd, name, &st);
	if (fd < 0)
		return fd;
	r = keep_compare(fd, blake3);
	if (r < 0)
		return r == -ESTALE ? -EBADMSG : r;
	return TAKE_FD(fd);
}

int keep_verify(int dirfd, const uint8_t blake3[BLAKE3_LEN])
{
	CLEANUP(closep) int fd = keep_open(dirfd, blake3);

	return fd < 0 ? fd : 0;
}

/* ---- adding ---- */

/* What only we can have written was verified when it was added. */
static bool is_present(int dirfd, const char *name, const struct stat *from,
		       const uint8_t blake3[BLAKE3_LEN])
{
	struct stat st;
	CLEANUP(closep) int fd = open_kept(dirfd, name, &st);

	if (fd < 0 || st.st_size != from->st_size)
		return false;
	if (st.st_nlink == 1 && !(st.st_mode & 0222))
		return true;
	return keep_compare(fd, blake3) == 0;
}

static int make_folders(int dirfd, const char *name)
{
	char folder[sizeof(KEEP_FOLDER "/ab")];

	memcpy(folder, name, sizeof(folder) - 1);
	folder[sizeof(folder) - 1] = '\0';
	if (mkdirat(dirfd, folder, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (mkdirat(dirfd, KEEP_FOLDER, 0700) < 0 && errno != EEXIST)
		return -errno;
	return mkdirat(dirfd, folder, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* A file that its owner has made read-only will hardly change, and a link to it takes no
 * space.  Which user it must belong to is that of the new directory. */
static bool may_link(int dirfd, const struct stat *from)
{
	struct stat folder;

	return !(from->st_mode & 0222) &&
	       fstatat(dirfd, KEEP_FOLDER, &folder, 0) == 0 &&
	       folder.st_uid == from->st_uid && folder.st_dev == from->st_dev;
}

/* Puts a link to the source in the place of `temp`. */
static bool add_link(int dirfd, int fd, const char *temp)
{
	char self[32], link[NAME_LEN + SUFFIX_LEN + 2];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	(void)snprintf(link, sizeof(link), "%s.l", temp);
	if (linkat(AT_FDCWD, self, dirfd, link, AT_SYMLINK_FOLLOW) < 0)
		return false;
	if (renameat(dirfd, link, dirfd, temp) == 0)
		return true;
	(void)unlinkat(dirfd, link, 0);
	return false;
}

static int add_temp(int dirfd, int fd, const struct stat *st, const char *temp,
		    const uint8_t blake3[BLAKE3_LEN], enum keep_how *ret_how)
{
	CLEANUP(closep)
	int to = openat(dirfd, temp,
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			0600);
	int r;

	if (to < 0)
		return -errno;
	if (keep_clone(fd, to)) {
		*ret_how = KEEP_REFLINK;
		r = keep_compare(to, blake3);
	} else if (may_link(dirfd, st) && add_link(dirfd, fd, temp)) {
		*ret_how = KEEP_LINK;
		return keep_compare(fd, blake3);
	} else {
		*ret_how = KEEP_COPY;
		r = keep_copy(fd, to, blake3);
	}
	return r == 0 && fchmod(to, 0444) < 0 ? -errno : r;
}

int keep_add(int dirfd, int fd, const uint8_t blake3[BLAKE3_LEN],
	     enum keep_how *ret_how)
{
	char name[NAME_LEN], temp[NAME_LEN + SUFFIX_LEN], suffix[SUFFIX_LEN];
	enum keep_how how = KEEP_PRESENT;
	struct stat st;
	int r;

	assert(ret_how);
	name_of(blake3, name);
	suffix_of(suffix);
	(void)snprintf(temp, sizeof(temp), "%s%s", name, suffix);
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!is_present(dirfd, name, &st, blake3)) {
		r = make_folders(dirfd, name);
		if (r == 0)
			r = add_temp(dirfd, fd, &st, temp, blake3, &how);
		if (r == 0 && renameat(dirfd, temp, dirfd, name) < 0)
			r = -errno;
		/* Also after a rename: it does nothing if both names lead to one
		 * file. */
		(void)unlinkat(dirfd, temp, 0);
		if (r < 0)
			return r;
	}
	*ret_how = how;
	return 0;
}

int keep_sync(int dirfd)
{
	CLEANUP(closep)
	int fd = openat(dirfd, KEEP_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return syncfs(fd) < 0 ? -errno : 0;
}

int keep_remove(int dirfd, const uint8_t blake3[BLAKE3_LEN])
{
	char name[NAME_LEN];

	name_of(blake3, name);
	return unlinkat(dirfd, name, 0) < 0 ? -errno : 0;
}

/* ---- restoring ---- */

/* Not every file system can rename without replacing. */
static int give_name(int dirfd, const char *temp, const char *path,
		     unsigned flags)
{
	if (flags & KEEP_REPLACE)
		return renameat(dirfd, temp, dirfd, path) < 0 ? -errno : 0;
	if (renameat2(dirfd, temp, dirfd, path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return linkat(dirfd, temp, dirfd, path, 0) < 0 ? -errno : 0;
}

static int restore_temp(int from, int to_dirfd, const char *temp,
			const uint8_t blake3[BLAKE3_LEN], mode_t mode)
{
	CLEANUP(closep)
	int to = openat(to_dirfd, temp,
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			0600);
	int r;

	if (to < 0)
		return -errno;
	r = keep_clone(from, to) ? keep_compare(to, blake3) :
				   keep_copy(from, to, blake3);
	if (r == -ESTALE)
		r = -EBADMSG;
	return r == 0 && fchmod(to, mode) < 0 ? -errno : r;
}

int keep_restore(int dirfd, const uint8_t blake3[BLAKE3_LEN], int to_dirfd,
		 const char *path, mode_t mode, unsigned flags)
{
	CLEANUP(str_release) struct str temp = STR_INIT;
	CLEANUP(closep) int from = -1;
	char name[NAME_LEN], suffix[SUFFIX_LEN];
	struct stat st;
	int r;

	name_of(blake3, name);
	suffix_of(suffix);
	str_addf(&temp, "%s%s", path, suffix);
	if (str_error(&temp) < 0)
		return -ENOMEM;
	if (!(flags & KEEP_REPLACE) &&
	    fstatat(to_dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	from = open_kept(dirfd, name, &st);
	if (from < 0)
		return from;
	r = restore_temp(from, to_dirfd, temp.data, blake3, mode);
	if (r == 0)
		r = give_name(to_dirfd, temp.data, path, flags);
	(void)unlinkat(to_dirfd, temp.data, 0);
	return r;
}
