/* ckpt_snapshot.c - see ckpt_snapshot.h */
#include "ckpt/ckpt_snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/thread.h"
#include "ckpt/ckpt_dtype.h"

enum {
	PIECE = 4 << 20, /* bytes that a thread takes at once */
	MAX_THREADS = 16,
	ALIGN = 64,
	HUGE_PAGE = 2 << 20,
};

/* ---- tensors ---- */

struct copy {
	const struct roar_checkpoint_tensor *from;
	char *to;
	uint64_t n_bytes;
	uint64_t first_piece; /* of all pieces of all tensors */
};

struct copying {
	struct copy *copies;
	size_t n;
	uint64_t n_pieces;
	_Atomic uint64_t next;
	_Atomic int error;
};

static const struct copy *find_copy(const struct copying *c, uint64_t piece)
{
	size_t low = 0, high = c->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->copies[middle].first_piece <= piece)
			low = middle;
		else
			high = middle;
	}
	return &c->copies[low];
}

static int copy_piece(const struct copy *copy, uint64_t offset)
{
	const struct roar_checkpoint_tensor *t = copy->from;
	uint64_t left = copy->n_bytes - offset;
	size_t len = left < PIECE ? (size_t)left : PIECE;

	if (t->fill)
		return t->fill(t->ctx, offset, copy->to + offset, len);
	memcpy(copy->to + offset, (const char *)t->data + offset, len);
	return 0;
}

static void *copy_pieces(void *arg)
{
	struct copying *c = arg;
	uint64_t piece;

	while (!atomic_load(&c->error) &&
	       (piece = atomic_fetch_add(&c->next, 1)) < c->n_pieces) {
		const struct copy *copy = find_copy(c, piece);
		int r = copy_piece(copy, (piece - copy->first_piece) * PIECE);

		if (r)
			atomic_store(&c->error, r < 0 ? r : -EIO);
	}
	return NULL;
}

static int run_copies(struct copying *c)
{
	pthread_t threads[MAX_THREADS];
	unsigned wanted = cpus_allowed(), n = 0;

	if (wanted > MAX_THREADS)
		wanted = MAX_THREADS;
	if (wanted > c->n_pieces)
		wanted = (unsigned)c->n_pieces;
	while (n + 1 < wanted &&
	       thread_start(&threads[n], NULL, copy_pieces, c) == 0)
		n++;
	(void)copy_pieces(c);
	while (n)
		(void)pthread_join(threads[--n], NULL);
	return atomic_load(&c->error);
}

