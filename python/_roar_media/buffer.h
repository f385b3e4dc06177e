/* buffer.h - memory outside Python as an object with the buffer protocol. */
#ifndef ROAR_PYTHON_MEDIA_BUFFER_H
#define ROAR_PYTHON_MEDIA_BUFFER_H

#include "core.h"

enum { BUFFER_DIMS = 4 };

/* Either a reference-counted buffer of FFmpeg, read-only, or a malloc()ed block. */
struct buffer {
	PyObject_HEAD AVBufferRef *ref; /* holds one reference, or NULL */
	void *block; /* malloc()ed, or NULL */
	void *data; /* in one of them */
	Py_ssize_t len;
	Py_ssize_t itemsize;
	int ndim;
	Py_ssize_t shape[BUFFER_DIMS];
	Py_ssize_t strides[BUFFER_DIMS];
	char format[2]; /* as in the module struct */
};

extern PyType_Spec buffer_spec;

/* Bytes in the memory of `ref`.  Takes its own reference. */
PyObject *buffer_refer(const struct state *state, const AVBufferRef *ref,
		       const uint8_t *data, size_t len);

/* An array in C order in a malloc()ed block.  Takes ownership of the block, also if it
 * fails. */
PyObject *buffer_own(const struct state *state, void *block, char format,
		     size_t itemsize, const size_t *shape, int ndim);

#endif
