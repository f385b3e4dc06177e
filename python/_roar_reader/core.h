/* core.h - what the files of the extension _roar_reader share.
 *
 * The extension speaks the limited API of Python 3.11.  All state is in the module, and
 * every type is a heap type.
 *
 *	shard		Reader: one shard, samples by their number
 *	stream		Stream: samples in an order, read ahead
 *	fill		samples side by side, to where they are wanted
 *	wanted		which samples, as Python says it
 *	sample		a sample as a Python object
 *	direct		the same for a large one, without a copy
 *	buffer		memory of a block as a Python buffer
 *
 * No file is opened or read with the GIL held. */
#ifndef ROAR_PYTHON_READER_CORE_H
#define ROAR_PYTHON_READER_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "reader/reader.h"

struct state {
	PyObject *error; /* roar.readers.ShardError */
	PyObject *changed; /* roar.readers.ShardChanged */
	PyObject *reader_type;
	PyObject *stream_type;
	PyObject *buffer_type;
	PyObject *key_name; /* "__key__" */
};

struct state *core_state(PyObject *module);

/* An object of one of our types, all its fields zero. */
void *core_new(PyObject *type);

/* Ends an object of a heap type: its memory, and its hold on the type. */
void core_free(PyObject *self);

/* Sets the exception for a negative errno and its sentence; returns NULL. */
PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err);

#endif