/* Large pages, so that the first use costs little. */
static int reserve(struct ckpt_snapshot *s, size_t len)
{
	size_t cap = (len + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;

	if (len <= s->cap)
		return 0;
	free(s->memory);
	s->cap = 0;
	s->memory = aligned_alloc(HUGE_PAGE, cap);
	if (!s->memory)
		return -ENOMEM;
	s->cap = cap;
	(void)madvise(s->memory, cap, MADV_HUGEPAGE);
	return 0;
}

static int tensor_bytes(const struct roar_checkpoint_tensor *t, uint64_t *ret,
			struct roar_error *err)
{
	const uint64_t *shape = t->part_shape ? t->part_shape : t->shape;
	enum ckpt_dtype dtype;

	if (!t->name || !t->dtype || (t->n_dims && !shape) ||
	    t->n_dims > CKPT_MAX_DIMS)
		return error_set(err, -EINVAL,
				 "a tensor lacks its name, type or shape");
	if (ckpt_dtype_parse(t->dtype, &dtype) < 0 ||
	    ckpt_dtype_size(dtype, shape, t->n_dims, ret) < 0)
		return error_set(err, -EINVAL,
				 "tensor '%s' has a type that is not one of "
				 "safetensors ('%s'), or is too large",
				 t->name, t->dtype);
	if (*ret && !t->data && !t->fill)
		return error_set(err, -EINVAL, "tensor '%s' has no data",
				 t->name);
	return 0;
}

/* Where each tensor goes. */
static int plan_copies(struct copying *c,
		       const struct roar_checkpoint_save *from,
		       uint64_t *ret_len, struct roar_error *err)
{
	uint64_t len = 0;

	for (size_t i = 0; i < from->n_tensors; i++) {
		struct copy *copy = &c->copies[c->n];
		uint64_t n_bytes;
		int r = tensor_bytes(&from->tensors[i], &n_bytes, err);

		if (r < 0)
			return r;
		copy->from = &from->tensors[i];
		copy->n_bytes = n_bytes;
		copy->first_piece = c->n_pieces;
		len += (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
		if (len > CKPT_MAX_BYTES)
			return error_set(err, -EINVAL,
					 "the tensors are too large");
		c->n_pieces += (n_bytes + PIECE - 1) / PIECE;
		c->n++;
	}
	*ret_len = len;
	return 0;
}

static int copy_tensors(struct ckpt_snapshot *s,
			const struct roar_checkpoint_save *from,
			struct roar_checkpoint_tensor *to,
			struct roar_error *err)
{
	struct copying c = { .n = 0 };
	CLEANUP(freep)
	struct copy *copies = calloc(from->n_tensors + 1, sizeof(*copies));
	uint64_t len = 0, at = 0;
	int r;

	if (!copies)
		return -ENOMEM;
	c.copies = copies;
	r = plan_copies(&c, from, &len, err);
	if (r == 0)
		r = reserve(s, len);
	for (size_t i = 0; r == 0 && i < c.n; i++) {
		copies[i].to = s->memory + at;
		to[i].data = copies[i].to;
		to[i].fill = NULL;
		at += (copies[i].n_bytes + ALIGN - 1) / ALIGN * ALIGN;
	}
	if (r < 0 || !c.n_pieces)
		return r;
	r = run_copies(&c);
	return r < 0 ? error_set(err, r, "a tensor could not be read: %s",
				 strerror(-r)) :
		       0;
}

/* ---- the rest ---- */

struct duplicating {
	struct pool *pool;
	bool failed;
};

static const char *text(struct duplicating *d, const char *from)
{
	const char *copy = from ? pool_strdup(d->pool, from) : NULL;

	d->failed |= from && !copy;
	return copy;
}

static void *bytes(struct duplicating *d, const void *from, size_t len)
{
	void *copy = from ? pool_alloc(d->pool, len + 1) : NULL;

	d->failed |= from && !copy;
	if (copy && len)
		memcpy(copy, from, len);
	return copy;
}

static void copy_lists(struct duplicating *d, struct roar_checkpoint_save *s)
{
	struct roar_checkpoint_metric *metrics = bytes(
		d, s->metrics, s->n_metrics * sizeof(*metrics));
	const char **tags = bytes(d, s->tags, s->n_tags * sizeof(*tags));

	for (size_t i = 0; metrics && i < s->n_metrics; i++)
		metrics[i].name = text(d, metrics[i].name);
	for (size_t i = 0; tags && i < s->n_tags; i++)
		tags[i] = text(d, tags[i]);
	s->metrics = metrics;
	s->tags = tags;
}

static struct roar_checkpoint_tensor *
copy_descriptions(struct duplicating *d, const struct roar_checkpoint_save *s)
{
	struct roar_checkpoint_tensor *list = bytes(
		d, s->n_tensors ? s->tensors : (const void *)"",
		s->n_tensors * sizeof(*list));

	for (size_t i = 0; list && i < s->n_tensors; i++) {
		struct roar_checkpoint_tensor *t = &list[i];
		size_t len = t->n_dims * sizeof(*t->shape);

		t->name = text(d, t->name);
		t->dtype = text(d, t->dtype);
		t->shape = bytes(d, t->shape, len);
		t->part_offset = bytes(d, t->part_offset, len);
		t->part_shape = bytes(d, t->part_shape, len);
	}
	return list;
}

int ckpt_snapshot_take(struct ckpt_snapshot *s,
		       const struct roar_checkpoint_save *from,
		       struct roar_error *err)
{
	struct duplicating d = { .pool = &s->pool };
	struct roar_checkpoint_save *save = &s->save;
	struct roar_checkpoint_tensor *tensors;

	pool_release(&s->pool);
	*save = *from;
	save->url = text(&d, from->url);
	save->state = text(&d, from->state);
	save->data_position = text(&d, from->data_position);
	save->rng = text(&d, from->rng);
	save->parent = text(&d, from->parent);
	save->job = text(&d, from->job);
	save->save_id = text(&d, from->save_id);
	copy_lists(&d, save);
	tensors = copy_descriptions(&d, from);
	save->tensors = tensors;
	if (d.failed)
		return -ENOMEM;
	return copy_tensors(s, from, tensors, err);
}

void ckpt_snapshot_release(struct ckpt_snapshot *s)
{
	pool_release(&s->pool);
	free(s->memory);
	*s = (struct ckpt_snapshot){ .cap = 0 };
}
