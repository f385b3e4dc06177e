/* ckpt_manifest.c - lifetime, lookup, and whether all of a manifest agrees */
#include "ckpt/ckpt_manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"

void ckpt_manifest_release(struct ckpt_manifest *m)
{
	map_release(&m->by_name);
	pool_release(&m->pool);
	*m = CKPT_MANIFEST_INIT;
}

const struct ckpt_tensor *ckpt_manifest_tensor(const struct ckpt_manifest *m,
					       const char *name)
{
	return map_get(&m->by_name, name, strlen(name));
}

int ckpt_manifest_index(struct ckpt_manifest *m)
{
	for (size_t i = 0; i < m->n_tensors; i++) {
		struct ckpt_tensor *t = &m->tensors[i];
		size_t len = strlen(t->name);

		if (map_get(&m->by_name, t->name, len))
			return -EEXIST;
		if (map_set(&m->by_name, t->name, len, t) < 0)
			return -ENOMEM;
	}
	return 0;
}

uint64_t ckpt_part_bytes(const struct ckpt_tensor *tensor,
			 const struct ckpt_part *part)
{
	uint64_t bytes = 0;

	(void)ckpt_dtype_size(tensor->dtype, part->shape, tensor->n_dims,
			      &bytes);
	return bytes;
}

/* ---- files ---- */

static bool is_own_name(const struct ckpt_manifest *m,
			const struct ckpt_file *f, const char *text,
			enum ckpt_name_kind kind)
{
	struct ckpt_name name;

	return ckpt_name_parse_file(text, &name) && name.kind == kind &&
	       name.rank == f->rank && name.world == m->world_size &&
	       strcmp(name.save, m->save) == 0;
}

/* An extent lies in the file that this save wrote, or in one of another checkpoint. */
static const char *extent_fault(const struct ckpt_manifest *m,
				const struct ckpt_file *f,
				const struct ckpt_extent *e,
				uint64_t *ret_own_bytes)
{
	const struct b3_shape shape = { f->size_bytes, f->leaf_bytes };
	uint64_t last = e->first_leaf + e->n_leaves - 1;
	struct ckpt_name name;
	uint64_t step, end;

	if (!ckpt_name_parse_path(e->path, &step, &name) ||
	    name.kind != CKPT_NAME_DATA)
		return "has an extent whose path is not "
		       "'step-<12 digits>/data-….safetensors'";
	end = e->offset + (e->n_leaves - 1) * f->leaf_bytes +
	      b3_shape_leaf_len(&shape, last);
	if (e->offset > CKPT_MAX_BYTES || end > CKPT_MAX_BYTES)
		return "has an extent with an impossible offset";
	if (step != m->step)
		return NULL;
	if (!f->name || strcmp(strchr(e->path, '/') + 1, f->name) != 0)
		return "has an extent in another file of its own step";
	if (end > f->data_bytes)
		return "has an extent beyond the end of its data file";
	*ret_own_bytes += end - e->offset;
	return NULL;
}

static const char *extents_fault(const struct ckpt_manifest *m,
				 const struct ckpt_file *f)
{
	const struct b3_shape shape = { f->size_bytes, f->leaf_bytes };
	uint64_t n_leaves = b3_shape_n_leaves(&shape);
	uint64_t end = 0, own_bytes = 0;

	for (size_t i = 0; i < f->n_extents; i++) {
		const struct ckpt_extent *e = &f->extents[i];
		const char *fault;

		if (e->first_leaf != end || e->n_leaves == 0 ||
		    e->n_leaves > n_leaves - end)
			return "has extents that do not cover its leaves";
		fault = extent_fault(m, f, e, &own_bytes);
		if (fault)
			return fault;
		end += e->n_leaves;
	}
	if (end != n_leaves)
		return "has extents that do not cover its leaves";
	if (f->name && own_bytes == 0)
		return "has a data file that no extent needs";
	return NULL;
}

static const char *file_fault(const struct ckpt_manifest *m,
			      const struct ckpt_file *f)
{
	const struct b3_shape shape = { f->size_bytes, f->leaf_bytes };

	if (f->size_bytes < 8 || f->size_bytes > CKPT_MAX_BYTES)
		return "has an impossible size";
	if (!b3_shape_is_valid(&shape) || f->leaf_bytes < 4096)
		return "has an impossible leaf_bytes";
	if (f->name && !is_own_name(m, f, f->name, CKPT_NAME_DATA))
		return "has a name that is not that of this save and rank";
	if (!is_own_name(m, f, f->tree, CKPT_NAME_TREE))
		return "has a tree that is not that of this save and rank";
	if (!f->name != (f->data_bytes == 0) || f->data_bytes > CKPT_MAX_BYTES)
		return "has an impossible data_bytes";
	return extents_fault(m, f);
}

static int check_files(const struct ckpt_manifest *m, const char *path,
		       struct roar_error *err)
{
	if (m->n_files != (m->is_part ? 1 : m->world_size))
		return error_set(err, -EBADMSG,
				 "'%s' has %zu files for %u writers", path,
				 m->n_files, m->world_size);
	for (size_t i = 0; i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];
		const char *fault = NULL;

		if (m->is_part ? f->rank >= m->world_size : f->rank != i)
			fault = "has the wrong rank";
		if (!fault)
			fault = file_fault(m, f);
		if (fault)
			return error_set(err, -EBADMSG, "'%s': files[%zu] %s",
					 path, i, fault);
	}
	return 0;
}

