/* collections.c - see collections.h */
#include "run/collections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "hash/dir/dir_hash.h"
#include "hash/file/file_hash.h"
#include "project/project.h"
#include "run/contents.h"
#include "run/dir_census.h"
#include "run/run.h"
#include "store/store_collection.h"

/* The files of one side, sorted by path when they are first needed: those below a
 * directory are neighbours. */
struct side {
	const struct run_file **files;
	size_t n, cap;
	bool sorted;
};

struct reading {
	struct run *run;
	struct dir_census *census;
	struct side sides[DIR_SIDES];
};

static const unsigned roles[DIR_SIDES] = {
	[DIR_READ] = LINEAGE_INPUT,
	[DIR_WRITTEN] = LINEAGE_OUTPUT,
};

/* ---- the files ---- */

static const struct content *content_of(const struct run_file *e,
					enum dir_side side)
{
	const struct content *c = contents_find(
		e->file, side == DIR_READ ? CONTENT_INPUT : CONTENT_OUTPUT);

	return c && !c->pending && c->result == 0 ? c : NULL;
}

/* Is it a file of that side, as it is after the run?  What was read must be what is
 * there. */
static bool is_of(const struct run_file *e, enum dir_side side)
{
	if (e->filter || !(e->roles & roles[side]) || e->foreign)
		return false;
	if (side == DIR_WRITTEN && e->after_ftype == EVENT_FTYPE_SYMLINK)
		return true;
	if (side == DIR_READ && (e->roles & LINEAGE_OUTPUT || e->changed))
		return false;
	return e->after_ftype == EVENT_FTYPE_REGULAR && content_of(e, side);
}

static int add_files(struct reading *r)
{
	for (size_t i = 0; i < r->run->n_files; i++) {
		const struct run_file *e = &r->run->files[i];

		for (int side = 0; side < DIR_SIDES; side++) {
			struct side *s = &r->sides[side];
			const struct run_file **slot;

			if (!is_of(e, side))
				continue;
			slot = VEC_PUSH(s->files, s->n, s->cap);
			if (!slot ||
			    dir_census_add(r->census, e->file->path,
					   e->file->path_len, side) < 0)
				return -ENOMEM;
			*slot = e;
		}
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct run_file *x = *(const struct run_file *const *)a;
	const struct run_file *y = *(const struct run_file *const *)b;

	return strcmp(x->file->path, y->file->path);
}

/* Most programs write their files in order. */
static void sort(struct side *s)
{
	for (size_t i = 1; !s->sorted && i < s->n; i++)
		if (by_path(&s->files[i - 1], &s->files[i]) > 0) {
			qsort(s->files, s->n, sizeof(*s->files), by_path);
			break;
		}
	s->sorted = true;
}

/* The first file whose path is not before `path`. */
static size_t find_first(const struct side *s, const char *path)
{
	size_t low = 0;

	for (size_t high = s->n; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(s->files[mid]->file->path, path) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- one collection ---- */

struct leaves {
	const struct run_file **files;
	enum dir_side side;
	size_t prefix; /* bytes of the directory and its slash */
	uint64_t size;
};

static int hash_link(const char *path, uint64_t *size, uint8_t ret[BLAKE3_LEN])
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target));
	struct digests d;
	int r;

	if (n < 0)
		return -errno;
	r = digest_buffer(target, (size_t)n, DIGEST_SET_BLAKE3, &d);
	if (r == 0)
		memcpy(ret, d.blake3, BLAKE3_LEN);
	*size += (uint64_t)n;
	return r;
}

static uint64_t size_of(const struct run_file *e, const struct content *c,
			enum dir_side side)
{
	struct stat st;

