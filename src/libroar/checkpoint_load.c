/* checkpoint_load.c - the load side of include/roar/checkpoint.h on lib/ckpt */
#include <roar/checkpoint.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "blob/blob.h"
#include "checkpoint.h"
#include "ckpt/ckpt_gc.h"
#include "ckpt/ckpt_listing.h"
#include "ckpt/ckpt_reader.h"

#define API __attribute__((visibility("default")))

enum { PARALLEL = 16 }; /* requests to an object store */

_Static_assert(sizeof(struct roar_checkpoint_metric) ==
			       sizeof(struct ckpt_metric) &&
		       offsetof(struct roar_checkpoint_metric, value) ==
			       offsetof(struct ckpt_metric, value),
	       "the same struct under two names");

struct roar_checkpoint {
	struct blob_store *store;
	struct blob_store *replicas[CKPT_READER_REPLICAS_MAX];
	size_t n_replicas;
	struct roar_checkpoint_options options;
	struct ckpt_reader *reader;
};

API void roar_checkpoint_close(struct roar_checkpoint *c)
{
	if (!c)
		return;
	ckpt_reader_close(c->reader);
	for (size_t i = 0; i < c->n_replicas; i++)
		blob_close(c->replicas[i]);
	blob_closep(&c->store);
	free(c);
}

DEFINE_CLEANUP(struct roar_checkpoint *, roar_checkpoint_close)

/* ---- open ---- */

static void pass_damage(void *ctx, const struct ckpt_damage *d)
{
	struct roar_checkpoint *c = ctx;
	const struct roar_checkpoint_damage damage = {
		.file = d->source,
		.offset = d->source_offset,
		.len = d->len,
		.error = d->error,
		.repair = d->repair,
	};

	if (c->options.damage)
		c->options.damage(c->options.ctx, &damage);
}

static bool pass_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct roar_checkpoint *c = ctx;

	return c->options.progress &&
	       c->options.progress(c->options.ctx, done, total) != 0;
}

static int open_stores(struct roar_checkpoint *c, const char *url,
		       struct roar_error *err)
{
	int r = blob_open(url, false, PARALLEL, &c->store, err);

	if (c->options.n_replicas > CKPT_READER_REPLICAS_MAX)
		return error_set(err, -EINVAL, "there are too many replicas");
	for (size_t i = 0; r == 0 && i < c->options.n_replicas; i++) {
		r = blob_open(c->options.replicas[i], false, PARALLEL,
			      &c->replicas[i], err);
		if (r == 0)
			c->n_replicas++;
	}
	return r;
}

static int open_checkpoint(struct roar_checkpoint *c, const char *url,
			   uint64_t step, struct roar_error *err)
{
	const struct ckpt_reader_options options = {
		.n_threads = c->options.n_threads,
		.page_cache = c->options.page_cache != 0,
		.replicas = c->replicas,
		.n_replicas = c->options.n_replicas,
		.damage = pass_damage,
		.look = pass_progress,
		.ctx = c,
	};
	int r = open_stores(c, url, err);

	if (r == 0 && step == ROAR_CHECKPOINT_LATEST)
		r = ckpt_store_latest(c->store, &step, err);
	if (r == 0)
		r = ckpt_reader_open(c->store, step, &options, &c->reader, err);
	return r;
}

API int roar_checkpoint_open(const char *url, uint64_t step,
			     const struct roar_checkpoint_options *options,
			     struct roar_checkpoint **ret)
{
	CLEANUP(roar_checkpoint_closep)
	struct roar_checkpoint *c = calloc(1, sizeof(*c));
	struct roar_error err = { "" };
	int r;

	if (!c)
		return checkpoint_fail(-ENOMEM, &err);
	if (options)
		c->options = *options;
	r = open_checkpoint(c, url, step, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	*ret = TAKE_PTR(c);
	return 0;
}

/* ---- what it has ---- */

API void roar_checkpoint_facts(const struct roar_checkpoint *c,
			       struct roar_checkpoint_facts *ret)
{
	const struct ckpt_manifest *m = ckpt_reader_manifest(c->reader);

