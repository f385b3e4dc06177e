/* leaf_bytes.c - bytes, bytearray, memoryview
 *
 *	(leaf, WIRE_[EXACT_]BYTES | WIRE_[EXACT_]BYTEARRAY, part)
 *	(leaf, WIRE_MEMORYVIEW, part, format, shape, readonly)
 *
 * In view mode all of them arrive as writable memoryviews, but for the exact ones. */
#include "decode.h"
#include "encode.h"
#include "leaf.h"
#include "plain.h"
#include "view.h"

/* Is this one the user will see as a view?  (plain.h) */
static int is_plain(struct encoder *e, PyObject *obj)
{
	PyObject *id;
	int r;

	if (e->copy)
		return 1;
	if (!e->plain)
		e->plain = plain_find(e->state, e->root, e->threshold);
	if (!e->plain)
		return -1;
	id = PyLong_FromVoidPtr(obj);
	if (!id)
		return -1;
	r = PySet_Contains(e->plain, id);
	Py_DECREF(id);
	return r;
}

static PyObject *claim(struct encoder *e, PyObject *obj, size_t len,
		       enum wire_kind plain, enum wire_kind exact)
{
	Py_ssize_t leaf;
	Py_ssize_t part;
	int r;

	if (len < e->threshold)
		Py_RETURN_NONE;
	r = is_plain(e, obj);
	if (r < 0)
		return NULL;
	leaf = encoder_number(e, obj);
	part = leaf < 0 ? -1 : encoder_add_buffer(e, obj);
	if (part < 0)
		return NULL;
	return Py_BuildValue("nin", leaf, (int)(r ? plain : exact), part);
}

PyObject *bytes_claim(struct encoder *e, PyObject *obj)
{
	return claim(e, obj, (size_t)PyBytes_Size(obj), WIRE_BYTES,
		     WIRE_EXACT_BYTES);
}

PyObject *bytearray_claim(struct encoder *e, PyObject *obj)
{
	return claim(e, obj, (size_t)PyByteArray_Size(obj), WIRE_BYTEARRAY,
		     WIRE_EXACT_BYTEARRAY);
}

PyObject *exact_bytes_build(struct decoder *d, PyObject *id)
{
	struct memory m;
	PyObject *bytes;

	if (decoder_part(d, PyTuple_GetItem(id, 2), &m) < 0)
		return NULL;
	bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)m.len);
	if (bytes && decoder_copy(&m, PyBytes_AsString(bytes), m.len) < 0)
		Py_CLEAR(bytes);
	return bytes;
}

PyObject *exact_bytearray_build(struct decoder *d, PyObject *id)
{
	struct memory m;
	PyObject *bytes;

	if (decoder_part(d, PyTuple_GetItem(id, 2), &m) < 0)
		return NULL;
	bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)m.len);
	if (bytes && decoder_copy(&m, PyByteArray_AsString(bytes), m.len) < 0)
		Py_CLEAR(bytes);
	return bytes;
}

/* A memoryview over the unit, or over a copy when it is not in one. */
static PyObject *view_build(struct decoder *d, PyObject *id)
{
	struct memory m;
	PyObject *memory;
	PyObject *view;

	if (decoder_part(d, PyTuple_GetItem(id, 2), &m) < 0)
		return NULL;
	memory = m.private ? exact_bytearray_build(d, id) : decoder_view(d, &m);
	if (!memory)
		return NULL;
	view = PyMemoryView_FromObject(memory);
	Py_DECREF(memory);
	return view;
}

PyObject *bytes_build(struct decoder *d, PyObject *id)
{
	return d->copy ? exact_bytes_build(d, id) : view_build(d, id);
}

PyObject *bytearray_build(struct decoder *d, PyObject *id)
{
	return d->copy ? exact_bytearray_build(d, id) : view_build(d, id);
}

/* ---- memoryview ---- */

