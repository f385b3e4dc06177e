/* dir_hash.c - see dir_hash.h; the text itself is written in dir_hash_text.c */
#include "hash/dir/dir_hash.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"
#include "hash/digest/multihash.h"
#include "hash/dir/dir_hash_internal.h"
#include "hash/file/file_hash.h"

int dir_hash_new(struct dir_hash **ret)
{
	struct dir_hash *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	return 0;
}

void dir_hash_free(struct dir_hash *t)
{
	if (!t)
		return;
	pool_release(&t->paths);
	free(t->leaves);
	free(t);
}

static int check_name(const char *name, size_t len)
{
	if (len == 0 || memchr(name, '\0', len))
		return -EINVAL;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return -EINVAL;
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_length(name + i, len - i);
		if (n == 0)
			return -EILSEQ;
	}
	return 0;
}

int dir_hash_check_path(const char *path, size_t len)
{
	const char *end = path + len;

	if (len > DIR_HASH_PATH_MAX)
		return -ENAMETOOLONG;
	for (;;) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		const char *stop = slash ? slash : end;
		int r = check_name(path, (size_t)(stop - path));

		if (r < 0 || !slash)
			return r;
		path = slash + 1;
	}
}

int dir_hash_leaf_compare(const struct dir_hash_leaf *a,
			  const struct dir_hash_leaf *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->path, b->path, len);

	if (order != 0)
		return order;
	return (a->len > b->len) - (a->len < b->len);
}

static int add(struct dir_hash *t, const char *path, size_t len,
	       const struct dir_hash_leaf *leaf)
{
	int r = dir_hash_check_path(path, len);
	struct dir_hash_leaf *slot;
	const char *copy;

	if (r < 0)
		return r;
	if (t->n >= DIR_HASH_LEAVES_MAX ||
	    t->n_bytes + len > DIR_HASH_PATHS_MAX)
		return -E2BIG;
	r = vec_reserve(&t->leaves, &t->cap, t->n + 1, sizeof(*t->leaves));
	copy = r < 0 ? NULL : pool_dup(&t->paths, path, len);
	if (!copy)
		return -ENOMEM;

	slot = &t->leaves[t->n++];
	*slot = *leaf;
	slot->path = copy;
	slot->len = (uint32_t)len;
	t->n_bytes += len;
	if (t->n > 1 && dir_hash_leaf_compare(slot - 1, slot) >= 0)
		t->unsorted = true;
	return 0;
}

int dir_hash_add_file(struct dir_hash *t, const char *path, size_t len,
		      const struct stamp *stamp)
{
	return add(t, path, len, &(struct dir_hash_leaf){ .stamp = *stamp });
}

int dir_hash_add_digest(struct dir_hash *t, const char *path, size_t len,
			const uint8_t blake3[BLAKE3_LEN])
{
	struct dir_hash_leaf leaf = { .hashed = true };

	memcpy(leaf.blake3, blake3, BLAKE3_LEN);
	return add(t, path, len, &leaf);
}

int dir_hash_add_link(struct dir_hash *t, const char *path, size_t len,
		      const char *target, size_t target_len)
{
	struct digests d;
	int r = digest_buffer(target, target_len, DIGEST_SET_BLAKE3, &d);

	return r < 0 ? r : dir_hash_add_digest(t, path, len, d.blake3);
}

static int compare(const void *a, const void *b)
{
	return dir_hash_leaf_compare(a, b);
}

/* A path that came twice leaves the tree unsorted: every later call says so. */
int dir_hash_sort(struct dir_hash *t)
{
	if (!t->unsorted)
		return 0;
	qsort(t->leaves, t->n, sizeof(*t->leaves), compare);
	for (size_t i = 1; i < t->n; i++)
		if (compare(&t->leaves[i - 1], &t->leaves[i]) == 0)
			return -EEXIST;
	t->unsorted = false;
	return 0;
}

size_t dir_hash_count(const struct dir_hash *t)
{
	return t->n;
}

const struct dir_hash_leaf *dir_hash_leaf(const struct dir_hash *t, size_t i)
{
	assert(i < t->n);
	return &t->leaves[i];
}

void dir_hash_set_digest(struct dir_hash *t, size_t i,
			 const uint8_t blake3[BLAKE3_LEN],
			 const struct stamp *stamp)
{
	struct dir_hash_leaf *leaf = &t->leaves[i];

	assert(i < t->n);
	memcpy(leaf->blake3, blake3, BLAKE3_LEN);
	leaf->hashed = true;
	if (stamp)
		leaf->stamp = *stamp;
}

static int feed(void *ctx, const void *data, size_t len)
{
	multihash_update(ctx, data, len);
	return 0;
}

/* The BLAKE3 of a text, by multihash_update() as its sink. */
static int finish(struct multihash *m, int r, uint8_t ret[BLAKE3_LEN])
{
	struct digests d;

	if (r == 0)
		r = multihash_final(m, &d);
	multihash_release(m);
	if (r == 0)
		memcpy(ret, d.blake3, BLAKE3_LEN);
	return r;
}

int dir_hash_root(struct dir_hash *t, uint8_t ret[BLAKE3_LEN])
{
	struct multihash m;
	int r;

	multihash_init(&m);
	r = multihash_start(&m, DIGEST_SET_BLAKE3, 0);
	if (r == 0)
		r = dir_hash_text(t, feed, &m);
	return finish(&m, r, ret);
}

int dir_hash_of_leaves(size_t n, dir_hash_leaf_fn leaf, void *ctx,
		       uint8_t ret[BLAKE3_LEN])
{
	struct multihash m;
	int r;

	multihash_init(&m);
	r = multihash_start(&m, DIGEST_SET_BLAKE3, 0);
	if (r == 0)
		r = dir_hash_leaves_text(n, leaf, ctx, feed, &m);
	return finish(&m, r, ret);
}
