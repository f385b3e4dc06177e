/* ckpt_gather.c - see ckpt_gather.h */
#include "ckpt/ckpt_gather.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A part lies within its tensor. */
static int check_part(const struct roar_checkpoint_tensor *t,
		      struct roar_error *err)
{
	if (!t->part_offset != !t->part_shape)
		return error_set(err, -EINVAL,
				 "the part of tensor '%s' lacks its offset or "
				 "its shape",
				 t->name);
	for (uint32_t d = 0; t->part_shape && d < t->n_dims; d++)
		if (t->part_offset[d] > t->shape[d] ||
		    t->part_shape[d] > t->shape[d] - t->part_offset[d])
			return error_set(err, -EINVAL,
					 "the part of tensor '%s' is not "
					 "within its shape",
					 t->name);
	return 0;
}

static int make_item(const struct roar_checkpoint_tensor *t,
		     struct ckpt_item *ret, struct roar_error *err)
{
	*ret = (struct ckpt_item){ .name = t->name,
				   .n_dims = t->n_dims,
				   .shape = t->part_shape ? t->part_shape :
							    t->shape,
				   .offset = t->part_offset };
	if (!t->name || !t->dtype || (t->n_dims && !t->shape))
		return error_set(err, -EINVAL,
				 "a tensor lacks its name, type or shape");
	if (ckpt_dtype_parse(t->dtype, &ret->dtype) < 0)
		return error_set(err, -EINVAL,
				 "tensor '%s' has type '%s', which is not a "
				 "type of safetensors",
				 t->name, t->dtype);
	return check_part(t, err);
}

int ckpt_gather_init(struct ckpt_gather *g,
		     const struct roar_checkpoint_tensor *tensors, size_t n,
		     struct roar_error *err)
{
	int r = 0;

	*g = (struct ckpt_gather){ .tensors = tensors };
	if (n >= UINT32_MAX)
		return error_set(err, -EINVAL, "too many tensors");
	g->items = calloc(n + 1, sizeof(*g->items));
	if (!g->items)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = make_item(&tensors[i], &g->items[i], err);
	if (r == 0)
		r = ckpt_layout_init(&g->layout, g->items, n, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (g->items[i].n_bytes && !tensors[i].data && !tensors[i].fill)
			r = error_set(err, -EINVAL, "tensor '%s' has no data",
				      tensors[i].name);
	if (r < 0)
		ckpt_gather_release(g);
	return r;
}

void ckpt_gather_release(struct ckpt_gather *g)
{
	ckpt_layout_release(&g->layout);
	free(g->items);
	*g = (struct ckpt_gather){ 0 };
}

static const struct ckpt_item *item_at(const struct ckpt_gather *g, size_t i)
{
	return &g->items[g->layout.order[i]];
}

/* The first item, in the order of the file, that ends after `offset`. */
static size_t find_item(const struct ckpt_gather *g, uint64_t offset)
{
	size_t low = 0, high = g->layout.n_items;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ckpt_item *item = item_at(g, middle);

		if (item->at + item->n_bytes <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

int ckpt_gather_copy(const struct ckpt_gather *g, uint64_t offset, void *to,
		     size_t len)
{
	const struct str *header = &g->layout.header;
	char *at = to;
	size_t n = 0;
	int r = 0;

	assert(offset + len <= g->layout.size_bytes);
	if (offset < header->len) {
		n = least(header->len - offset, len);
		memcpy(at, header->data + offset, n);
	}
	for (size_t i = find_item(g, offset + n); r == 0 && n < len; i++) {
		const struct ckpt_item *item = item_at(g, i);
		const struct roar_checkpoint_tensor
			*t = &g->tensors[g->layout.order[i]];
		uint64_t from = offset + n - item->at;
		size_t m = least(item->n_bytes - from, len - n);

		if (!m)
			continue;
		if (t->fill)
			r = t->fill(t->ctx, from, at + n, m);
		else
			memcpy(at + n, (const char *)t->data + from, m);
		n += m;
	}
	return r > 0 ? -EIO : r;
}
