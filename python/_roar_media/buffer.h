/* buffer.h - memory that is not Python's, as an object of the buffer protocol. */
#ifndef ROAR_PYTHON_MEDIA_BUFFER_H
#define ROAR_PYTHON_MEDIA_BUFFER_H

#include "core.h"

enum { BUFFER_DIMS = 4 };

/* Either a counted buffer of FFmpeg's, which is read-only, or a block of ours. */
struct buffer {
	PyObject_HEAD AVBufferRef *ref; /* one count of ours, or NULL */
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

/* Bytes in memory that `ref` keeps.  Takes a count of its own. */
PyObject *buffer_refer(const struct state *state, const AVBufferRef *ref,
		       const uint8_t *data, size_t len);

/* An array in C order over a malloc()ed block, which is taken over, also when it
 * fails. */
PyObject *buffer_own(const struct state *state, void *block, char format,
		     size_t itemsize, const size_t *shape, int ndim);

#endif