	if (side == DIR_READ)
		return e->file->first.size;
	if (c->extra)
		return c->extra->stamp.size;
	return lstat(e->file->path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

static int next_leaf(void *ctx, size_t i, const char **ret_path,
		     size_t *ret_len, uint8_t ret[BLAKE3_LEN])
{
	struct leaves *l = ctx;
	const struct run_file *e = l->files[i];
	const struct content *c;

	*ret_path = e->file->path + l->prefix;
	*ret_len = e->file->path_len - l->prefix;
	if (e->after_ftype == EVENT_FTYPE_SYMLINK)
		return hash_link(e->file->path, &l->size, ret);
	c = content_of(e, l->side);
	memcpy(ret, c->blake3, BLAKE3_LEN);
	l->size += size_of(e, c, l->side);
	return 0;
}

/* 0 also where a name is not UTF-8, so that the tree has no hash. */
static int add_collection(struct reading *r, const struct dir_whole *found)
{
	struct side *s = &r->sides[found->side];
	struct run *run = r->run;
	struct leaves l = {
		.side = found->side,
		.prefix = strlen(found->path) + 1,
	};
	const char *below = pool_printf(&run->pool, "%s/", found->path);
	struct run_collection c = {
		.path = pool_strdup(&run->pool, found->path),
		.kind = found->kind,
		.role = roles[found->side],
		.n_members = (int64_t)found->n_files,
	};
	struct run_collection *slot;
	size_t first;
	int hashed;

	if (!below || !c.path)
		return -ENOMEM;
	sort(s);
	first = find_first(s, below);
	if (found->n_files > s->n - first)
		return 0; /* a name that is known twice */
	l.files = s->files + first;
	hashed = dir_hash_of_leaves(found->n_files, next_leaf, &l, c.tree);
	if (hashed < 0)
		return hashed == -ENOMEM ? hashed : 0;
	c.size = l.size;
	slot = VEC_PUSH(run->collections, run->n_collections,
			run->cap_collections);
	if (!slot)
		return -ENOMEM;
	*slot = c;
	return 0;
}

static int find_all(struct reading *r)
{
	const struct dir_whole *found;
	size_t n;
	int e = add_files(r);

	if (e == 0)
		e = dir_census_take(r->census, &found, &n);
	for (size_t i = 0; e == 0 && i < n; i++)
		e = add_collection(r, &found[i]);
	return e;
}

int collections_read(struct run *run)
{
	CLEANUP(dir_census_freep) struct dir_census *census = NULL;
	const char *const places[] = { run->project->root, getenv("HOME"),
				       run->filters.tmpdir, "/tmp",
				       "/var/tmp" };
	struct reading r = { .run = run };
	int e = dir_census_new(places, sizeof(places) / sizeof(*places),
			       &census);

	r.census = census;
	if (e == 0)
		e = find_all(&r);
	for (int side = 0; side < DIR_SIDES; side++)
		free(r.sides[side].files);
	return e;
}

void collections_release(struct run *run)
{
	free(run->collections);
	run->collections = NULL;
	run->n_collections = run->cap_collections = 0;
}

const struct run_collection *collections_written(const struct run *run,
						 const char *path)
{
	for (size_t i = 0; i < run->n_collections; i++) {
		const struct run_collection *c = &run->collections[i];

		if (c->role == LINEAGE_OUTPUT && !strcmp(c->path, path))
			return c;
	}
	return NULL;
}

/* ---- recording ---- */

static int record_one(struct run *run, struct store *store,
		      const struct run_collection *c, struct roar_error *err)
{
	struct store_collection row = {
		.kind = c->kind,
		.n_members = c->n_members,
		.size = (int64_t)c->size,
	};
	struct store_collection_use use = {
		.job_id = run->job.id,
		.role = c->role,
		.path = c->path,
	};
	int r;

	memcpy(row.blake3, c->tree, BLAKE3_LEN);
	r = store_collection_add(store, &row, &use.collection.id, err);
	return r < 0 ? r : store_collection_use_add(store, &use, err);
}

int collections_record(struct run *run, struct store *store,
		       struct roar_error *err)
{
	int r = 0;

	if (!run->recovered && report_is_output(run)) {
		collections_release(run);
		r = collections_read(run);
		if (r < 0)
			return error_set(err, r, "out of memory");
	}
	for (size_t i = 0; r == 0 && i < run->n_collections; i++)
		r = record_one(run, store, &run->collections[i], err);
	return r;
}
