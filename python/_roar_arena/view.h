/* view.h - memory of a unit as a Python object.
 *
 * A view holds one reference to its unit: the room is given back when the last view,
 * or whatever was made from one (an array, a slice of it, a memoryview, a tensor), is gone.  It
 * offers the buffer protocol and DLPack, writable, in C order.
 *
 * A reserved view is memory to be filled in place.  Its handle keeps a list of those, in which
 * the encoder finds out that the bytes of a leaf are in the arena already. */
#ifndef ROAR_PYTHON_VIEW_H
#define ROAR_PYTHON_VIEW_H

#include "core.h"

struct handle;
struct roar_arena_unit;

enum { VIEW_DIMS = 16 };

struct view {
	PyObject_HEAD struct roar_arena_unit *unit; /* one reference of ours */
	char *data;
	Py_ssize_t len;
	Py_ssize_t itemsize;
	Py_ssize_t shape[VIEW_DIMS];
	Py_ssize_t strides[VIEW_DIMS];
	int ndim;
	int code; /* DLPack's name for the kind of number */
	char format[4]; /* as in the module struct */
	bool sent; /* reserved: it has been handed on, once */
	struct handle *handle; /* reserved: who did; otherwise NULL */
	struct view *next; /* reserved: of the handle's */
	struct view *previous;
};

extern PyType_Spec view_spec;

/* Bytes of a unit.  Takes a reference to the unit of its own. */
struct view *view_new(const struct state *state, struct roar_arena_unit *unit,
		      void *data, size_t len);

/* The reserved memory of this handle that [data, data + len) lies in and that has not been
 * handed on, or NULL. */
struct view *view_find(const struct handle *h, const void *data, size_t len);

/* The method __dlpack__. */
PyObject *view_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