/* ---- tensors ---- */

static const char *part_fault(const struct ckpt_manifest *m,
			      const struct ckpt_tensor *t,
			      const struct ckpt_part *p)
{
	uint64_t size, bytes;

	if (p->file >= m->n_files)
		return "has a part in a file that is not listed";
	for (unsigned d = 0; d < t->n_dims; d++)
		if (p->offset[d] > t->shape[d] ||
		    p->shape[d] > t->shape[d] - p->offset[d])
			return "has a part that is not within its shape";
	size = m->files[p->file].size_bytes;
	if (ckpt_dtype_size(t->dtype, p->shape, t->n_dims, &bytes) < 0 ||
	    p->at < 8 || p->at > size || bytes > size - p->at)
		return "has a part beyond the end of its file";
	return NULL;
}

static bool is_apart(const struct ckpt_tensor *t, const struct ckpt_part *a,
		     const struct ckpt_part *b)
{
	for (unsigned d = 0; d < t->n_dims; d++)
		if (a->offset[d] + a->shape[d] <= b->offset[d] ||
		    b->offset[d] + b->shape[d] <= a->offset[d])
			return true;
	return false;
}

/* The dimension that the parts cut most often, judged by the first one. */
static unsigned cut_dimension(const struct ckpt_tensor *t)
{
	const uint64_t *first = t->parts[0].shape;
	unsigned best = 0;

	for (unsigned d = 1; d < t->n_dims; d++)
		if ((t->shape[d] / (first[d] ? first[d] : 1)) >
		    (t->shape[best] / (first[best] ? first[best] : 1)))
			best = d;
	return best;
}

static int compare_starts(const void *a, const void *b, void *dimension)
{
	const struct ckpt_part *const *x = a, *const *y = b;
	unsigned d = *(unsigned *)dimension;

	if ((*x)->offset[d] == (*y)->offset[d])
		return 0;
	return (*x)->offset[d] < (*y)->offset[d] ? -1 : 1;
}

/* Sorted by where they start in one dimension, only neighbours can overlap: those that start
 * before a part ends.  1: two do. */
static int find_overlap(const struct ckpt_tensor *t)
{
	unsigned d = cut_dimension(t);
	CLEANUP(freep)
	const struct ckpt_part **sorted = calloc(t->n_parts, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_parts; i++)
		sorted[i] = &t->parts[i];
	qsort_r(sorted, t->n_parts, sizeof(*sorted), compare_starts, &d);
	for (size_t i = 0; i < t->n_parts; i++) {
		const struct ckpt_part *p = sorted[i];
		uint64_t end = p->offset[d] + p->shape[d];

		for (size_t k = i + 1;
		     k < t->n_parts && sorted[k]->offset[d] < end; k++)
			if (!is_apart(t, p, sorted[k]))
				return 1;
	}
	return 0;
}

/* With n_dims 0 there is one element, so one part. */
static int check_tiles(const struct ckpt_manifest *m,
		       const struct ckpt_tensor *t, const char **ret_fault)
{
	uint64_t total = 0, size = 0;
	int r;

	for (size_t i = 0; i < t->n_parts; i++)
		if (__builtin_add_overflow(
			    total, ckpt_part_bytes(t, &t->parts[i]), &total))
			total = UINT64_MAX;
	if (ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &size) < 0) {
		*ret_fault = "is too large";
		return 0;
	}
	if (total > size || (total < size && !m->is_part)) {
		*ret_fault = "has parts that are not all of it";
		return 0;
	}
	if (t->n_parts < 2 || t->n_dims == 0 || size == 0)
		return 0;
	r = find_overlap(t);
	if (r > 0)
		*ret_fault = "has parts that overlap";
	return r < 0 ? r : 0;
}

static int check_tensor(const struct ckpt_manifest *m,
			const struct ckpt_tensor *t, const char **ret_fault)
{
	if (!t->name[0] || !utf8_is_valid(t->name) ||
	    strlen(t->name) > UINT16_MAX)
		*ret_fault = "does not have a valid name";
	if (t->n_dims > CKPT_MAX_DIMS)
		*ret_fault = "has too many dimensions";
	for (size_t i = 0; !*ret_fault && i < t->n_parts; i++)
		*ret_fault = part_fault(m, t, &t->parts[i]);
	return *ret_fault ? 0 : check_tiles(m, t, ret_fault);
}

int ckpt_manifest_check(const struct ckpt_manifest *m, const char *path,
			struct roar_error *err)
{
	uint64_t step;
	int r;

	if (m->step > CKPT_MAX_STEP || m->world_size == 0 ||
	    m->world_size > CKPT_MAX_WORLD || !ckpt_name_is_save_id(m->save))
		return error_set(err, -EBADMSG,
				 "'%s': step, world_size or save is not valid",
				 path);
	if (m->parent && !ckpt_name_parse_step(m->parent, &step))
		return error_set(err, -EBADMSG,
				 "'%s': parent is not the name of a checkpoint",
				 path);
	r = check_files(m, path, err);
	for (size_t i = 0; r == 0 && i < m->n_tensors; i++) {
		const char *fault = NULL;

		r = check_tensor(m, &m->tensors[i], &fault);
		if (r == 0 && fault)
			r = error_set(err, -EBADMSG, "'%s': tensor '%.200s' %s",
				      path, m->tensors[i].name, fault);
	}
	return r;
}
