/* ckpt_dtype.h - element types of tensors, by the names that safetensors gives them. */
#ifndef ROAR_CKPT_DTYPE_H
#define ROAR_CKPT_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum ckpt_dtype {
	CKPT_BOOL,
	CKPT_U8,
	CKPT_I8,
	CKPT_F8_E5M2,
	CKPT_F8_E4M3,
	CKPT_I16,
	CKPT_U16,
	CKPT_F16,
	CKPT_BF16,
	CKPT_I32,
	CKPT_U32,
	CKPT_F32,
	CKPT_F64,
	CKPT_I64,
	CKPT_U64,
	CKPT_N_DTYPES,
};

enum {
	CKPT_MAX_DIMS = 32,
};

/* No file and no tensor is larger: sums of a few such sizes never overflow. */
#define CKPT_MAX_BYTES (UINT64_C(1) << 60)

const char *ckpt_dtype_name(enum ckpt_dtype dtype); /* "BF16" */
size_t ckpt_dtype_bytes(enum ckpt_dtype dtype); /* of an element: 1, 2, 4 or 8 */

/* -EINVAL: no such type. */
int ckpt_dtype_parse(const char *name, enum ckpt_dtype *ret);

/* The bytes of a tensor of that shape; a scalar has no dimensions.  -EOVERFLOW: more than
 * CKPT_MAX_BYTES. */
int ckpt_dtype_size(enum ckpt_dtype dtype, const uint64_t *shape,
		    unsigned n_dims, uint64_t *ret);

#endif
