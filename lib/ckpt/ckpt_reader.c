/* ckpt_reader.c - see ckpt_reader.h */
#include "ckpt/ckpt_reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "blob/blob.h"
#include "ckpt/ckpt_manifest_file.h"
#include "ckpt/ckpt_reader_internal.h"

/* A plan has a bit for each leaf: 512 MiB at this limit, which is 4 PiB with usual leaves. */
#define MAX_LEAVES (UINT64_C(1) << 32)

/* ---- open and close ---- */

static int read_manifest(struct ckpt_reader *r, uint64_t step,
			 struct roar_error *err)
{
	struct ckpt_manifest m;
	int error = step > CKPT_MAX_STEP ?
			    -ENOENT :
			    ckpt_manifest_get(r->store, step, &m, err);

	if (step <= CKPT_MAX_STEP)
		ckpt_name_step(r->name, step);
	if (error == -ENOENT)
		return error_set(err, error,
				 "there is no checkpoint of step %" PRIu64
				 " in '%s'",
				 step, blob_url(r->store));
	if (error == 0)
		r->manifest = m;
	return error;
}

static int make_files(struct ckpt_reader *r, struct roar_error *err)
{
	size_t n = r->manifest.n_files;

	for (size_t i = 0; i < n; i++)
		if (r->manifest.files[i].size_bytes /
			    r->manifest.files[i].leaf_bytes >
		    MAX_LEAVES)
			return error_set(err, -EFBIG,
					 "file %zu of '%s' has more leaves than "
					 "a reader can plan",
					 i, r->name);

	r->files = calloc(n + 1, sizeof(*r->files));
	r->trees = calloc(n + 1, sizeof(*r->trees));
	if (!r->files || !r->trees)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		r->files[i] = (struct ckpt_plan_file){
			.size_bytes = r->manifest.files[i].size_bytes,
			.leaf_bytes = r->manifest.files[i].leaf_bytes,
		};
	return 0;
}

static void add_other(struct ckpt_reader *r, struct blob_store *store,
		      uint64_t step, bool is_parent)
{
	r->others[r->n_others++] = (struct ckpt_other){ .store = store,
							.step = step,
							.is_parent = is_parent };
}

/* Replicas first: they have all bytes, the parent only unchanged ones. */
static void add_others(struct ckpt_reader *r)
{
	uint64_t parent;

	for (size_t i = 0; i < r->options.n_replicas; i++)
		add_other(r, r->options.replicas[i], r->manifest.step, false);
	if (r->manifest.parent &&
	    ckpt_name_parse_step(r->manifest.parent, &parent))
		add_other(r, r->store, parent, true);
}

int ckpt_reader_open(struct blob_store *store, uint64_t step,
		     const struct ckpt_reader_options *options,
		     struct ckpt_reader **ret, struct roar_error *err)
{
	CLEANUP(ckpt_reader_closep)
	struct ckpt_reader *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->store = store;
	r->manifest = CKPT_MANIFEST_INIT;
	if (options)
		r->options = *options;
	assert(r->options.n_replicas <= CKPT_READER_REPLICAS_MAX);
	(void)pthread_mutex_init(&r->lock, NULL);
	ckpt_sources_init(&r->sources, store,
			  r->options.page_cache ? BLOB_READ_CACHED : 0);
	error = read_manifest(r, step, err);
	if (error < 0)
		return error;
	error = make_files(r, err);
	if (error < 0)
		return error;
	add_others(r);
	*ret = TAKE_PTR(r);
	return 0;
}

void ckpt_reader_close(struct ckpt_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_others; i++)
		if (r->others[i].is_usable) {
			ckpt_sources_release(&r->others[i].sources);
			ckpt_manifest_release(&r->others[i].manifest);
		}
	for (size_t i = 0; r->trees && i < r->manifest.n_files; i++)
		leaf_tree_release(&r->trees[i]);
	free(r->trees);
	free(r->files);
	ckpt_reader_unmap(r);
	ckpt_sources_release(&r->sources);
	ckpt_manifest_release(&r->manifest);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

const struct ckpt_manifest *ckpt_reader_manifest(const struct ckpt_reader *r)
{
	return &r->manifest;
}

uint64_t ckpt_reader_bytes_read(const struct ckpt_reader *r)
{
	return r->bytes_read;
}

/* ---- plans ---- */

static uint64_t extent_span(void *ctx, uint32_t file, uint64_t leaf)
{
	const struct ckpt_reader *r = ctx;
	const struct ckpt_extent *e = ckpt_file_extent(&r->manifest.files[file],
						       leaf);

	return e->first_leaf + e->n_leaves - leaf;
}

/* The box that is wanted; `whole` holds its offset if all of the tensor is. */
static int check_want(const struct ckpt_want *w, const struct ckpt_tensor *t,
		      const uint64_t *zero, struct ckpt_box *ret,
		      struct roar_error *err)
{
	uint64_t bytes = 0;

	*ret = (struct ckpt_box){ t->n_dims, zero, t->shape };
	if (!w->offset != !w->shape)
		return error_set(err, -EINVAL,
				 "the slice of tensor '%.200s' lacks its "
				 "offset or its shape",
				 t->name);
	if (w->shape) {
		if (w->n_dims != t->n_dims)
			return error_set(err, -EINVAL,
					 "tensor '%.200s' has %u dimensions, "
					 "not %u",
					 t->name, t->n_dims, w->n_dims);
		*ret = (struct ckpt_box){ t->n_dims, w->offset, w->shape };
	}
	for (unsigned d = 0; d < t->n_dims; d++)
		if (ret->offset[d] > t->shape[d] ||
		    ret->shape[d] > t->shape[d] - ret->offset[d])
			return error_set(err, -EINVAL,
					 "the slice of tensor '%.200s' is not "
					 "within its shape in dimension %u",
					 t->name, d);
	(void)ckpt_dtype_size(t->dtype, ret->shape, t->n_dims, &bytes);
	if (bytes != w->to_bytes)
		return error_set(err, -EINVAL,
				 "the slice of tensor '%.200s' has %" PRIu64
				 " bytes, but its destination %zu",
				 t->name, bytes, w->to_bytes);
	return 0;
}

