/* ckpt_dtype.c - see ckpt_dtype.h */
#include "ckpt/ckpt_dtype.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	size_t bytes;
} dtypes[CKPT_N_DTYPES] = {
	[CKPT_BOOL] = { "BOOL", 1 },	   [CKPT_U8] = { "U8", 1 },
	[CKPT_I8] = { "I8", 1 },	   [CKPT_F8_E5M2] = { "F8_E5M2", 1 },
	[CKPT_F8_E4M3] = { "F8_E4M3", 1 }, [CKPT_I16] = { "I16", 2 },
	[CKPT_U16] = { "U16", 2 },	   [CKPT_F16] = { "F16", 2 },
	[CKPT_BF16] = { "BF16", 2 },	   [CKPT_I32] = { "I32", 4 },
	[CKPT_U32] = { "U32", 4 },	   [CKPT_F32] = { "F32", 4 },
	[CKPT_F64] = { "F64", 8 },	   [CKPT_I64] = { "I64", 8 },
	[CKPT_U64] = { "U64", 8 },
};

const char *ckpt_dtype_name(enum ckpt_dtype dtype)
{
	assert(dtype < CKPT_N_DTYPES);
	return dtypes[dtype].name;
}

size_t ckpt_dtype_bytes(enum ckpt_dtype dtype)
{
	assert(dtype < CKPT_N_DTYPES);
	return dtypes[dtype].bytes;
}

int ckpt_dtype_parse(const char *name, enum ckpt_dtype *ret)
{
	for (unsigned i = 0; i < CKPT_N_DTYPES; i++)
		if (strcmp(dtypes[i].name, name) == 0) {
			*ret = (enum ckpt_dtype)i;
			return 0;
		}
	return -EINVAL;
}

int ckpt_dtype_size(enum ckpt_dtype dtype, const uint64_t *shape,
		    unsigned n_dims, uint64_t *ret)
{
	uint64_t size = ckpt_dtype_bytes(dtype);
	int is_empty = 0;

	for (unsigned i = 0; i < n_dims; i++) {
		if (shape[i] > CKPT_MAX_BYTES)
			return -EOVERFLOW;
		is_empty |= shape[i] == 0;
	}
	/* A 0 anywhere makes the product 0, however large the others are. */
	for (unsigned i = 0; !is_empty && i < n_dims; i++)
		if (__builtin_mul_overflow(size, shape[i], &size) ||
		    size > CKPT_MAX_BYTES)
			return -EOVERFLOW;
	*ret = is_empty ? 0 : size;
	return 0;
}
