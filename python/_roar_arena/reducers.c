/* reducers.c - multiprocessing's ways to pickle, as a pickler's dispatch table */
#include "reducers.h"

struct reducers {
	PyObject_HEAD PyObject *extra; /* ForkingPickler._extra_reducers */
	PyObject *common; /* copyreg.dispatch_table */
};

static PyObject *subscript(PyObject *self, PyObject *type)
{
	struct reducers *t = (struct reducers *)self;
	PyObject *found = PyDict_GetItemWithError(t->extra, type);

	if (!found && !PyErr_Occurred())
		found = PyDict_GetItemWithError(t->common, type);
	if (!found && !PyErr_Occurred())
		PyErr_SetObject(PyExc_KeyError, type);
	Py_XINCREF(found);
	return found;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	struct reducers *t = (struct reducers *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(t->extra);
	Py_VISIT(t->common);
	return 0;
}

static int clear(PyObject *self)
{
	struct reducers *t = (struct reducers *)self;

	Py_CLEAR(t->extra);
	Py_CLEAR(t->common);
	return 0;
}

static void dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	(void)clear(self);
	object_free(self);
}

static PyType_Slot slots[] = {
	{ Py_mp_subscript, subscript },
	{ Py_tp_traverse, traverse },
	{ Py_tp_clear, clear },
	{ Py_tp_dealloc, dealloc },
	{ 0 },
};

PyType_Spec reducers_spec = {
	.name = "_roar_arena.Reducers",
	.basicsize = sizeof(struct reducers),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

/* ForkingPickler._extra_reducers, which multiprocessing.reduction.register() fills. */
static PyObject *forking_table(void)
{
	PyObject *pickler = core_import("multiprocessing.reduction",
					"ForkingPickler");
	PyObject *table;

	if (!pickler)
		return NULL;
	table = PyObject_GetAttrString(pickler, "_extra_reducers");
	Py_DECREF(pickler);
	return table;
}

PyObject *reducers_get(struct state *state)
{
	struct reducers *t;

	if (state->ref[REF_REDUCERS])
		return state->ref[REF_REDUCERS];
	t = object_new(state->ref[REF_REDUCERS_TYPE]);
	if (!t)
		return NULL;
	t->extra = forking_table();
	t->common = t->extra ? core_import("copyreg", "dispatch_table") : NULL;
	if (!t->common || !PyDict_Check(t->extra) || !PyDict_Check(t->common)) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError,
					"the tables of multiprocessing and "
					"copyreg are not dictionaries");
		Py_DECREF(t);
		return NULL;
	}
	state->ref[REF_REDUCERS] = (PyObject *)t;
	return state->ref[REF_REDUCERS];
}
