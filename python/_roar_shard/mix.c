/* mix.c - datasets mixed by weight, for Python */
#include "core.h"

#include <errno.h>

#include "base/cleanup.h"
#include "shard/order/mixture.h"

struct mix_object {
	PyObject ob_base;
	struct mixture *mix;
};

static void dealloc(PyObject *self)
{
	mixture_free(((struct mix_object *)self)->mix);
	object_free(self);
}

/* A tuple, as roar.order makes them; the name stays the tuple's. */
static bool get_part(PyObject *tuple, struct mix_part *ret)
{
	struct order_spec *spec = &ret->spec;
	int sequential;

	if (!PyTuple_Check(tuple)) {
		PyErr_SetString(PyExc_TypeError, "a part is a tuple");
		return false;
	}
	if (!PyArg_ParseTuple(tuple, "sO&O&O&O&O&O&p;a part", &spec->dataset,
			      core_u64, &spec->n_samples, core_u64,
			      &ret->weight, core_u64, &spec->seed, core_u64,
			      &spec->epoch, core_u64, &spec->shard_size,
			      core_u64, &spec->window, &sequential))
		return false;
	spec->sequential = sequential;
	return true;
}

static struct mixture *make(PyObject *list, uint64_t seed)
{
	size_t n = (size_t)PyList_Size(list);
	CLEANUP(freep) struct mix_part *parts = calloc(n + 1, sizeof(*parts));
	struct roar_error err = { 0 };
	struct mixture *m = NULL;
	int r;

	if (!parts)
		return core_raise(-ENOMEM, NULL);
	for (size_t i = 0; i < n; i++)
		if (!get_part(PyList_GetItem(list, (Py_ssize_t)i), &parts[i]))
			return NULL;
	r = mixture_new(parts, n, seed, &m, &err);
	return r < 0 ? core_raise(r, &err) : m;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "parts", "seed", NULL };
	struct mix_object *self;
	uint64_t seed = 0;
	PyObject *parts;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O&:Mix", names,
					 &PyList_Type, &parts, core_u64, &seed))
		return NULL;
	self = object_new((PyObject *)type);
	if (!self)
		return NULL;
	self->mix = make(parts, seed);
	if (self->mix)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return NULL;
}

static PyObject *as_list(const struct mix_place *places, size_t n)
{
	PyObject *list = PyList_New((Py_ssize_t)n);

	for (size_t i = 0; list && i < n; i++) {
		PyObject *place = Py_BuildValue(
			"IKKK", places[i].part,
			(unsigned long long)places[i].epoch,
			(unsigned long long)places[i].position,
			(unsigned long long)places[i].sample);

		if (!place || PyList_SetItem(list, (Py_ssize_t)i, place) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *fill(PyObject *self, PyObject *args)
{
	CLEANUP(freep) struct mix_place *places = NULL;
	uint64_t first, count;
	int r;

	if (!PyArg_ParseTuple(args, "O&O&:fill", core_u64, &first, core_u64,
			      &count))
		return NULL;
	if (first > INT64_MAX || count > INT64_MAX - first)
		return core_raise(-ERANGE, NULL);
	if (count > PY_SSIZE_T_MAX / sizeof(*places))
		return PyErr_NoMemory();
	places = malloc((size_t)(count + 1) * sizeof(*places));
	if (!places)
		return PyErr_NoMemory();
	r = mixture_fill(((struct mix_object *)self)->mix, first, (size_t)count,
			 places);
	return r < 0 ? core_raise(r, NULL) : as_list(places, (size_t)count);
}

static PyObject *get_period(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(
		mixture_period(((struct mix_object *)self)->mix));
}

static PyMethodDef methods[] = {
	{ "fill", fill, METH_VARARGS,
	  "fill(first, count): [(part, epoch, position, sample)] of the stream "
	  "from first on." },
	{ 0 },
};

static PyGetSetDef fields[] = {
	{ .name = "period", .get = get_period, .doc = "the sum of weights" },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc,
	  "Mix(parts, seed=0): datasets as one stream, by weight; parts is a "
	  "list of (dataset, n_samples, weight, seed, epoch, shard_size, "
	  "window, sequential)." },
	{ Py_tp_new, new },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, fields },
	{ 0, NULL },
};

PyType_Spec mix_type_spec = {
	.name = "_roar_shard.Mix",
	.basicsize = sizeof(struct mix_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
