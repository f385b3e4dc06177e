/* job_diff.c - see job_diff.h
 *
 * Both sides of a kind are lists ordered by name, which are merged.  Files that only one
 * side has by name are then paired by content: they were moved. */
#include "query/job_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/vec.h"
#include "lineage/fold.h"
#include "query/job_facts.h"
#include "query/query.h"
#include "store/store.h"

struct diff {
	const struct job_diff_side *a, *b;
	struct pool *pool;
	struct job_diff_item *items;
	size_t n, cap;
	bool has_code[2]; /* the side read code files */
	bool has_new_code; /* that differ */
};

const char *job_diff_kind_name(enum job_diff_kind kind)
{
	static const char *const names[] = {
		[JOB_DIFF_PARAMETER] = "parameters",
		[JOB_DIFF_CODE] = "code",
		[JOB_DIFF_INPUT] = "inputs",
		[JOB_DIFF_PACKAGE] = "packages",
		[JOB_DIFF_LIBRARY] = "libraries",
		[JOB_DIFF_VARIABLE] = "environment",
		[JOB_DIFF_MACHINE] = "machine",
		[JOB_DIFF_OUTPUT] = "outputs",
		[JOB_DIFF_RESULT] = "result",
	};

	return names[kind];
}

bool job_diff_is_code(const char *path)
{
	static const char *const endings[] = {
		".py",	 ".pyx", ".ipynb", ".sh",  ".bash", ".R",   ".r",
		".jl",	 ".pl",	 ".rb",	   ".js",  ".ts",   ".lua", ".c",
		".h",	 ".cc",	 ".cpp",   ".cu",  ".rs",   ".go",  ".java",
		".yaml", ".yml", ".toml",  ".cfg", ".ini",
	};
	const char *dot = strrchr(path_basename(path), '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (strcmp(dot, endings[i]) == 0)
			return true;
	return false;
}

static int add_item(struct diff *d, const struct job_diff_item *item)
{
	struct job_diff_item *copy = VEC_PUSH(d->items, d->n, d->cap);

	if (!copy)
		return -ENOMEM;
	*copy = *item;
	return 0;
}

/* ---- facts ---- */

static int add_fact(struct diff *d, enum job_diff_kind kind,
		    const struct job_fact *a, const struct job_fact *b)
{
	const char *name = a ? a->name : b->name;

	return add_item(
		d, &(struct job_diff_item){
			   .kind = kind,
			   .name = name,
			   .a = a ? a->value : NULL,
			   .b = b ? b->value : NULL,
			   .is_incidental = job_fact_is_incidental(kind, name),
		   });
}

static int merge_facts(struct diff *d, enum job_diff_kind kind,
		       const struct job_facts *a, const struct job_facts *b)
{
	size_t i = 0, k = 0;
	int r = 0;

	while (r == 0 && (i < a->n || k < b->n)) {
		int order = i == a->n ?
				    1 :
			    k == b->n ?
				    -1 :
				    strcmp(a->items[i].name, b->items[k].name);
		const struct job_fact *x = order <= 0 ? &a->items[i++] : NULL;
		const struct job_fact *y = order >= 0 ? &b->items[k++] : NULL;

		if (!x || !y || strcmp(x->value, y->value) != 0)
			r = add_fact(d, kind, x, y);
	}
	return r;
}

static int diff_facts(struct diff *d, enum job_diff_kind kind,
		      struct roar_error *err)
{
	struct job_facts a = { .pool = d->pool }, b = { .pool = d->pool };
	int r = job_facts_read(&a, d->a, kind, err);

	if (r == 0)
		r = job_facts_read(&b, d->b, kind, err);
	if (r == 0 && a.is_unknown != b.is_unknown)
		r = add_item(d, &(struct job_diff_item){
					.kind = kind,
					.name = job_diff_kind_name(kind),
					.a = a.is_unknown ? NULL : "recorded",
					.b = b.is_unknown ? NULL : "recorded",
					.is_incidental = true });
	else if (r == 0)
		r = merge_facts(d, kind, &a, &b);
	job_facts_release(&a);
	job_facts_release(&b);
	return r;
}

/* ---- files ---- */

struct named_file {
	const char *name; /* path, without the root of its side */
	const struct store_file *row; /* NULL: paired already */
};

struct files {
	struct named_file *items;
	size_t n;
};

static int by_file_name(const void *a, const void *b)
{
	const struct named_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int read_files(struct diff *d, const struct job_diff_side *side,
		      unsigned role, struct files *ret, struct roar_error *err)
{
	struct store_file *rows;
	size_t n, kept = 0;
	int r = store_files(side->query->store, d->pool, side->job->id, false,
			    &rows, &n, err);

	if (r < 0)
		return r;
	ret->items = pool_alloc(d->pool, (n + 1) * sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (rows[i].role == role)
			ret->items[kept++] = (struct named_file){
				.name = side->root ? path_relative(rows[i].path,
								   side->root) :
						     rows[i].path,
				.row = &rows[i],
			};
	ret->n = kept;
	for (size_t i = 0; role == LINEAGE_INPUT && i < kept; i++)
		d->has_code[side == d->b] |= job_diff_is_code(
			ret->items[i].name);
	qsort(ret->items, kept, sizeof(*ret->items), by_file_name);
	return 0;
}

/* Content that was not identified is compared by its size. */
static bool is_same_content(const struct store_file *a,
			    const struct store_file *b)
{
	const uint8_t *x = digests_get(&a->digests, DIGEST_BLAKE3);
	const uint8_t *y = digests_get(&b->digests, DIGEST_BLAKE3);

	if (x && y)
		return memcmp(x, y, BLAKE3_LEN) == 0;
	return a->stamp.size == b->stamp.size;
}

static int add_file(struct diff *d, unsigned role, const struct named_file *a,
		    const struct named_file *b, bool is_moved)
{
	const char *name = a ? a->name : b->name;
	bool is_code = role == LINEAGE_INPUT && job_diff_is_code(name);

	d->has_new_code |= is_code && !is_moved;
	return add_item(d, &(struct job_diff_item){
				   .kind = is_code ? JOB_DIFF_CODE :
					   role == LINEAGE_OUTPUT ?
						     JOB_DIFF_OUTPUT :
						     JOB_DIFF_INPUT,
				   .is_incidental = is_moved,
				   .name = name,
				   .a = a ? a->name : NULL,
				   .b = b ? b->name : NULL,
				   .file_a = a ? a->row : NULL,
				   .file_b = b ? b->row : NULL,
			   });
}

/* Adds the pair to the list, and takes it off the others. */
static int pair_files(struct diff *d, unsigned role, struct named_file *a,
		      struct named_file *b, bool is_moved)
{
	int r = 0;

	if (is_moved || !is_same_content(a->row, b->row))
		r = add_file(d, role, a, b, is_moved);
	a->row = b->row = NULL;
	return r;
}

static int pair_by_name(struct diff *d, unsigned role, struct files *a,
			struct files *b)
{
	int r = 0;

	for (size_t i = 0, k = 0; r == 0 && i < a->n && k < b->n;) {
		int order = strcmp(a->items[i].name, b->items[k].name);

		if (order == 0)
			r = pair_files(d, role, &a->items[i], &b->items[k],
				       false);
		i += order <= 0;
		k += order >= 0;
	}
	return r;
}

/* The same content by another name. */
static int pair_by_content(struct diff *d, unsigned role, struct files *a,
			   struct files *b)
{
	CLEANUP(map_release) struct map of_b = MAP_INIT;
	int r = 0;

	for (size_t k = 0; r == 0 && k < b->n; k++) {
		const struct store_file *row = b->items[k].row;

		if (row && digests_get(&row->digests, DIGEST_BLAKE3))
			r = map_set(&of_b, row->digests.blake3, BLAKE3_LEN,
				    &b->items[k]);
	}
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		const struct store_file *row = a->items[i].row;
		struct named_file *other = NULL;

		if (row && digests_get(&row->digests, DIGEST_BLAKE3))
			other = map_remove(&of_b, row->digests.blake3,
					   BLAKE3_LEN);
		if (other)
			r = pair_files(d, role, &a->items[i], other, true);
	}
	return r;
}

static const char *ending_of(const struct named_file *file)
{
	const char *dot = strrchr(path_basename(file->name), '.');

	return dot ? dot : "";
}

/* The only file with its ending that is left; NULL when there are several. */
static struct named_file *only_one(struct files *files, const char *ending)
{
	struct named_file *found = NULL;

	for (size_t i = 0; i < files->n; i++) {
		if (!files->items[i].row ||
		    strcmp(ending_of(&files->items[i]), ending) != 0)
			continue;
		if (found)
			return NULL;
		found = &files->items[i];
	}
	return found;
}

/* Outputs of two variants: "a.pt" and "b.pt", each the only one of its type. */
static int pair_by_type(struct diff *d, unsigned role, struct files *a,
			struct files *b)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n && i < 64; i++) {
		struct named_file *x = &a->items[i], *y;
		const char *ending = ending_of(x);

		if (!x->row || only_one(a, ending) != x)
			continue;
		y = only_one(b, ending);
		if (y)
			r = pair_files(d, role, x, y, false);
	}
	return r;
}

