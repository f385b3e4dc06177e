/* dir_hash_diff.c - see dir_hash_diff.h
 *
 * Both trees are sorted, so one step of a merge tells what happened to one path. */
#include "hash/dir/dir_hash_diff.h"

#include <string.h>

#include "hash/dir/dir_hash_internal.h"

struct merge {
	struct dir_hash *old_tree;
	struct dir_hash *new_tree;
	size_t i, j; /* the next leaf of each */
};

static int merge_start(struct merge *m, struct dir_hash *old_tree,
		       struct dir_hash *new_tree)
{
	int r = dir_hash_sort(old_tree);

	*m = (struct merge){ .old_tree = old_tree, .new_tree = new_tree };
	return r < 0 ? r : dir_hash_sort(new_tree);
}

/* The leaf or leaves of the next path; false at the end of both trees. */
static bool merge_next(struct merge *m, struct dir_hash_leaf **ret_old,
		       struct dir_hash_leaf **ret_new)
{
	struct dir_hash_leaf *a = NULL;
	struct dir_hash_leaf *b = NULL;
	int order;

	if (m->i < m->old_tree->n)
		a = &m->old_tree->leaves[m->i];
	if (m->j < m->new_tree->n)
		b = &m->new_tree->leaves[m->j];
	if (!a && !b)
		return false;
	order = !a ? 1 : !b ? -1 : dir_hash_leaf_compare(a, b);
	*ret_old = order <= 0 ? a : NULL;
	*ret_new = order >= 0 ? b : NULL;
	m->i += order <= 0;
	m->j += order >= 0;
	return true;
}

static bool is_same(const struct dir_hash_leaf *a,
		    const struct dir_hash_leaf *b)
{
	return a->hashed && b->hashed &&
	       memcmp(a->blake3, b->blake3, BLAKE3_LEN) == 0;
}

int dir_hash_diff(struct dir_hash *old_tree, struct dir_hash *new_tree,
		  dir_hash_diff_fn fn, void *ctx)
{
	struct dir_hash_leaf *a;
	struct dir_hash_leaf *b;
	struct merge m;
	int r = merge_start(&m, old_tree, new_tree);

	while (r >= 0 && merge_next(&m, &a, &b)) {
		if (!a)
			r = fn(ctx, DIR_HASH_ADDED, NULL, b);
		else if (!b)
			r = fn(ctx, DIR_HASH_REMOVED, a, NULL);
		else if (!is_same(a, b))
			r = fn(ctx, DIR_HASH_CHANGED, a, b);
	}
	return r < 0 ? r : 0;
}

static bool may_carry(const struct dir_hash_leaf *from,
		      const struct dir_hash_leaf *to, int64_t old_ns)
{
	return from->hashed && !to->hashed && stamp_exists(&from->stamp) &&
	       stamp_equal(&from->stamp, &to->stamp) &&
	       !stamp_is_racy(&from->stamp, old_ns);
}

int dir_hash_carry(struct dir_hash *t, struct dir_hash *old_tree,
		   int64_t old_ns)
{
	struct dir_hash_leaf *a;
	struct dir_hash_leaf *b;
	struct merge m;
	int r = merge_start(&m, old_tree, t);

	while (r == 0 && merge_next(&m, &a, &b)) {
		if (!a || !b || !may_carry(a, b, old_ns))
			continue;
		memcpy(b->blake3, a->blake3, BLAKE3_LEN);
		b->hashed = true;
	}
	return r;
}
