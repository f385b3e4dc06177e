/* keep_list.c - all that is kept */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "hash/digest/digest.h"
#include "keep/keep_internal.h"

/* A writer that has not ended by then never will. */
#define ABANDONED_NS (INT64_C(3600) * 1000000000)

/* Calls `fn` for each file of a folder. */
struct walk {
	int (*fn)(struct walk *w, int fd, const char *folder, const char *name,
		  const struct stat *st);
	int (*each)(void *ctx, const struct keep_item *item);
	void *ctx;
	uint64_t n_bytes; /* freed */
};

static int open_folder(int at, const char *name, DIR **ret)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = fdopendir(fd);
	if (!*ret) {
		closep(&fd);
		return -ENOMEM;
	}
	return 0;
}

/* 0 also for what is gone meanwhile. */
static int walk_folder(struct walk *w, int at, const char *folder)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *e;
	int r = open_folder(at, folder, &dir);

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || r == -ELOOP ? 0 : r;
	while (r == 0 && (e = readdir(dir))) {
		struct stat st;

		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
			    0 &&
		    S_ISREG(st.st_mode))
			r = w->fn(w, dirfd(dir), folder, e->d_name, &st);
	}
	return r;
}

static int walk_all(struct walk *w, int at)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *e;
	int r = open_folder(at, KEEP_FOLDER, &dir);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while (r == 0 && (e = readdir(dir)))
		if (strlen(e->d_name) == 2 && e->d_name[0] != '.')
			r = walk_folder(w, dirfd(dir), e->d_name);
	return r;
}

/* ---- what it is for ---- */

static int give_item(struct walk *w, int fd, const char *folder,
		     const char *name, const struct stat *st)
{
	struct keep_item item = {
		.size_bytes = (uint64_t)st->st_size,
		.kept_ns = clock_timespec_ns(st->st_ctim),
		.is_linked = st->st_nlink > 1,
	};
	uint8_t bytes[DIGEST_MAX];
	char hex[KEEP_HEX_LEN + 1];

	(void)fd;
	if (strlen(name) != KEEP_HEX_LEN - 2)
		return 0;
	memcpy(hex, folder, 2);
	memcpy(hex + 2, name, KEEP_HEX_LEN - 1);
	if (digest_parse_hex(hex, bytes) != KEEP_HEX_LEN)
		return 0;
	memcpy(item.blake3, bytes, BLAKE3_LEN);
	return w->each(w->ctx, &item);
}

int keep_each(int dirfd, int (*fn)(void *ctx, const struct keep_item *item),
	      void *ctx)
{
	struct walk w = { .fn = give_item, .each = fn, .ctx = ctx };

	return walk_all(&w, dirfd);
}

static int sweep_file(struct walk *w, int fd, const char *folder,
		      const char *name, const struct stat *st)
{
	(void)folder;
	if (strlen(name) > KEEP_HEX_LEN - 2 && strstr(name, ".roar-") &&
	    clock_timespec_ns(st->st_ctim) < clock_now_ns() - ABANDONED_NS &&
	    unlinkat(fd, name, 0) == 0)
		w->n_bytes += (uint64_t)st->st_size;
	return 0;
}

int keep_sweep(int dirfd, uint64_t *ret_bytes)
{
	struct walk w = { .fn = sweep_file };
	int r = walk_all(&w, dirfd);

	if (r == 0)
		*ret_bytes = w.n_bytes;
	return r;
}

struct total {
	uint64_t n_bytes, n;
};

static int add_total(void *ctx, const struct keep_item *item)
{
	struct total *t = ctx;

	t->n_bytes += item->size_bytes;
	t->n++;
	return 0;
}

int keep_total(int dirfd, uint64_t *ret_bytes, uint64_t *ret_n)
{
	struct total t = { 0 };
	int r = keep_each(dirfd, add_total, &t);

	if (r == 0) {
		*ret_bytes = t.n_bytes;
		*ret_n = t.n;
	}
	return r;
}
