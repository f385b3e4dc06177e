/* view.h - memory of a unit as a Python object.
 *
 * A view holds one reference to its unit.  The memory is freed when the last view, and every
 * object made from one (an array, a slice of it, a memoryview, a tensor), is gone.  Views support
 * the buffer protocol and DLPack, writable, in C order.
 *
 * A reserved view is memory to be filled in place.  Its handle keeps a list of these, so that
 * the encoder can find out whether the bytes of a leaf are in the arena already. */
#ifndef ROAR_PYTHON_VIEW_H
#define ROAR_PYTHON_VIEW_H

#include "core.h"

struct handle;
struct roar_arena_unit;

enum { VIEW_DIMS = 16 };

struct view {
	PyObject_HEAD struct roar_arena_unit *unit; /* holds one reference */
	char *data;
	Py_ssize_t len;
	Py_ssize_t itemsize;
	Py_ssize_t shape[VIEW_DIMS];
	Py_ssize_t strides[VIEW_DIMS];
	int ndim;
	int code; /* type code of DLPack */
	char format[4]; /* as in the module struct */
	bool sent; /* reserved: already sent once */
	struct handle *handle; /* reserved: its handle; otherwise NULL */
	struct view *next; /* reserved: list of the handle */
	struct view *previous;
};

extern PyType_Spec view_spec;

/* A view of bytes of a unit.  Takes its own reference to the unit. */
struct view *view_new(const struct state *state, struct roar_arena_unit *unit,
		      void *data, size_t len);

/* The reserved view of this handle that contains [data, data + len) and has not been sent, or
 * NULL. */
struct view *view_find(const struct handle *h, const void *data, size_t len);

/* The method __dlpack__. */
PyObject *view_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