	*ret = (struct roar_checkpoint_facts){
		.step = m->step,
		.epoch = m->epoch,
		.save_id = m->save,
		.created = m->created,
		.world_size = m->world_size,
		.world_epoch = m->world_epoch,
		.fencing_token = m->fencing_token,
		.job = m->job,
		.parent = m->parent,
		.state = m->state,
		.data_position = m->data_position,
		.rng = m->rng,
		.metrics = (const struct roar_checkpoint_metric *)m->metrics,
		.n_metrics = m->n_metrics,
		.tags = m->tags,
		.n_tags = m->n_tags,
		.n_tensors = m->n_tensors,
	};
	for (size_t i = 0; i < m->n_files; i++)
		ret->size_bytes += m->files[i].size_bytes;
}

static void describe(const struct ckpt_tensor *t,
		     struct roar_checkpoint_stored *ret)
{
	*ret = (struct roar_checkpoint_stored){
		.name = t->name,
		.dtype = ckpt_dtype_name(t->dtype),
		.n_dims = t->n_dims,
		.shape = t->shape,
		.at = t->n_parts ? t->parts[0].at : 0,
	};
	(void)ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &ret->size_bytes);
}

API int roar_checkpoint_stored(const struct roar_checkpoint *c, size_t index,
			       struct roar_checkpoint_stored *ret)
{
	const struct ckpt_manifest *m = ckpt_reader_manifest(c->reader);

	if (index >= m->n_tensors)
		return -ENOENT;
	describe(&m->tensors[index], ret);
	return 0;
}

API int roar_checkpoint_find(const struct roar_checkpoint *c, const char *name,
			     struct roar_checkpoint_stored *ret)
{
	const struct ckpt_tensor *t = ckpt_manifest_tensor(
		ckpt_reader_manifest(c->reader), name);

	if (!t)
		return -ENOENT;
	describe(t, ret);
	return 0;
}

/* ---- load ---- */

API int roar_checkpoint_load(struct roar_checkpoint *c,
			     const struct roar_checkpoint_slice *slices,
			     size_t n)
{
	CLEANUP(freep)
	struct ckpt_want *wants = calloc(n + 1, sizeof(*wants));
	struct roar_error err = { "" };
	int r;

	if (!wants)
		return checkpoint_fail(-ENOMEM, &err);
	for (size_t i = 0; i < n; i++)
		wants[i] = (struct ckpt_want){
			.tensor = slices[i].tensor,
			.offset = slices[i].offset,
			.shape = slices[i].shape,
			.n_dims = slices[i].n_dims,
			.to = slices[i].to,
			.to_bytes = slices[i].to_bytes,
		};
	r = ckpt_reader_load(c->reader, wants, n, &err);
	return r < 0 ? checkpoint_fail(r, &err) : 0;
}

API int roar_checkpoint_map(struct roar_checkpoint *c, const char *tensor,
			    const void **ret, size_t *ret_bytes)
{
	struct roar_error err = { "" };
	int r = ckpt_reader_map(c->reader, tensor, ret, ret_bytes, &err);

	return r < 0 ? checkpoint_fail(r, &err) : 0;
}

API int64_t roar_checkpoint_verify(struct roar_checkpoint *c)
{
	struct roar_error err = { "" };
	int64_t r = ckpt_reader_scan(c->reader, NULL, NULL, &err);

	return r < 0 ? checkpoint_fail((int)r, &err) : r;
}

/* ---- stores ---- */

API int roar_checkpoint_list(const char *url,
			     int (*fn)(void *ctx, uint64_t step), void *ctx)
{
	CLEANUP(blob_closep) struct blob_store *store = NULL;
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	struct roar_error err = { "" };
	int r = blob_open(url, false, PARALLEL, &store, &err);

	if (r == 0)
		r = ckpt_listing_read(&l, store, 0, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	for (size_t i = 0; r == 0 && i < l.n_entries; i++)
		if (l.entries[i].is_committed)
			r = fn(ctx, l.entries[i].step);
	return r;
}

API int roar_checkpoint_collect(const char *url,
				const struct roar_checkpoint_rules *rules,
				struct roar_checkpoint_collected *ret)
{
	CLEANUP(blob_closep) struct blob_store *store = NULL;
	struct ckpt_gc_options options = {
		.rules = { .last = rules->keep_last,
			   .every = rules->keep_every,
			   .metric = rules->best_metric },
		.dry_run = rules->dry_run != 0,
	};
	struct ckpt_gc_result g;
	struct roar_error err = { "" };
	int r;

	if (rules->best_metric)
		options.rules.best = rules->best_is_highest ?
					     CKPT_BEST_HIGHEST :
					     CKPT_BEST_LOWEST;
	r = blob_open(url, false, PARALLEL, &store, &err);
	if (r == 0)
		r = ckpt_gc_run(store, &options, &g, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	if (ret)
		*ret = (struct roar_checkpoint_collected){
			.n_kept = g.n_kept,
			.n_removed = g.n_removed,
			.n_files = g.n_files,
			.bytes = g.bytes,
			.n_postponed = g.n_postponed,
		};
	return 0;
}
