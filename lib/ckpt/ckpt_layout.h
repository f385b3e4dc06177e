/* ckpt_layout.h - where the tensors of one writer are in its file, which is safetensors.
 *
 *	offset
 *	     0   8  length of the header, little-endian
 *	     8   n  JSON: {"__metadata__":{"format":"roar","roar_checkpoint":"1"},
 *		          "NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...}
 *		    and spaces, so that the data begin at a multiple of 4096
 *	 8 + n      the data, without gaps
 *
 * Tensors with larger elements come first, and tensors of one element size in the order of
 * their names' bytes.  So each tensor is aligned to its elements, and the file depends only on
 * the tensors, not on the order in which they were given.
 *
 * A writer may have only a part of a tensor.  The part is called NAME@OFFSETS in the file,
 * for example "w@1024,0"; a whole tensor has its own name.
 *
 * ckpt_layout_init() takes less than a millisecond for 10,000 tensors: it sorts the names by
 * eight bytes at a time and formats the numbers itself. */
#ifndef ROAR_CKPT_LAYOUT_H
#define ROAR_CKPT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "ckpt/ckpt_dtype.h"

struct roar_error;

enum {
	CKPT_ALIGN = 4096, /* of the data in the file */
	CKPT_MAX_HEADER = 100000000, /* bytes, as safetensors readers have it */
};

struct ckpt_item {
	const char *name; /* of the tensor, UTF-8; not "__metadata__" */
	enum ckpt_dtype dtype;
	unsigned n_dims;
	const uint64_t *shape; /* of what is here, the whole or a part */
	const uint64_t *offset; /* of the part in the tensor; NULL: it is whole */
	uint64_t n_bytes; /* result */
	uint64_t at; /* result: offset in the file */
};

struct ckpt_layout {
	struct str header; /* all bytes before the data, the length included */
	uint32_t *order; /* indices of the items, as they are in the file */
	size_t n_items;
	uint64_t size_bytes; /* of the file */
};

/* Places the items.  -EINVAL with a sentence: an invalid name, a name that is there
 * twice, too many dimensions, too much data; -ENOMEM. */
int ckpt_layout_init(struct ckpt_layout *l, struct ckpt_item *items, size_t n,
		     struct roar_error *err);
void ckpt_layout_release(struct ckpt_layout *l);

/* Appends the header of a delta's data file: one tensor "roar.leaves" of that many bytes. */
void ckpt_layout_leaves_header(struct str *out, uint64_t n_bytes);

#endif
