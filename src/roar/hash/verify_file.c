/* verify_file.c - see verify.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stamp.h"
#include "cli/cli.h"
#include "hash/file/file_hash.h"
#include "hash/file/leaf_tree_store.h"
#include "hash/read/file_reader.h"
#include "hash/verify.h"
#include "project/owner.h"

enum { TRIES = 4 }; /* of a file that does not hold still */

static void fail(struct verify_item *item, int error)
{
	bool gone = error == -ENOENT || error == -ENOTDIR;

	item->state = gone ? VERIFY_MISSING : VERIFY_UNREADABLE;
	item->error = error;
}

void verify_file_settle(struct verify_item *item,
			const uint8_t digest[BLAKE3_LEN], uint64_t size_bytes)
{
	bool same = memcmp(digest, item->digest, BLAKE3_LEN) == 0;

	item->state = same ? VERIFY_OK : VERIFY_CHANGED;
	item->found_bytes = size_bytes;
	if (same)
		item->proved = (struct verify_range){ 0, size_bytes };
}

/* ---- before anything is read ---- */

static void read_link(struct verify_item *item)
{
	char target[4096];
	ssize_t n = readlink(item->path, target, sizeof(target));
	struct digests d = { 0 };
	int r;

	if (n < 0 && errno == EINVAL) { /* something else took its place */
		item->state = VERIFY_CHANGED;
		return;
	}
	r = n < 0 ? -errno :
		    digest_buffer(target, (size_t)n, DIGEST_SET_BLAKE3, &d);
	if (r < 0)
		fail(item, r);
	else
		verify_file_settle(item, d.blake3, (uint64_t)n);
}

static bool has_other_size(const struct verify_item *item)
{
	return item->has_size && item->size_bytes != item->found_bytes;
}

int verify_file_look(struct verify_item *item,
		     const struct verify_options *options)
{
	struct stat st;

	if (item->state != VERIFY_OK)
		return 0;
	if (item->is_link) {
		read_link(item);
		return 0;
	}
	if (stat(item->path, &st) < 0) {
		fail(item, -errno);
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		fail(item, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL);
		return 0;
	}
	item->found_bytes = (uint64_t)st.st_size;
	if (has_other_size(item)) {
		item->state = VERIFY_CHANGED;
		return 0;
	}
	if (options->has_range && options->range.first >= item->found_bytes) {
		item->state = VERIFY_UNPROVED;
		item->why =
			"the range starts after the end of the file: give a smaller "
			"OFFSET";
		return 0;
	}
	return 1;
}

bool verify_file_is_large(const struct verify_item *item)
{
	return item->found_bytes >= LEAF_TREE_FILE_MIN;
}

/* ---- trees ---- */

/* A tree of another length says nothing about this file: the one of a file whose
 * length is on record is a bad one. */
static bool get_tree(const struct verify_item *item,
		     const struct verify_trees *trees, struct leaf_tree *ret)
{
	struct leaf_tree u;

	if (trees->dirfd < 0 ||
	    leaf_tree_store_get(trees->dirfd, item->digest, &u) < 0)
		return false;
	if (u.shape.size_bytes == item->found_bytes &&
	    u.shape.leaf_bytes <= FILE_READER_LEAF_MAX) {
		*ret = u;
		return true;
	}
	leaf_tree_release(&u);
	if (item->has_size)
		leaf_tree_store_drop(trees->dirfd, item->digest);
	return false;
}

/* Whoever cannot keep it reads the file again the next time. */
static void keep_tree(const struct verify_trees *trees,
		      const struct leaf_tree *u, const char *path)
{
	bool acted;
	int r;

	if (trees->dirfd < 0 || !trees->keep)
		return;
	acted = owner_act(trees->dirfd);
	r = leaf_tree_store_put(trees->dirfd, u);
	owner_act_as_self(acted);
	if (r < 0)
		(void)cli_fail(
			"the hash tree of '%s' cannot be stored in '.roar/trees', "
			"so parts of the file cannot be proved later: %s",
			path, strerror(-r));
}

/* ---- reading ---- */

struct reading {
	struct verify_item *item;
	const struct verify_options *options;
	const struct verify_trees *trees;
	const struct leaf_tree_file_options *how;
	int fd;
};

