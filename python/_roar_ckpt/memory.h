/* memory.h - the memory of a tensor and the numbers of its shape, as Python gives them.
 *
 * Memory is an address (of torch and NumPy, whose caller keeps it alive and knows its size)
 * or a contiguous buffer. */
#ifndef ROAR_PYTHON_CKPT_MEMORY_H
#define ROAR_PYTHON_CKPT_MEMORY_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

struct memory {
	void *data;
	Py_buffer view; /* .obj is NULL: it was an address */
};

/* Takes memory of at least `len` bytes.  0, or -1 with an exception. */
int memory_take(PyObject *given, size_t len, bool writable, struct memory *ret);
void memory_release(struct memory *m);

/* Takes a tuple of numbers; the result is in the pool.  0, or -1 with an exception. */
int memory_numbers(PyObject *tuple, struct pool *pool, unsigned *ret_n,
		   const uint64_t **ret);

/* The bytes of a box of that type.  0, or -1 with an exception. */
int memory_size(const char *dtype, const uint64_t *shape, unsigned n_dims,
		uint64_t *ret);

/* A copy of a string in the pool, as UTF-8 without NUL; None is NULL if `may_be_none`.  0,
 * or -1 with an exception. */
int memory_text(PyObject *given, struct pool *pool, bool may_be_none,
		const char **ret);

#endif
