/* leaf_tree_store.c - see leaf_tree_store.h */
#include "hash/file/leaf_tree_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "hash/digest/digest.h"

#define FOLDER "trees"

enum {
	HEX_LEN = 2 * BLAKE3_LEN,
	NAME_LEN = sizeof(FOLDER "/") + HEX_LEN, /* with the NUL */
	TEMP_LEN = NAME_LEN + 64,
	STORED_MAX = 1 << 30, /* bytes: the tree of 32 TiB in leaves of 1 MiB */
};

/* A writer that has not ended by then never will. */
#define ABANDONED_NS (INT64_C(3600) * 1000000000)

static void name_of(const uint8_t digest[BLAKE3_LEN], char name[NAME_LEN])
{
	char hex[HEX_LEN + 1];

	digest_hex(hex, digest, BLAKE3_LEN);
	(void)snprintf(name, NAME_LEN, FOLDER "/%s", hex);
}

/* ---- writing ---- */

/* Of the right length is good enough here: leaf_tree_store_get() finds out what is wrong with
 * it, and the next one that is put takes its place. */
static bool is_there(int dirfd, const char *name, size_t len)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == len;
}

/* A unique name: containers that share the directory may have equal pids, and threads of a
 * process share one, so `n` is atomic. */
static void temp_of(const char *name, char temp[TEMP_LEN])
{
	static _Atomic unsigned n;

	(void)snprintf(temp, TEMP_LEN, "%s.%ld-%lld-%u", name, (long)getpid(),
		       (long long)clock_now_ns(), atomic_fetch_add(&n, 1));
}

static int open_new(int dirfd, const char *temp)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dirfd, temp, flags, 0600);

	if (fd < 0 && errno == ENOENT &&
	    (mkdirat(dirfd, FOLDER, 0700) == 0 || errno == EEXIST))
		fd = openat(dirfd, temp, flags, 0600);
	return fd < 0 ? -errno : fd;
}

static int write_tree(int dirfd, const char *name, const uint8_t *bytes,
		      size_t len)
{
	char temp[TEMP_LEN];
	CLEANUP(closep) int fd = -1;
	int r;

	temp_of(name, temp);
	fd = open_new(dirfd, temp);
	if (fd < 0)
		return fd;
	r = fd_write_all(fd, bytes, len);
	if (r == 0 && renameat(dirfd, temp, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, temp, 0);
	return r < 0 ? r : 1;
}

int leaf_tree_store_put(int dirfd, const struct leaf_tree *u)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	size_t len = leaf_tree_stored_len(u);
	uint8_t digest[BLAKE3_LEN];
	char name[NAME_LEN];

	leaf_tree_root(u, digest);
	name_of(digest, name);
	if (is_there(dirfd, name, len))
		return 0;
	if (len > STORED_MAX)
		return -EFBIG;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	leaf_tree_store(u, bytes);
	return write_tree(dirfd, name, bytes, len);
}

/* ---- reading ---- */

/* -EBADMSG for what can be no tree. */
static int open_tree(int dirfd, const char *name, size_t *ret_len)
{
	CLEANUP(closep)
	int fd = openat(dirfd, name,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EBADMSG : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > STORED_MAX)
		return -EBADMSG;
	*ret_len = (size_t)st.st_size;
	return TAKE_FD(fd);
}

static int read_tree(int dirfd, const char *name, const uint8_t *digest,
		     struct leaf_tree *ret)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	CLEANUP(closep) int fd = -1;
	size_t len = 0;
	ssize_t n;

	fd = open_tree(dirfd, name, &len);
	if (fd < 0)
		return fd;
	bytes = malloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	n = fd_read_all(fd, bytes, len);
	if (n < 0)
		return (int)n;
	return leaf_tree_load(bytes, (size_t)n, digest, ret);
}

int leaf_tree_store_get(int dirfd, const uint8_t digest[BLAKE3_LEN],
			struct leaf_tree *ret)
{
	char name[NAME_LEN];
	int r;

	name_of(digest, name);
	r = read_tree(dirfd, name, digest, ret);
	if (r != -EINVAL && r != -EBADMSG)
		return r;
	leaf_tree_store_drop(dirfd, digest);
	return -ENOENT;
}

/* ---- removing ---- */

void leaf_tree_store_drop(int dirfd, const uint8_t digest[BLAKE3_LEN])
{
	char name[NAME_LEN];

	name_of(digest, name);
	(void)unlinkat(dirfd, name, 0);
}

static bool parse_name(const char *name, uint8_t digest[DIGEST_MAX])
{
	return strlen(name) == HEX_LEN &&
	       digest_parse_hex(name, digest) == HEX_LEN;
}

static bool is_abandoned(const struct stat *st)
{
	return clock_timespec_ns(st->st_mtim) < clock_now_ns() - ABANDONED_NS;
}

static int prune_one(int dirfd, const char *name,
		     int (*wanted)(void *ctx, const uint8_t *digest), void *ctx,
		     uint64_t *n_bytes)
{
	uint8_t digest[DIGEST_MAX];
	struct stat st;
	int keep;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* another was faster */
	keep = parse_name(name, digest) ? wanted(ctx, digest) :
					  !is_abandoned(&st);
	if (keep != 0)
		return keep < 0 ? keep : 0;
	if (unlinkat(dirfd, name, 0) == 0)
		*n_bytes += (uint64_t)st.st_size;
	return 0;
}

int leaf_tree_store_prune(int dirfd,
			  int (*wanted)(void *ctx,
					const uint8_t digest[BLAKE3_LEN]),
			  void *ctx, uint64_t *ret_bytes)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *e;
	uint64_t n_bytes = 0;
	int fd = openat(dirfd, FOLDER,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd < 0 && errno != ENOENT ? -errno : 0;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir) {
		r = -errno;
		closep(&fd);
	}
	while (dir && r == 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			r = prune_one(fd, e->d_name, wanted, ctx, &n_bytes);
	if (r == 0)
		*ret_bytes = n_bytes;
	return r;
}
