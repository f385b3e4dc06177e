/* view.c - memory of a unit as a Python object */
#include "view.h"

#include <string.h>

#include <roar/arena.h>

#include "errors.h"
#include "handle.h"

struct view *view_new(const struct state *state, struct roar_arena_unit *unit,
		      void *data, size_t len)
{
	struct view *v = object_new(state->ref[REF_VIEW_TYPE]);

	if (!v)
		return NULL;
	roar_arena_retain(unit);
	v->unit = unit;
	v->data = data;
	v->len = (Py_ssize_t)len;
	v->itemsize = 1;
	v->ndim = 1;
	v->shape[0] = v->len;
	v->strides[0] = 1;
	v->code = 1; /* unsigned, of 8 bits */
	v->format[0] = 'B';
	return v;
}

static void unlink_reserved(struct view *v)
{
	struct handle *h = v->handle;

	if (v->previous)
		v->previous->next = v->next;
	else
		h->reserved = v->next;
	if (v->next)
		v->next->previous = v->previous;
}

static void dealloc(PyObject *self)
{
	struct view *v = (struct view *)self;
	struct handle *h = v->handle;

	roar_arena_release(v->unit);
	if (h) {
		unlink_reserved(v);
		handle_settle(h);
		Py_DECREF((PyObject *)h);
	}
	object_free(self);
}

struct view *view_find(const struct handle *h, const void *data, size_t len)
{
	const char *at = data;

	if (!h)
		return NULL;
	for (struct view *v = h->reserved; v; v = v->next) {
		size_t offset = (uintptr_t)at - (uintptr_t)v->data;

		if (offset <= (size_t)v->len && len <= (size_t)v->len - offset)
			return v->sent ? NULL : v;
	}
	return NULL;
}

/* Bytes between neighbours along each dimension; -1 when the shape is not that of `len`
 * bytes. */
static int set_shape(struct view *v, PyObject *shape)
{
	Py_ssize_t bytes = v->itemsize;

	v->ndim = (int)PyTuple_Size(shape);
	for (int i = 0; i < v->ndim; i++)
		v->shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
	if (PyErr_Occurred())
		return -1;
	for (int i = v->ndim - 1; i >= 0; i--) {
		v->strides[i] = bytes;
		if (v->shape[i] < 0 ||
		    __builtin_mul_overflow(bytes, v->shape[i], &bytes))
			bytes = -1;
	}
	if (bytes == v->len)
		return 0;
	PyErr_SetString(PyExc_ValueError, "the shape does not match the number "
					  "of bytes");
	return -1;
}

static void link_reserved(struct view *v, struct handle *h)
{
	Py_INCREF((PyObject *)h);
	v->handle = h;
	v->next = h->reserved;
	if (v->next)
		v->next->previous = v;
	h->reserved = v;
}

static int reserve(struct handle *h, size_t len, long long timeout_ns,
		   struct roar_arena_unit **ret)
{
	const struct roar_arena_part part = { .len = len };
	struct wait w = wait_begin(timeout_ns);
	int r;

	do {
		wait_unlock(&w);
		r = roar_arena_reserve(h->a, &part, 1, 0, w.slice_ns, ret);
		wait_lock(&w);
	} while (wait_more(h, &w, &r));
	if (r < 0 && !PyErr_Occurred())
		error_raise(h->state, h->a, r, ERROR_SENDING);
	return r;
}

PyObject *handle_reserve(PyObject *self, PyObject *args)
{
	struct handle *h = (struct handle *)self;
	struct roar_arena_unit *unit = NULL;
	struct view *v = NULL;
	Py_ssize_t len = 0;
	Py_ssize_t itemsize = 0;
	long long timeout_ns = 0;
	const char *format = NULL;
	PyObject *shape = NULL;
	int code = 0;

	if (!PyArg_ParseTuple(args, "nLsniO!:reserve", &len, &timeout_ns,
			      &format, &itemsize, &code, &PyTuple_Type, &shape))
		return NULL;
	if (len < 0 || itemsize < 1 || strlen(format) >= sizeof(v->format) ||
	    PyTuple_Size(shape) > VIEW_DIMS) {
		PyErr_SetString(PyExc_ValueError,
				"an array in an arena has at most 16 "
				"dimensions and a size of at least 0");
		return NULL;
	}
	if (handle_enter(h) < 0)
		return NULL;
	if (reserve(h, (size_t)len, timeout_ns, &unit) == 0) {
		v = view_new(h->state, unit, unit->buffers[0].data,
			     (size_t)len);
		roar_arena_release(unit); /* the view has it, or nobody */
	}
	if (v) {
		link_reserved(v, h);
		v->itemsize = itemsize;
		v->code = code;
		memcpy(v->format, format, strlen(format) + 1);
		if (set_shape(v, shape) < 0)
			Py_CLEAR(v);
	}
	handle_leave(h);
	return (PyObject *)v;
}

static int get_buffer(PyObject *self, Py_buffer *buffer, int flags)
{
	struct view *v = (struct view *)self;

	*buffer = (Py_buffer){
		.buf = v->data,
		.len = v->len,
		.itemsize = v->itemsize,
		.ndim = v->ndim,
		.format = flags & PyBUF_FORMAT ? v->format : NULL,
		.shape = flags & PyBUF_ND ? v->shape : NULL,
		.strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ?
				   v->strides :
				   NULL,
	};
	if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && v->ndim > 1) {
		PyErr_SetString(PyExc_BufferError,
				"memory of an arena is in C order; copy it "
				"for Fortran order");
		return -1;
	}
	Py_INCREF(self);
	buffer->obj = self;
	return 0;
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromSsize_t(((struct view *)self)->len);
}

static PyObject *get_index(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(((struct view *)self)->unit->index);
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return Py_BuildValue("ii", 1, 0); /* the CPU's memory */
}

static PyMethodDef methods[] = {
	{ "__dlpack__", (PyCFunction)(void (*)(void))view_dlpack,
	  METH_VARARGS | METH_KEYWORDS,
	  "The memory as a DLPack capsule, without a copy." },
	{ "__dlpack_device__", dlpack_device, METH_NOARGS, "The CPU." },
	{ 0 },
};

static PyGetSetDef properties[] = {
	{ "nbytes", get_nbytes, NULL, "Number of bytes.", NULL },
	{ "index", get_index, NULL, "Index of the unit that holds them.", NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_methods, methods },
	{ Py_tp_getset, properties },
	{ Py_tp_dealloc, dealloc },
	{ Py_bf_getbuffer, get_buffer },
	{ Py_tp_doc, "Memory of an arena.  It is freed when the last object "
		     "that uses it is gone." },
	{ 0 },
};

PyType_Spec view_spec = {
	.name = "_roar_arena.View",
	.basicsize = sizeof(struct view),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
