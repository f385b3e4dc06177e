/* verify_list.c - see verify.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/vec.h"
#include "event/event.h"
#include "hash/verify.h"
#include "lineage/fold.h"
#include "query/pipeline.h"
#include "query/target.h"
#include "ui/view.h"

void verify_list_release(struct verify_list *list)
{
	pool_release(&list->pool);
	free(list->all);
	*list = (struct verify_list){ 0 };
}

static struct verify_item *add(struct verify_list *list, const char *path)
{
	const char *copy = pool_strdup(&list->pool, path);
	struct verify_item *item = VEC_PUSH(list->all, list->n, list->cap);

	if (!copy || !item)
		return NULL;
	item->path = copy;
	return item;
}

static void expect(struct verify_item *item, const uint8_t digest[BLAKE3_LEN])
{
	item->has_digest = true;
	memcpy(item->digest, digest, BLAKE3_LEN);
}

static void expect_size(struct verify_item *item, uint64_t size_bytes)
{
	item->has_size = true;
	item->size_bytes = size_bytes;
}

static void cannot_prove(struct verify_item *item, const char *why)
{
	item->state = VERIFY_UNPROVED;
	item->why = why;
}

int verify_list_digest(struct verify_list *list, const char *path,
		       const uint8_t digest[BLAKE3_LEN])
{
	struct verify_item *item = add(list, path);

	if (!item)
		return -ENOMEM;
	expect(item, digest);
	return 0;
}

/* ---- by name ---- */

/* The newest that was read or written at that path: a symbolic link?  What was never
 * identified is not the older content that the target has then. */
static int look_at_newest(struct view *v, const struct target *t,
			  struct verify_item *item, struct roar_error *err)
{
	struct store_file *rows;
	size_t n;
	int r = store_path_uses(v->store, &v->pool, t->path, &rows, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (!(rows[i].role & (LINEAGE_INPUT | LINEAGE_OUTPUT)))
			continue;
		item->is_link = rows[i].ftype == EVENT_FTYPE_SYMLINK;
		if (rows[i].ftype == EVENT_FTYPE_OBJECT)
			item->state = VERIFY_REMOTE;
		else if (rows[i].ftype == EVENT_FTYPE_DIRECTORY)
			cannot_prove(item, "it is a directory: verify the "
					   "files in it");
		else if (rows[i].artifact_id != t->artifact.id)
			cannot_prove(item, "the record has no digest of its "
					   "newest content");
		break;
	}
	return r;
}

int verify_list_unproved(struct verify_list *list, const char *path,
			 const char *why)
{
	struct verify_item *item = add(list, path);
	const char *text = pool_strdup(&list->pool, why);

	if (!item || !text)
		return -ENOMEM;
	cannot_prove(item, text);
	return 0;
}

int verify_list_file(struct verify_list *list, struct view *v, const char *word,
		     const struct target *t, struct roar_error *err)
{
	struct verify_item *item;
	int r = verify_list_digest(list, word, t->artifact.digests.blake3);

	if (r < 0)
		return r;
	item = &list->all[list->n - 1];
	expect_size(item, (uint64_t)t->artifact.size);
	return look_at_newest(v, t, item, err);
}

/* ---- the session ---- */

/* What is known of one path. */
struct seen {
	const struct store_file *newest;
	bool written; /* by any job of the session */
};

static int see(struct view *v, struct map *paths, const struct store_file *row)
{
	size_t len = strlen(row->path);
	struct seen *seen = map_get(paths, row->path, len);

	if (!seen) {
		seen = pool_alloc(&v->pool, sizeof(*seen));
		if (!seen)
			return -ENOMEM;
		*seen = (struct seen){ .newest = row };
		if (map_set(paths, row->path, len, seen) < 0)
			return -ENOMEM;
	}
	/* Rows are ordered by job; within one, outputs are newer than inputs. */
	if (row->job_id != seen->newest->job_id || row->role & LINEAGE_OUTPUT)
		seen->newest = row;
	seen->written |= row->role & LINEAGE_OUTPUT;
	return 0;
}

static bool is_wanted(const struct seen *seen, enum verify_which which)
{
	uint8_t type = seen->newest->ftype;

	if (type != EVENT_FTYPE_REGULAR && type != EVENT_FTYPE_SYMLINK &&
	    type != EVENT_FTYPE_OBJECT)
		return false;
	return which == VERIFY_ALL ||
	       (which == VERIFY_OUTPUTS) == seen->written;
}

int verify_list_row(struct verify_list *list, const struct view *v,
		    const struct pipeline *p, const struct store_file *row)
{
	struct verify_item *item = add(list, path_relative(row->path,
							   v->project.cwd));

	if (!item)
		return -ENOMEM;
	item->is_link = row->ftype == EVENT_FTYPE_SYMLINK;
	item->may_be_gone = row->seen & LINEAGE_REMOVED ||
			    (p && pipeline_moved_away(p, row));
	if (row->ftype == EVENT_FTYPE_OBJECT)
		item->state = VERIFY_REMOTE;
	else if (!(row->digests.have & DIGEST_SET_BLAKE3)) {
		if (item->may_be_gone && access(row->path, F_OK) < 0)
			item->state = VERIFY_MISSING;
		else
			cannot_prove(item, "the record has no digest of it");
	}
	if (!(row->digests.have & DIGEST_SET_BLAKE3))
		return 0;
	expect(item, row->digests.blake3);
	expect_size(item, row->stamp.size);
	return 0;
}

/* In the order in which the session met them. */
static int add_rows(struct verify_list *list, struct view *v,
		    const struct pipeline *p, enum verify_which which)
{
	struct map paths = MAP_INIT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_files; i++)
		r = see(v, &paths, &p->files[i]);
	for (size_t i = 0; r == 0 && i < p->n_files; i++) {
		const char *path = p->files[i].path;
		const struct seen *seen = map_remove(&paths, path,
						     strlen(path));

		if (seen && is_wanted(seen, which))
			r = verify_list_row(list, v, p, seen->newest);
	}
	map_release(&paths);
	return r;
}

int verify_list_session(struct verify_list *list, struct view *v,
			int64_t session_id, enum verify_which which,
			struct roar_error *err)
{
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	int r = pipeline_load(&v->query, session_id, PIPELINE_NO_JOBS, &p, err);

	return r < 0 ? r : add_rows(list, v, &p, which);
}
