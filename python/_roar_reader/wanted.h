/* wanted.h - samples that Python asks for: of which readers, by which numbers. */
#ifndef ROAR_PYTHON_READER_WANTED_H
#define ROAR_PYTHON_READER_WANTED_H

#include "core.h"

struct wanted {
	struct reader_plan plan; /* readers, numbers and which of it are set */
	Py_buffer numbers; /* without an object: none are named */
	Py_buffer which;
};

/* Reads a tuple of Readers and two buffers, of 64 and of 32 bits a number, or None; the
 * tuple must outlive `ret`.  0, or -1 with an exception and nothing to release. */
int wanted_take(const struct state *state, PyObject *readers, PyObject *which,
		PyObject *numbers, struct wanted *ret);
void wanted_release(struct wanted *w);

#endif
