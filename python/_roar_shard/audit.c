/* audit.c - what a rank has consumed, on disk, for Python */
#include "core.h"

#include <errno.h>

#include "shard/audit/audit.h"

struct audit_object {
	PyObject ob_base;
	struct audit *audit; /* NULL: closed */
	bool busy; /* a thread waits for the disk, without the GIL */
};

/* What is in it, or NULL with an exception: a thread that waits for the disk has it for
 * itself. */
static struct audit *audit_in(PyObject *self)
{
	struct audit_object *object = (struct audit_object *)self;

	if (!object->audit)
		PyErr_SetString(PyExc_ValueError, "the audit file is closed");
	else if (object->busy)
		PyErr_SetString(PyExc_RuntimeError,
				"another thread writes this audit file: a "
				"writer belongs to one thread");
	else
		return object->audit;
	return NULL;
}

static PyObject *result(int r)
{
	return r < 0 ? core_raise(r, NULL) : Py_NewRef(Py_None);
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "path", NULL };
	struct roar_error err = { 0 };
	struct audit_object *self;
	PyObject *path;
	int r;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&:Audit", names,
					 PyUnicode_FSConverter, &path))
		return NULL;
	self = object_new((PyObject *)type);
	if (!self) {
		Py_DECREF(path);
		return NULL;
	}
	r = audit_open(PyBytes_AsString(path), &self->audit, &err);
	Py_DECREF(path);
	if (r == 0)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return core_raise(r, &err);
}

static void dealloc(PyObject *self)
{
	(void)audit_close(((struct audit_object *)self)->audit);
	object_free(self);
}

static PyObject *begin(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "dataset", "seed",	   "epoch",
				 "total",   "world_epoch", "rank",
				 "world",   "base",	   NULL };
	struct ranges_arg base = { .state = PyType_GetModuleState(
					   Py_TYPE(self)) };
	struct audit_segment segment = { 0 };
	struct audit *a = audit_in(self);
	unsigned int rank, world;
	uint32_t index;
	int r;

	if (!a ||
	    !PyArg_ParseTupleAndKeywords(
		    args, kwargs, "sO&O&O&O&II|O&:begin", names,
		    &segment.dataset, core_u64, &segment.seed, core_u64,
		    &segment.epoch, core_u64, &segment.total, core_u64,
		    &segment.world_epoch, &rank, &world, ranges_take, &base))
		return NULL;
	segment.rank = rank;
	segment.world = world;
	segment.base = base.set;
	r = audit_begin(a, &segment, &index);
	return r < 0 ? core_raise(r, NULL) : PyLong_FromUnsignedLong(index);
}

/* Segment and positions. */
static struct audit *get_ranges(PyObject *self, PyObject *args,
				const char *format, unsigned int *ret_index,
				const struct interval_set **ret)
{
	struct ranges_arg set = { .state = PyType_GetModuleState(
					  Py_TYPE(self)) };
	struct audit *a = audit_in(self);

	if (!a || !PyArg_ParseTuple(args, format, ret_index, ranges_take, &set))
		return NULL;
	if (!set.set) {
		PyErr_SetString(PyExc_TypeError, "Ranges are needed, not None");
		return NULL;
	}
	*ret = set.set;
	return a;
}

static PyObject *consumed(PyObject *self, PyObject *args)
{
	const struct interval_set *set;
	unsigned int index;
	struct audit *a = get_ranges(self, args, "IO&:consumed", &index, &set);
	int r = 0;

	if (!a)
		return NULL;
	for (size_t i = 0; i < set->n && r == 0; i++)
		r = audit_consumed(a, index, set->items[i].first,
				   set->items[i].end);
	return result(r);
}

static PyObject *dropped(PyObject *self, PyObject *args)
{
	const struct interval_set *set;
	unsigned int index;
	struct audit *a = get_ranges(self, args, "IO&:dropped", &index, &set);

	return a ? result(audit_dropped(a, index, set)) : NULL;
}

static PyObject *padded(PyObject *self, PyObject *args)
{
	const struct interval_set *set;
	unsigned int index;
	struct audit *a = get_ranges(self, args, "IO&:padded", &index, &set);

	return a ? result(audit_padded(a, index, set)) : NULL;
}

static PyObject *sync_method(PyObject *self, PyObject *unused)
{
	struct audit_object *object = (struct audit_object *)self;
	struct audit *a = audit_in(self);
	int r;

	(void)unused;
	if (!a)
		return NULL;
	object->busy = true;
	Py_BEGIN_ALLOW_THREADS;
	r = audit_flush(a, true);
	Py_END_ALLOW_THREADS;
	object->busy = false;
	return result(r);
}

static PyObject *close_method(PyObject *self, PyObject *unused)
{
	struct audit_object *object = (struct audit_object *)self;
	struct audit *a;
	int r;

	(void)unused;
	if (!object->audit)
		return Py_NewRef(Py_None);
	a = audit_in(self);
	if (!a)
		return NULL;
	object->audit = NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = audit_close(a);
	Py_END_ALLOW_THREADS;
	return result(r);
}

static PyMethodDef methods[] = {
	{ "begin", (PyCFunction)(void (*)(void))begin,
	  METH_VARARGS | METH_KEYWORDS,
	  "begin(dataset, seed, epoch, total, world_epoch, rank, world, "
	  "base=None): the number of the segment that begins." },
	{ "consumed", consumed, METH_VARARGS,
	  "consumed(segment, ranges): these positions were consumed." },
	{ "dropped", dropped, METH_VARARGS,
	  "dropped(segment, ranges): these positions are left out on purpose." },
	{ "padded", padded, METH_VARARGS,
	  "padded(segment, ranges): these positions are repeated on purpose." },
	{ "sync", sync_method, METH_NOARGS,
	  "sync(): writes everything so far to the disk." },
	{ "close", close_method, METH_NOARGS,
	  "close(): sync() and closes the file." },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Audit(path): the audit file of one rank." },
	{ Py_tp_new, new },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ 0, NULL },
};

PyType_Spec audit_type_spec = {
	.name = "_roar_shard.Audit",
	.basicsize = sizeof(struct audit_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
