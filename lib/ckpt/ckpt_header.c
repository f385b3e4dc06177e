/* ckpt_header.c - see ckpt_header.h */
#include "ckpt/ckpt_header.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "base/error.h"

int ckpt_header_len(const uint8_t first[8], uint64_t file_bytes,
		    size_t *ret_len)
{
	uint64_t len = le64_get(first);

	if (len < 2 || len > CKPT_MAX_HEADER || file_bytes < 8 ||
	    len > file_bytes - 8)
		return -EBADMSG;
	*ret_len = (size_t)len + 8;
	return 0;
}

static int take_number(const json_t *value, uint64_t *ret)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 ||
	    (uint64_t)number > CKPT_MAX_BYTES)
		return -EBADMSG;
	*ret = (uint64_t)number;
	return 0;
}

static int take_shape(struct ckpt_header *h, struct ckpt_item *item,
		      const json_t *shape)
{
	size_t n = json_array_size(shape);
	uint64_t *dims = pool_alloc(&h->pool, (n + 1) * sizeof(*dims));
	int r = 0;

	if (!dims)
		return -ENOMEM;
	if (!json_is_array(shape) || n > CKPT_MAX_DIMS)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = take_number(json_array_get(shape, i), &dims[i]);
	item->shape = dims;
	item->n_dims = (unsigned)n;
	return r;
}

static int take_item(struct ckpt_header *h, struct ckpt_item *item,
		     const json_t *entry)
{
	const char *dtype = json_string_value(json_object_get(entry, "dtype"));
	const json_t *range = json_object_get(entry, "data_offsets");
	uint64_t end;

	if (!dtype || ckpt_dtype_parse(dtype, &item->dtype) < 0)
		return -EBADMSG;
	if (json_array_size(range) != 2 ||
	    take_number(json_array_get(range, 0), &item->at) < 0 ||
	    take_number(json_array_get(range, 1), &end) < 0)
		return -EBADMSG;
	int r = take_shape(h, item, json_object_get(entry, "shape"));

	if (r < 0)
		return r;
	if (ckpt_dtype_size(item->dtype, item->shape, item->n_dims,
			    &item->n_bytes) < 0 ||
	    end < item->at || end - item->at != item->n_bytes)
		return -EBADMSG;
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct ckpt_item *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->n_bytes != y->n_bytes)
		return x->n_bytes < y->n_bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The ranges are all data of the file, each byte once. */
static bool is_covered(struct ckpt_header *h, uint64_t file_bytes)
{
	uint64_t end = 0;

	qsort(h->items, h->n_items, sizeof(*h->items), compare_ranges);
	for (size_t i = 0; i < h->n_items; i++) {
		if (h->items[i].at != end)
			return false;
		end += h->items[i].n_bytes;
		h->items[i].at += h->data_at;
	}
	return end == file_bytes - h->data_at;
}

static int take_items(struct ckpt_header *h, json_t *root, const char *path,
		      struct roar_error *err)
{
	const char *name;
	json_t *entry;

	h->items = calloc(json_object_size(root) + 1, sizeof(*h->items));
	if (!h->items)
		return -ENOMEM;
	json_object_foreach(root, name, entry)
	{
		struct ckpt_item *item = &h->items[h->n_items];
		int r;

		if (strcmp(name, "__metadata__") == 0)
			continue;
		item->name = pool_strdup(&h->pool, name);
		r = item->name ? take_item(h, item, entry) : -ENOMEM;
		if (r == -EBADMSG)
			return error_set(
				err, r,
				"'%s' is not a valid safetensors file: "
				"the entry of tensor '%.200s' is wrong",
				path, name);
		if (r < 0)
			return r;
		h->n_items++;
	}
	return 0;
}

static void json_freep(json_t **value)
{
	json_decref(*value);
}

static int read_header(struct ckpt_header *h, const char *text, size_t len,
		       uint64_t file_bytes, const char *path,
		       struct roar_error *err)
{
	json_error_t why;
	CLEANUP(json_freep)
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int r;

	if (!json_is_object(root))
		return error_set(err, -EBADMSG,
				 "'%s' is not a safetensors file: its header "
				 "is not a JSON object (%s)",
				 path, root ? "another value" : why.text);
	r = take_items(h, root, path, err);
	if (r == 0 && !is_covered(h, file_bytes))
		return error_set(err, -EBADMSG,
				 "'%s' is not a valid safetensors file: its "
				 "tensors do not cover its data",
				 path);
	return r;
}

int ckpt_header_read(struct ckpt_header *h, const void *bytes, size_t len,
		     uint64_t file_bytes, const char *path,
		     struct roar_error *err)
{
	size_t expected;
	int r;

	*h = (struct ckpt_header){ .data_at = len };
	if (len < 8 || ckpt_header_len(bytes, file_bytes, &expected) < 0 ||
	    expected != len)
		return error_set(err, -EBADMSG,
				 "'%s' is not a safetensors file: the length "
				 "of its header is wrong",
				 path);
	r = read_header(h, (const char *)bytes + 8, len - 8, file_bytes, path,
			err);
	if (r < 0)
		ckpt_header_release(h);
	return r;
}

void ckpt_header_release(struct ckpt_header *h)
{
	free(h->items);
	pool_release(&h->pool);
	*h = (struct ckpt_header){ 0 };
}