/* The format a view can be cast back to: a native one of a single letter, or bytes. */
static const char *castable(const char *format)
{
	if (format && format[0] == '@')
		format++;
	return format && format[0] && !format[1] ? format : "B";
}

static PyObject *shape_of(const Py_buffer *b)
{
	PyObject *shape = PyTuple_New(b->ndim);

	for (int i = 0; shape && i < b->ndim; i++) {
		PyObject *n = PyLong_FromSsize_t(b->shape[i]);

		if (!n || PyTuple_SetItem(shape, i, n) < 0)
			Py_CLEAR(shape);
	}
	return shape;
}

/* The number of a part, or the bytes themselves: few, or scattered in memory. */
static PyObject *memoryview_part(struct encoder *e, PyObject *obj,
				 const Py_buffer *b)
{
	bool dense = PyBuffer_IsContiguous(b, 'C');
	bool here = dense && view_find(e->handle, b->buf, (size_t)b->len);
	PyObject *flat = NULL;
	Py_ssize_t part;

	if (dense && ((size_t)b->len >= e->threshold || here)) {
		part = encoder_add_buffer(e, obj);
		return part < 0 ? NULL : PyLong_FromSsize_t(part);
	}
	flat = PyObject_CallMethod(obj, "tobytes", NULL);
	if (!flat || (size_t)b->len < e->threshold)
		return flat;
	part = encoder_add_buffer(e, flat);
	Py_DECREF(flat);
	return part < 0 ? NULL : PyLong_FromSsize_t(part);
}

static PyObject *memoryview_id(struct encoder *e, PyObject *obj,
			       const Py_buffer *b)
{
	Py_ssize_t leaf = encoder_number(e, obj);
	PyObject *part = leaf < 0 ? NULL : memoryview_part(e, obj, b);
	PyObject *shape = part ? shape_of(b) : NULL;

	if (!shape) {
		Py_XDECREF(part);
		return NULL;
	}
	return Py_BuildValue("niNsNi", leaf, (int)WIRE_MEMORYVIEW, part,
			     castable(b->format), shape, b->readonly);
}

PyObject *memoryview_claim(struct encoder *e, PyObject *obj)
{
	Py_buffer b;
	PyObject *id;

	if (PyObject_GetBuffer(obj, &b, PyBUF_FULL_RO) < 0)
		return NULL;
	id = memoryview_id(e, obj, &b);
	PyBuffer_Release(&b);
	return id;
}

/* `view`, of bytes, with its former format and shape.  Steals `view`. */
static PyObject *cast(PyObject *view, const char *format, PyObject *shape)
{
	bool same = format[0] == 'B' && PyTuple_Size(shape) == 1;
	PyObject *result;

	if (same || PyObject_Size(view) == 0)
		return view;
	result = PyObject_CallMethod(view, "cast", "sO", format, shape);
	if (!result && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear(); /* a shape for elements of another format */
		return view;
	}
	Py_DECREF(view);
	return result;
}

static PyObject *private_memoryview(struct decoder *d, PyObject *id,
				    int readonly)
{
	PyObject *memory = readonly ? exact_bytes_build(d, id) :
				      exact_bytearray_build(d, id);
	PyObject *view;

	if (!memory)
		return NULL;
	view = PyMemoryView_FromObject(memory);
	Py_DECREF(memory);
	return view;
}

PyObject *memoryview_build(struct decoder *d, PyObject *id)
{
	PyObject *part;
	PyObject *shape;
	PyObject *view;
	const char *format;
	int readonly = 0;
	int kind;
	Py_ssize_t leaf;

	if (!PyArg_ParseTuple(id, "niOsO!i", &leaf, &kind, &part, &format,
			      &PyTuple_Type, &shape, &readonly))
		return NULL;
	view = d->copy ? private_memoryview(d, id, readonly) :
			 view_build(d, id);
	return view ? cast(view, format, shape) : NULL;
}
