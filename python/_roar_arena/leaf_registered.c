/* leaf_registered.c - types that roar.register() made known
 *
 *	(leaf, WIRE_REGISTERED, first part, n parts, from_buffers, state)
 *
 * The receiver needs no registration: from_buffers is pickled by name, like any function. */
#include "decode.h"
#include "encode.h"
#include "leaf.h"

/* Adds all buffers of a sequence; -1 with an exception. */
static Py_ssize_t add_all(struct encoder *e, PyObject *buffers)
{
	Py_ssize_t n = PySequence_Size(buffers);

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *buffer = PySequence_GetItem(buffers, i);
		Py_ssize_t part = buffer ? encoder_add_buffer(e, buffer) : -1;

		Py_XDECREF(buffer);
		if (part < 0)
			return -1;
	}
	return n;
}

PyObject *registered_claim(struct encoder *e, PyObject *obj, PyObject *pair)
{
	PyObject *to = PyTuple_GetItem(pair, 0);
	PyObject *from = PyTuple_GetItem(pair, 1);
	Py_ssize_t leaf = encoder_number(e, obj);
	PyObject *made = leaf < 0 ? NULL :
				    PyObject_CallFunctionObjArgs(to, obj, NULL);
	Py_ssize_t first = (Py_ssize_t)e->leaves.n;
	Py_ssize_t n = -1;
	PyObject *id = NULL;

	if (!made)
		return NULL;
	if (!PyTuple_Check(made) || PyTuple_Size(made) != 2)
		PyErr_Format(PyExc_TypeError,
			     "to_buffers of %R must return (state, buffers)",
			     Py_TYPE(obj));
	else
		n = add_all(e, PyTuple_GetItem(made, 1));
	if (n >= 0)
		id = Py_BuildValue("ninnOO", leaf, (int)WIRE_REGISTERED, first,
				   n, from, PyTuple_GetItem(made, 0));
	Py_DECREF(made);
	return id;
}

static PyObject *buffer_of(struct decoder *d, Py_ssize_t i)
{
	PyObject *part = PyLong_FromSsize_t(i);
	PyObject *buffer = NULL;
	struct memory m;

	if (part && decoder_part(d, part, &m) == 0)
		buffer = decoder_buffer(d, &m);
	Py_XDECREF(part);
	return buffer;
}

static PyObject *buffers_of(struct decoder *d, Py_ssize_t first, Py_ssize_t n)
{
	PyObject *list = PyList_New(0);

	for (Py_ssize_t i = 0; list && i < n; i++) {
		PyObject *buffer = buffer_of(d, first + i);

		if (!buffer || PyList_Append(list, buffer) < 0)
			Py_CLEAR(list);
		Py_XDECREF(buffer);
	}
	return list;
}

PyObject *registered_build(struct decoder *d, PyObject *id)
{
	PyObject *from;
	PyObject *state;
	PyObject *buffers;
	PyObject *result;
	Py_ssize_t leaf;
	Py_ssize_t first;
	Py_ssize_t n;
	int kind;

	if (!PyArg_ParseTuple(id, "ninnOO", &leaf, &kind, &first, &n, &from,
			      &state))
		return NULL;
	buffers = buffers_of(d, first, n);
	if (!buffers)
		return NULL;
	result = PyObject_CallFunctionObjArgs(from, state, buffers, NULL);
	Py_DECREF(buffers);
	return result;
}
