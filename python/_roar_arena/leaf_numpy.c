/* leaf_numpy.c - numpy.ndarray, exactly
 *
 *	(leaf, WIRE_NDARRAY, part, dtype, shape, "C" | "F")
 *
 * NumPy is reached through Python alone, so the extension needs none to be built and works with
 * every version.  An array tells its memory through __array_struct__, which unlike the buffer protocol
 * knows every dtype: dates, bfloat16, records.  Arrays of objects, small ones and
 * subclasses are left to NumPy's own pickling. */
#include "decode.h"
#include "encode.h"
#include "leaf.h"
#include "view.h"

/* The array interface's C structure. */
struct array_interface {
	int two; /* is 2 */
	int ndim;
	char kind;
	int itemsize;
	int flags; /* not to be relied on: records have none */
	Py_intptr_t *shape;
	Py_intptr_t *strides;
	void *data;
};

int numpy_look(struct state *state)
{
	PyObject *numpy;
	PyObject *name;

	if (state->ref[REF_NDARRAY])
		return 0;
	name = PyUnicode_FromString("numpy");
	numpy = name ? PyImport_GetModule(name) : NULL;
	Py_XDECREF(name);
	if (!numpy)
		return PyErr_Occurred() ? -1 : 0;
	state->ref[REF_NUMPY_EMPTY] = PyObject_GetAttrString(numpy, "empty");
	if (state->ref[REF_NUMPY_EMPTY])
		state->ref[REF_NDARRAY] = PyObject_GetAttrString(numpy,
								 "ndarray");
	PyErr_Clear(); /* it is being imported just now: another time */
	Py_DECREF(numpy);
	return 0;
}

/* Imports NumPy for an array that arrived. */
static int need(struct state *state)
{
	PyObject *numpy;

	if (state->ref[REF_NDARRAY])
		return 0;
	numpy = PyImport_ImportModule("numpy");
	if (!numpy)
		return -1;
	Py_DECREF(numpy);
	if (numpy_look(state) < 0)
		return -1;
	if (state->ref[REF_NDARRAY])
		return 0;
	PyErr_SetString(PyExc_ImportError, "numpy has no ndarray");
	return -1;
}

/* A new capsule that keeps `*ret`. */
static PyObject *interface_of(PyObject *array,
			      const struct array_interface **ret)
{
	PyObject *capsule = PyObject_GetAttrString(array, "__array_struct__");

	if (!capsule)
		return NULL;
	*ret = PyCapsule_GetPointer(capsule, NULL);
	if (!*ret || (*ret)->two != 2)
		Py_CLEAR(capsule);
	return capsule;
}

static size_t size_of(const struct array_interface *a)
{
	size_t size = (size_t)a->itemsize;

	for (int i = 0; i < a->ndim; i++)
		size *= (size_t)a->shape[i];
	return size;
}

/* Do the elements follow each other, with the index `first` moving fastest and `step` to the
 * next slower one? */
static bool is_dense(const struct array_interface *a, int first, int step)
{
	Py_intptr_t next = a->itemsize;

	for (int n = 0, i = first; n < a->ndim; n++, i += step) {
		if (a->shape[i] == 0)
			return true;
		if (a->shape[i] != 1 && a->strides[i] != next)
			return false;
		next *= a->shape[i];
	}
	return true;
}

static bool is_c(const struct array_interface *a)
{
	return is_dense(a, a->ndim - 1, -1);
}

static bool is_fortran(const struct array_interface *a)
{
	return is_dense(a, 0, 1);
}

static PyObject *shape_of(const struct array_interface *a)
{
	PyObject *shape = PyTuple_New(a->ndim);

	for (int i = 0; shape && i < a->ndim; i++) {
		PyObject *n = PyLong_FromSsize_t(a->shape[i]);

		if (!n || PyTuple_SetItem(shape, i, n) < 0)
			Py_CLEAR(shape);
	}
	return shape;
}

/* 1 when the elements are bytes and nothing but bytes; *ret_dtype is new. */
static int has_plain_dtype(PyObject *array, PyObject **ret_dtype)
{
	PyObject *dtype = PyObject_GetAttrString(array, "dtype");
	PyObject *objects = dtype ? PyObject_GetAttrString(dtype, "hasobject") :
				    NULL;
	int r = objects ? PyObject_IsTrue(objects) : -1;

	Py_XDECREF(objects);
	if (r == 0)
		*ret_dtype = dtype;
	else
		Py_XDECREF(dtype);
	return r < 0 ? r : !r;
}

