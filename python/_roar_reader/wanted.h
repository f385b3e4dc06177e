/* wanted.h - arguments that select samples: readers and sample numbers. */
#ifndef ROAR_PYTHON_READER_WANTED_H
#define ROAR_PYTHON_READER_WANTED_H

#include "core.h"

struct wanted {
	struct reader_plan plan; /* readers, numbers and which of it are set */
	Py_buffer numbers; /* .obj is NULL: not given */
	Py_buffer which;
};

/* Reads a tuple of Readers and the buffers `which` (32-bit integers) and `numbers` (64-bit
 * integers), or None; the tuple must outlive `ret`.  0, or -1 with an exception and nothing to
 * release. */
int wanted_take(const struct state *state, PyObject *readers, PyObject *which,
		PyObject *numbers, struct wanted *ret);
void wanted_release(struct wanted *w);

#endif
