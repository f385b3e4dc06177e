/* order.c - the order of an epoch for Python */
#include "core.h"

#include <string.h>

enum { BRIEF = 4096 }; /* samples, found sooner than the GIL is back */

struct order_object {
	PyObject ob_base;
	struct order order;
};

static const struct order *order_in(PyObject *self)
{
	return &((struct order_object *)self)->order;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "dataset",    "n_samples",  "seed",
				 "epoch",      "shard_size", "window",
				 "sequential", NULL };
	struct order_spec spec = { 0 };
	struct roar_error err = { 0 };
	struct order_object *self;
	int sequential = 0;
	int r;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "sO&|O&O&O&O&p:Order", names, &spec.dataset,
		    core_u64, &spec.n_samples, core_u64, &spec.seed, core_u64,
		    &spec.epoch, core_u64, &spec.shard_size, core_u64,
		    &spec.window, &sequential))
		return NULL;
	spec.sequential = sequential;
	self = object_new((PyObject *)type);
	if (!self)
		return NULL;
	r = order_init(&self->order, &spec, &err);
	if (r == 0)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return core_raise(r, &err);
}

static Py_ssize_t length(PyObject *self)
{
	return (Py_ssize_t)order_in(self)->n_samples;
}

static PyObject *item(PyObject *self, Py_ssize_t i)
{
	if (i < 0 || (uint64_t)i >= order_in(self)->n_samples) {
		PyErr_Format(PyExc_IndexError,
			     "there is no position %zd among %zd", i,
			     length(self));
		return NULL;
	}
	return PyLong_FromUnsignedLongLong(
		order_at(order_in(self), (uint64_t)i));
}

static PyObject *position(PyObject *self, PyObject *args)
{
	uint64_t sample;

	if (!PyArg_ParseTuple(args, "O&:position", core_u64, &sample))
		return NULL;
	if (sample >= order_in(self)->n_samples) {
		PyErr_Format(PyExc_ValueError,
			     "there is no sample %llu among %zd",
			     (unsigned long long)sample, length(self));
		return NULL;
	}
	return PyLong_FromUnsignedLongLong(
		order_position(order_in(self), sample));
}

static PyObject *fill(PyObject *self, PyObject *args)
{
	const struct order *o = order_in(self);
	uint64_t first, count;
	PyObject *numbers;
	uint64_t *to;

	if (!PyArg_ParseTuple(args, "O&O&:fill", core_u64, &first, core_u64,
			      &count))
		return NULL;
	if (count > o->n_samples || first > o->n_samples - count) {
		PyErr_Format(
			PyExc_ValueError,
			"there are no %llu positions from %llu on among %zd",
			(unsigned long long)count, (unsigned long long)first,
			length(self));
		return NULL;
	}
	numbers = core_numbers((size_t)count, &to);
	if (!numbers || count <= BRIEF) {
		if (numbers)
			order_fill(o, first, (size_t)count, to);
		return numbers;
	}
	Py_BEGIN_ALLOW_THREADS;
	order_fill(o, first, (size_t)count, to);
	Py_END_ALLOW_THREADS;
	return numbers;
}

/* ---- the samples at positions that are given ---- */

static bool all_below(const uint64_t *positions, size_t n, uint64_t end)
{
	for (size_t i = 0; i < n; i++)
		if (positions[i] >= end)
			return false;
	return true;
}

/* Positions mostly follow each other, and such are found faster together. */
static void look_up(const struct order *o, const uint64_t *positions, size_t n,
		    uint64_t *to)
{
	size_t run;

	for (size_t i = 0; i < n; i += run) {
		run = 1;
		while (i + run < n && positions[i + run] == positions[i] + run)
			run++;
		order_fill(o, positions[i], run, to + i);
	}
}

static PyObject *look_up_view(const struct order *o, const Py_buffer *view)
{
	size_t n = (size_t)view->len / sizeof(uint64_t);
	PyObject *numbers;
	uint64_t *to;

	if (view->itemsize != sizeof(uint64_t) || !view->format ||
	    !strchr("QL", view->format[0]) || view->format[1])
		return PyErr_Format(PyExc_TypeError,
				    "positions must be unsigned 64-bit "
				    "integers (numpy.uint64), not of format "
				    "'%s'",
				    view->format ? view->format : "B");
	if (!all_below(view->buf, n, o->n_samples))
		return PyErr_Format(PyExc_ValueError,
				    "a position is beyond the last of %llu",
				    (unsigned long long)o->n_samples);
	numbers = core_numbers(n, &to);
	if (numbers)
		look_up(o, view->buf, n, to);
	return numbers;
}

static PyObject *samples(PyObject *self, PyObject *object)
{
	PyObject *numbers;
	Py_buffer view;

	if (PyObject_GetBuffer(object, &view,
			       PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
		return NULL;
	numbers = look_up_view(order_in(self), &view);
	PyBuffer_Release(&view);
	return numbers;
}

static PyMethodDef methods[] = {
	{ "position", position, METH_VARARGS,
	  "position(sample): its position in the epoch." },
	{ "fill", fill, METH_VARARGS,
	  "fill(first, count): the samples at these positions, as a memoryview "
	  "of 64-bit integers." },
	{ "samples", samples, METH_O,
	  "samples(positions): the samples at these positions, a buffer of "
	  "unsigned 64-bit integers." },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc,
	  "Order(dataset, n_samples, seed=0, epoch=0, shard_size=0, window=0, "
	  "sequential=False): the order in which an epoch visits samples." },
	{ Py_tp_new, new },
	{ Py_tp_dealloc, object_free },
	{ Py_tp_methods, methods },
	{ Py_sq_length, length },
	{ Py_sq_item, item },
	{ 0, NULL },
};

PyType_Spec order_type_spec = {
	.name = "_roar_shard.Order",
	.basicsize = sizeof(struct order_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