/* The id of a leaf whose memory is that of the array `dense`. */
static PyObject *id_of(struct encoder *e, PyObject *obj, PyObject *dense,
		       const struct array_interface *a, PyObject *dtype)
{
	const char *order = is_c(a) ? "C" : "F";
	Py_ssize_t leaf = encoder_number(e, obj);
	Py_ssize_t part = leaf < 0 ? -1 :
				     encoder_add(e, dense, a->data, size_of(a));
	PyObject *shape = part < 0 ? NULL : shape_of(a);

	if (!shape)
		return NULL;
	return Py_BuildValue("ninONs", leaf, (int)WIRE_NDARRAY, part, dtype,
			     shape, order);
}

static PyObject *claim_dense(struct encoder *e, PyObject *obj, PyObject *dtype)
{
	PyObject *dense = PyObject_CallMethod(obj, "copy", "s", "C");
	const struct array_interface *a = NULL;
	PyObject *capsule = dense ? interface_of(dense, &a) : NULL;
	PyObject *id = capsule ? id_of(e, obj, dense, a, dtype) : NULL;

	Py_XDECREF(capsule);
	Py_XDECREF(dense);
	return id;
}

static PyObject *claim_array(struct encoder *e, PyObject *obj,
			     const struct array_interface *a)
{
	PyObject *dtype = NULL;
	PyObject *id;
	int r;

	if (size_of(a) < e->threshold &&
	    !view_find(e->handle, a->data, size_of(a)))
		Py_RETURN_NONE;
	r = has_plain_dtype(obj, &dtype);
	if (r < 0)
		return NULL;
	if (r == 0)
		Py_RETURN_NONE;
	id = is_c(a) || is_fortran(a) ? id_of(e, obj, obj, a, dtype) :
					claim_dense(e, obj, dtype);
	Py_DECREF(dtype);
	return id;
}

PyObject *numpy_claim(struct encoder *e, PyObject *obj)
{
	const struct array_interface *a = NULL;
	PyObject *capsule = interface_of(obj, &a);
	PyObject *id;

	if (!capsule) {
		if (PyErr_Occurred())
			return NULL;
		Py_RETURN_NONE;
	}
	id = claim_array(e, obj, a);
	Py_DECREF(capsule);
	return id;
}

static PyObject *build_view(struct decoder *d, const struct memory *m,
			    PyObject *dtype, PyObject *shape, PyObject *order)
{
	PyObject *view = decoder_view(d, m);
	PyObject *array = NULL;

	/* shape, dtype, buffer, offset, strides, order */
	if (view)
		array = PyObject_CallFunction(d->state->ref[REF_NDARRAY],
					      "OOOiOO", shape, dtype, view, 0,
					      Py_None, order);
	Py_XDECREF(view);
	return array;
}

static PyObject *build_copy(struct decoder *d, const struct memory *m,
			    PyObject *dtype, PyObject *shape, PyObject *order)
{
	PyObject *array = PyObject_CallFunctionObjArgs(
		d->state->ref[REF_NUMPY_EMPTY], shape, dtype, order, NULL);
	const struct array_interface *a = NULL;
	PyObject *capsule = array ? interface_of(array, &a) : NULL;

	if (!capsule || decoder_copy(m, a->data, size_of(a)) < 0)
		Py_CLEAR(array);
	Py_XDECREF(capsule);
	return array;
}

PyObject *numpy_build(struct decoder *d, PyObject *id)
{
	PyObject *part;
	PyObject *dtype;
	PyObject *shape;
	PyObject *order;
	Py_ssize_t leaf;
	struct memory m;
	int kind;

	if (!PyArg_ParseTuple(id, "niOOOO", &leaf, &kind, &part, &dtype, &shape,
			      &order) ||
	    need(d->state) < 0 || decoder_part(d, part, &m) < 0)
		return NULL;
	return d->copy || m.private ? build_copy(d, &m, dtype, shape, order) :
				      build_view(d, &m, dtype, shape, order);
}