static int add_rest(struct diff *d, unsigned role, const struct files *a,
		    const struct files *b)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n; i++)
		if (a->items[i].row)
			r = add_file(d, role, &a->items[i], NULL, false);
	for (size_t i = 0; r == 0 && i < b->n; i++)
		if (b->items[i].row)
			r = add_file(d, role, NULL, &b->items[i], false);
	return r;
}

static int diff_files(struct diff *d, unsigned role, struct roar_error *err)
{
	struct files a, b;
	int r = read_files(d, d->a, role, &a, err);

	if (r == 0)
		r = read_files(d, d->b, role, &b, err);
	if (r == 0)
		r = pair_by_name(d, role, &a, &b);
	if (r == 0)
		r = pair_by_content(d, role, &a, &b);
	if (r == 0 && role == LINEAGE_OUTPUT)
		r = pair_by_type(d, role, &a, &b);
	return r < 0 ? r : add_rest(d, role, &a, &b);
}

/* ---- all ---- */

static int by_kind(const void *a, const void *b)
{
	const struct job_diff_item *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	/* Of code, what it was checked out from comes first. */
	bool is_file_x = x->file_a || x->file_b;
	bool is_file_y = y->file_a || y->file_b;

	if (is_file_x != is_file_y)
		return is_file_x ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int make(struct diff *d, unsigned kinds, struct roar_error *err)
{
	/* Code is among the inputs. */
	int r = kinds & (1 << JOB_DIFF_INPUT | 1 << JOB_DIFF_CODE) ?
			diff_files(d, LINEAGE_INPUT, err) :
			0;

	if (r == 0 && kinds & 1 << JOB_DIFF_OUTPUT)
		r = diff_files(d, LINEAGE_OUTPUT, err);
	for (int kind = 0; r == 0 && kind < JOB_DIFF_KIND_END; kind++)
		if (kinds & 1 << kind && kind != JOB_DIFF_INPUT &&
		    kind != JOB_DIFF_OUTPUT)
			r = diff_facts(d, kind, err);
	return r;
}

/* A commit or snapshot with the same code: a snapshot has other files too. */
static bool is_same_code(const struct diff *d, const struct job_diff_item *item)
{
	return item->kind == JOB_DIFF_CODE && !item->file_a && !item->file_b &&
	       d->has_code[0] && d->has_code[1] && !d->has_new_code;
}

static int finish(struct diff *d, struct job_diff *ret)
{
	struct job_diff diff = { .n = d->n };

	diff.items = pool_alloc(d->pool, (d->n + 1) * sizeof(*d->items));
	if (!diff.items)
		return -ENOMEM;
	if (d->n)
		memcpy(diff.items, d->items, d->n * sizeof(*d->items));
	qsort(diff.items, diff.n, sizeof(*diff.items), by_kind);
	for (size_t i = 0; i < diff.n; i++) {
		diff.items[i].is_incidental |= is_same_code(d, &diff.items[i]);
		diff.n_of[diff.items[i].kind] += !diff.items[i].is_incidental;
		diff.n_differences += !diff.items[i].is_incidental;
	}
	*ret = diff;
	return 0;
}

int job_diff_make_of(const struct job_diff_side *a,
		     const struct job_diff_side *b, unsigned kinds,
		     struct pool *pool, struct job_diff *ret,
		     struct roar_error *err)
{
	struct diff d = { .a = a, .b = b, .pool = pool };
	int r = make(&d, kinds, err);

	if (r == 0)
		r = finish(&d, ret);
	free(d.items);
	return r;
}

int job_diff_make(const struct job_diff_side *a, const struct job_diff_side *b,
		  struct pool *pool, struct job_diff *ret,
		  struct roar_error *err)
{
	return job_diff_make_of(a, b, ~0U, pool, ret, err);
}
