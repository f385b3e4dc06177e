/* compare_safetensors.c - two safetensors files, tensor by tensor
 *
 * Tensors are matched by name, so their order in the files does not matter.  Both headers
 * are compared before any data is. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "ckpt/ckpt_header.h"
#include "compare/compare_internal.h"

static int read_header(struct comparison *c, int side, struct ckpt_header *ret)
{
	const struct compare_file *file = &c->file[side];
	CLEANUP(freep) uint8_t *bytes = NULL;
	uint8_t first[8];
	size_t len = sizeof(first);
	int r = compare_read_at(file->fd, 0, first, sizeof(first));

	if (r == 0)
		r = ckpt_header_len(first, c->size[side], &len);
	if (r < 0)
		return error_set(c->why, r,
				 "'%s' is not a safetensors file: the length "
				 "of its header is wrong",
				 file->name);
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	r = compare_read_at(file->fd, 0, bytes, len);
	if (r < 0)
		return error_set(c->why, r, "'%s' cannot be read", file->name);
	return ckpt_header_read(ret, bytes, len, c->size[side], file->name,
				c->why);
}

static struct tensor as_tensor(const struct ckpt_item *item)
{
	return (struct tensor){
		.name = item->name,
		.dtype = item->dtype,
		.n_parts = 1,
		.shape = item->shape,
		.n_dims = item->n_dims,
		.n_bytes = item->n_bytes,
	};
}

static int index_items(const struct ckpt_header *h, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->n_items; i++)
		r = map_set(ret, h->items[i].name, strlen(h->items[i].name),
			    &h->items[i]);
	return r;
}

/* All tensors of `h` are in `other`, and alike. */
static bool is_like(struct comparison *c, const struct ckpt_header *h,
		    const struct map *other, const char *which)
{
	for (size_t i = 0; i < h->n_items; i++) {
		const char *name = h->items[i].name;
		const struct ckpt_item *item = map_get(other, name,
						       strlen(name));

		if (!item) {
			tally_unlike(c, "tensor '%.150s' is only in the %s",
				     name, which);
			return false;
		}
		struct tensor a = as_tensor(&h->items[i]);
		struct tensor b = as_tensor(item);

		if (!tensor_is_like(c, &a, &b))
			return false;
	}
	return true;
}

static int compare_item(struct comparison *c, const struct ckpt_item *a,
			const struct ckpt_item *b)
{
	struct tensor t_a = as_tensor(a), t_b = as_tensor(b);
	struct compare_source in_a, in_b;

	(void)source_open(&in_a, SOURCE_PLAIN, c->file[0].fd, a->at,
			  a->n_bytes);
	(void)source_open(&in_b, SOURCE_PLAIN, c->file[1].fd, b->at,
			  b->n_bytes);
	return tensor_compare(c, &t_a, &t_b, &in_a, &in_b);
}

static int compare_headers(struct comparison *c, const struct ckpt_header *a,
			   const struct ckpt_header *b)
{
	CLEANUP(map_release) struct map in_a = MAP_INIT;
	CLEANUP(map_release) struct map in_b = MAP_INIT;
	int r = index_items(a, &in_a);

	if (r == 0)
		r = index_items(b, &in_b);
	if (r < 0)
		return r;
	if (!is_like(c, a, &in_b, "first file") ||
	    !is_like(c, b, &in_a, "second file"))
		return 0;
	for (size_t i = 0; r == 0 && i < a->n_items; i++) {
		const char *name = a->items[i].name;

		r = compare_item(c, &a->items[i],
				 map_get(&in_b, name, strlen(name)));
	}
	return r;
}

int compare_safetensors(struct comparison *c)
{
	CLEANUP(ckpt_header_release) struct ckpt_header a = { 0 };
	CLEANUP(ckpt_header_release) struct ckpt_header b = { 0 };
	int r = read_header(c, 0, &a);

	if (r == 0)
		r = read_header(c, 1, &b);
	return r < 0 ? r : compare_headers(c, &a, &b);
}
