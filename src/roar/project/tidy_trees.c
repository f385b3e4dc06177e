/* tidy_trees.c - see tidy_trees.h */
#include "project/tidy_trees.h"

#include <string.h>

#include "hash/file/leaf_tree_store.h"
#include "ui/view.h"

struct tidy {
	struct view *view;
	struct roar_error *err;
};

/* 1 when the content is on record, 0, or a negative errno. */
static int is_on_record(void *ctx, const uint8_t digest[BLAKE3_LEN])
{
	struct tidy *t = ctx;
	struct pool scratch = POOL_INIT;
	char hex[2 * BLAKE3_LEN + 1];
	struct store_artifact *found;
	size_t n = 0;
	int r;

	digest_hex(hex, digest, BLAKE3_LEN);
	r = store_artifacts_by_prefix(t->view->store, &scratch, hex, 1, &found,
				      &n, t->err);
	pool_release(&scratch);
	return r < 0 ? r : n > 0;
}

void tidy_trees_of(struct view *v, const struct store_file *files, size_t n)
{
	struct tidy t = { .view = v };

	for (size_t i = 0; i < n; i++)
		if (files[i].digests.have & DIGEST_SET_BLAKE3 &&
		    files[i].stamp.size >= LEAF_TREE_FILE_MIN &&
		    is_on_record(&t, files[i].digests.blake3) == 0)
			leaf_tree_store_drop(v->project.dirfd,
					     files[i].digests.blake3);
}

int tidy_trees(struct view *v, uint64_t *ret_bytes, struct roar_error *err)
{
	struct tidy t = { .view = v, .err = err };
	int r = leaf_tree_store_prune(v->project.dirfd, is_on_record, &t,
				      ret_bytes);

	if (r < 0 && !err->text[0])
		return error_set(err, r, "cannot clean up '%s/trees': %s",
				 v->project.dir, strerror(-r));
	return r;
}