static int plan_want(struct ckpt_reader *r, struct ckpt_plan *plan,
		     const struct ckpt_want *w, struct roar_error *err)
{
	static const uint64_t zero[CKPT_MAX_DIMS];
	const struct ckpt_tensor *t = ckpt_manifest_tensor(&r->manifest,
							   w->tensor);
	struct ckpt_box want;
	int error;

	if (!t)
		return error_set(err, -ENOENT, "'%s' has no tensor '%.200s'",
				 r->name, w->tensor);
	error = check_want(w, t, zero, &want, err);
	for (size_t i = 0; error == 0 && w->to_bytes && i < t->n_parts; i++) {
		const struct ckpt_part *p = &t->parts[i];
		struct ckpt_box part = { t->n_dims, p->offset, p->shape };

		error = ckpt_plan_add(plan, p->file, p->at, &part, &want,
				      ckpt_dtype_bytes(t->dtype), w->to);
		if (error < 0)
			return error_set(err, error, "out of memory");
	}
	return error;
}

static int finish_plan(struct ckpt_reader *r, struct ckpt_plan *plan,
		       struct roar_error *err)
{
	uint64_t alignment = r->options.page_cache ? 1 : BLOB_ALIGN;

	if (ckpt_plan_finish(plan, alignment, extent_span, r) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int load(struct ckpt_reader *r, const struct ckpt_want *wants, size_t n,
		bool on_caller, struct roar_error *err)
{
	CLEANUP(ckpt_plan_release) struct ckpt_plan plan;
	struct ckpt_run run = { .reader = r,
				.plan = &plan,
				.on_caller = on_caller };
	int error = 0;

	ckpt_plan_init(&plan, r->files, r->manifest.n_files);
	for (size_t i = 0; error == 0 && i < n; i++)
		error = plan_want(r, &plan, &wants[i], err);
	if (error == 0)
		error = finish_plan(r, &plan, err);
	return error < 0 ? error : ckpt_run_execute(&run, err);
}

int ckpt_reader_load(struct ckpt_reader *r, const struct ckpt_want *wants,
		     size_t n, struct roar_error *err)
{
	return load(r, wants, n, false, err);
}

int ckpt_reader_fetch(struct ckpt_reader *r, const struct ckpt_want *wants,
		      size_t n, struct roar_error *err)
{
	return load(r, wants, n, true, err);
}

/* The file is a tensor of bytes here. */
int ckpt_reader_read(struct ckpt_reader *r, uint32_t file, uint64_t offset,
		     void *to, size_t len, struct roar_error *err)
{
	CLEANUP(ckpt_plan_release) struct ckpt_plan plan;
	struct ckpt_run run = { .reader = r, .plan = &plan, .on_caller = true };
	uint64_t zero = 0, size, n = len;
	struct ckpt_box part = { 1, &zero, &size }, want = { 1, &offset, &n };
	int error;

	ckpt_plan_init(&plan, r->files, r->manifest.n_files);
	size = file < r->manifest.n_files ? r->files[file].size_bytes : 0;
	if (offset > size || len > size - offset)
		return error_set(err, -EINVAL,
				 "'%s' has no such bytes in file %u", r->name,
				 file);
	if (ckpt_plan_add(&plan, file, 0, &part, &want, 1, to) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	error = finish_plan(r, &plan, err);
	return error < 0 ? error : ckpt_run_execute(&run, err);
}

/* All trees before everything is planned: a tree is as long as its file has leaves, so the
 * plan is not longer than what is really there. */
static int read_trees(struct ckpt_run *run, struct roar_error *err)
{
	struct ckpt_reader *r = run->reader;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < r->manifest.n_files; i++) {
		error = ckpt_reader_tree(run, i);
		r->files[i].is_skipped = !r->trees[i].values;
	}
	if (error < 0 && err)
		*err = run->err;
	return error;
}

int ckpt_reader_prepare(struct ckpt_reader *r, struct roar_error *err)
{
	struct ckpt_run run = { .reader = r };

	return read_trees(&run, err);
}

int64_t ckpt_reader_scan(struct ckpt_reader *r, ckpt_reader_block_fn *block,
			 void *ctx, struct roar_error *err)
{
	CLEANUP(ckpt_plan_release) struct ckpt_plan plan;
	struct ckpt_run run = {
		.reader = r,
		.plan = &plan,
		.block = block,
		.ctx = ctx,
		.only_verify = !block,
	};
	int error;

	ckpt_plan_init(&plan, r->files, r->manifest.n_files);
	error = read_trees(&run, err);
	if (error < 0)
		return error;
	if (ckpt_plan_everything(&plan, extent_span, r) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	error = ckpt_run_execute(&run, err);
	if (error == 0 && run.only_verify && ckpt_reader_check_files(&run) < 0)
		error = error_set(err, -ENOMEM, "out of memory");
	return error < 0 ? error : (int64_t)atomic_load(&run.n_damaged);
}