/* The bytes of leaves `first` to `end` - 1. */
static struct verify_range bytes_of(const struct leaf_tree *u, uint64_t first,
				    uint64_t end)
{
	struct verify_range range = { first * u->shape.leaf_bytes,
				      u->shape.size_bytes };

	if (end < u->n_leaves)
		range.end = end * u->shape.leaf_bytes;
	return range;
}

/* 1 and the index of a bad leaf, 0, or a negative errno. */
static int conclude(struct verify_item *item, const struct leaf_tree *u, int r,
		    uint64_t index, struct verify_range proved)
{
	if (r < 0)
		return r;
	item->state = r > 0 ? VERIFY_CHANGED : VERIFY_OK;
	if (r > 0)
		item->bad = bytes_of(u, index, index + 1);
	else
		item->proved = proved;
	return 0;
}

static int check_range(struct reading *reading, const struct leaf_tree *u)
{
	struct verify_range range = reading->options->range;
	uint64_t leaf = u->shape.leaf_bytes;
	uint64_t first = range.first / leaf;
	uint64_t index = 0;
	uint64_t end;
	int r;

	if (range.end > u->shape.size_bytes)
		range.end = u->shape.size_bytes;
	end = (range.end + leaf - 1) / leaf;
	r = leaf_tree_file_check_part(reading->fd, u, first, end, reading->how,
				      &index);
	return conclude(reading->item, u, r, index, bytes_of(u, first, end));
}

static int check_whole(struct reading *reading, const struct leaf_tree *u)
{
	uint64_t index = 0;
	int r = leaf_tree_file_check(reading->fd, u, reading->how, &index);

	return conclude(reading->item, u, r, index,
			bytes_of(u, 0, u->n_leaves));
}

static int make_tree(struct reading *reading)
{
	struct verify_item *item = reading->item;
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint8_t digest[BLAKE3_LEN];
	int r = leaf_tree_init(&u, item->found_bytes, B3_LEAF_DEFAULT);

	if (r == 0)
		r = leaf_tree_file_fill(reading->fd, &u, reading->how);
	if (r < 0)
		return r;
	leaf_tree_root(&u, digest);
	verify_file_settle(item, digest, item->found_bytes);
	if (item->state == VERIFY_OK)
		keep_tree(reading->trees, &u, item->path);
	return 0;
}

static int read_once(struct reading *reading)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	struct verify_item *item = reading->item;

	if (has_other_size(item)) {
		item->state = VERIFY_CHANGED;
		return 0;
	}
	if (get_tree(item, reading->trees, &u))
		return reading->options->has_range ? check_range(reading, &u) :
						     check_whole(reading, &u);
	if (!reading->options->has_range)
		return make_tree(reading);
	item->state = VERIFY_UNPROVED;
	item->why =
		reading->trees->keep ?
			"no hash tree of the file is stored, so a part cannot be "
			"proved: verify the file once without --range to store one" :
			"no hash tree of the file is stored, so a part cannot be "
			"proved: verify the whole file, without --range";
	return 0;
}

static int look(int fd, struct stamp *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = stamp_of(&st);
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* What was found counts only when the file was the same before and after.  -ESTALE
 * when it was not. */
static int read_still(struct reading *reading)
{
	struct verify_item *item = reading->item;
	struct stamp before, after;
	int r = look(reading->fd, &before);

	if (r < 0)
		return r;
	item->found_bytes = before.size;
	item->bad = item->proved = (struct verify_range){ 0 };
	r = read_once(reading);
	if (r == 0)
		r = look(reading->fd, &after);
	return r == 0 && !stamp_equal(&before, &after) ? -ESTALE : r;
}

void verify_file_read(struct verify_item *item,
		      const struct verify_options *options,
		      const struct verify_trees *trees,
		      const struct leaf_tree_file_options *how)
{
	/* Should a FIFO be in its place by now, nobody waits for a writer. */
	CLEANUP(closep)
	int fd = open(item->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct reading reading = { item, options, trees, how, fd };
	int r = fd < 0 ? -errno : -ESTALE;

	for (int i = 0; r == -ESTALE && i < TRIES; i++)
		r = read_still(&reading);
	if (r == -ESTALE)
		r = -EAGAIN;
	else if (r == -EAGAIN || r == -EBUSY) /* the kernel's word for it */
		r = -ENOMEM;
	if (r < 0) {
		item->bad = item->proved = (struct verify_range){ 0 };
		fail(item, r);
	}
}
