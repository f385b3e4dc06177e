/* ranges.c - sets of positions for Python */
#include "core.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

struct ranges {
	PyObject ob_base;
	struct interval_set set;
};

PyObject *ranges_give(const struct state *state, struct interval_set *set)
{
	struct ranges *self = object_new(state->ranges_type);

	if (self) {
		self->set = *set;
		*set = (struct interval_set){ 0 };
	}
	return (PyObject *)self;
}

/* The set within, or NULL with TypeError. */
static struct interval_set *set_of(const struct state *state, PyObject *object)
{
	int is = PyObject_IsInstance(object, state->ranges_type);

	if (is > 0)
		return &((struct ranges *)object)->set;
	if (is == 0)
		PyErr_Format(PyExc_TypeError, "Ranges are needed, not %R",
			     Py_TYPE(object));
	return NULL;
}

int ranges_take(PyObject *object, void *arg)
{
	struct ranges_arg *to = arg;

	to->set = object == Py_None ? NULL : set_of(to->state, object);
	return object == Py_None || to->set;
}

static void dealloc(PyObject *self)
{
	interval_set_release(&((struct ranges *)self)->set);
	object_free(self);
}

/* ---- making ---- */

static int add_pair(struct ranges *self, PyObject *pair)
{
	PyObject *tuple = PySequence_Tuple(pair);
	uint64_t first, end;
	int r;

	if (!tuple)
		return -1;
	r = PyArg_ParseTuple(tuple, "O&O&;a range is a pair (first, end)",
			     core_u64, &first, core_u64, &end);
	Py_DECREF(tuple);
	if (!r)
		return -1;
	r = interval_set_add(&self->set, first, end, NULL);
	if (r < 0)
		core_raise(r, NULL);
	return r;
}

static int add_pairs(struct ranges *self, PyObject *pairs)
{
	PyObject *iterator = PyObject_GetIter(pairs);
	PyObject *pair;
	int r = iterator ? 0 : -1;

	while (r == 0 && (pair = PyIter_Next(iterator))) {
		r = add_pair(self, pair);
		Py_DECREF(pair);
	}
	Py_XDECREF(iterator);
	return PyErr_Occurred() ? -1 : r;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "ranges", NULL };
	PyObject *pairs = NULL;
	struct ranges *self;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Ranges", names,
					 &pairs))
		return NULL;
	self = object_new((PyObject *)type);
	if (self && pairs && add_pairs(self, pairs) < 0) {
		Py_DECREF((PyObject *)self);
		return NULL;
	}
	return (PyObject *)self;
}

static PyObject *decode(PyObject *type, PyObject *args)
{
	struct interval_set set = { 0 };
	PyObject *made;
	Py_buffer bytes;
	int r;

	if (!PyArg_ParseTuple(args, "y*:decode", &bytes))
		return NULL;
	r = interval_set_decode(&set, bytes.buf, (size_t)bytes.len);
	PyBuffer_Release(&bytes);
	if (r < 0)
		return core_raise(r, NULL);
	made = ranges_give(PyType_GetModuleState((PyTypeObject *)type), &set);
	interval_set_release(&set);
	return made;
}

/* ---- changing ---- */

static PyObject *add(PyObject *self, PyObject *args)
{
	uint64_t first, end, added = 0;
	int r;

	if (!PyArg_ParseTuple(args, "O&O&:add", core_u64, &first, core_u64,
			      &end))
		return NULL;
	r = interval_set_add(&((struct ranges *)self)->set, first, end, &added);
	return r < 0 ? core_raise(r, NULL) : PyLong_FromUnsignedLongLong(added);
}

static PyObject *take_out(PyObject *self, PyObject *args)
{
	uint64_t first, end;
	int r;

	if (!PyArg_ParseTuple(args, "O&O&:remove", core_u64, &first, core_u64,
			      &end))
		return NULL;
	r = interval_set_remove(&((struct ranges *)self)->set, first, end);
	return r < 0 ? core_raise(r, NULL) : Py_NewRef(Py_None);
}

static PyObject *update(PyObject *self, PyObject *other)
{
	struct interval_set *set = set_of(PyType_GetModuleState(Py_TYPE(self)),
					  other);
	int r = 0;

	if (!set)
		return NULL;
	if (self != other)
		r = interval_set_union(&((struct ranges *)self)->set, set);
	return r < 0 ? core_raise(r, NULL) : Py_NewRef(Py_None);
}

/* ---- looking ---- */

static PyObject *gaps(PyObject *self, PyObject *args)
{
	CLEANUP(interval_set_release) struct interval_set missing = { 0 };
	uint64_t first, end;
	int r;

	if (!PyArg_ParseTuple(args, "O&O&:gaps", core_u64, &first, core_u64,
			      &end))
		return NULL;
	r = interval_set_gaps(&((struct ranges *)self)->set, first, end,
			      &missing);
	if (r < 0)
		return core_raise(r, NULL);
	return ranges_give(PyType_GetModuleState(Py_TYPE(self)), &missing);
}

static PyObject *items(PyObject *self, PyObject *unused)
{
	const struct interval_set *set = &((struct ranges *)self)->set;
	PyObject *list = PyList_New((Py_ssize_t)set->n);

	(void)unused;
	for (size_t i = 0; list && i < set->n; i++) {
		PyObject *pair = Py_BuildValue(
			"KK", (unsigned long long)set->items[i].first,
			(unsigned long long)set->items[i].end);

		if (!pair || PyList_SetItem(list, (Py_ssize_t)i, pair) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *iterate(PyObject *self)
{
	PyObject *list = items(self, NULL);
	PyObject *iterator = list ? PyObject_GetIter(list) : NULL;

	Py_XDECREF(list);
	return iterator;
}

static PyObject *encode(PyObject *self, PyObject *unused)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)unused;
	interval_set_encode(&((struct ranges *)self)->set, &bytes);
	if (str_error(&bytes) < 0)
		return PyErr_NoMemory();
	return PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
}

static PyObject *get_count(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((struct ranges *)self)->set.count);
}

static int contains(PyObject *self, PyObject *object)
{
	uint64_t position;

	if (!core_u64(object, &position))
		return -1;
	return position < SHARD_POSITION_END &&
	       interval_set_has(&((struct ranges *)self)->set, position);
}

static Py_ssize_t length(PyObject *self)
{
	return (Py_ssize_t)((struct ranges *)self)->set.n;
}

static PyObject *compare(PyObject *self, PyObject *other, int op)
{
	struct state *state = PyType_GetModuleState(Py_TYPE(self));
	bool equal;

	if ((op != Py_EQ && op != Py_NE) ||
	    PyObject_IsInstance(other, state->ranges_type) <= 0)
		return Py_NewRef(Py_NotImplemented);
	equal = interval_set_equal(&((struct ranges *)self)->set,
				   &((struct ranges *)other)->set);
	return PyBool_FromLong(equal == (op == Py_EQ));
}

static PyObject *repr(PyObject *self)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	interval_set_text(&((struct ranges *)self)->set, 8, &text);
	return PyUnicode_FromFormat("<Ranges: %s>",
				    text.len ? str_cstr(&text) : "empty");
}

static PyMethodDef methods[] = {
	{ "add", add, METH_VARARGS,
	  "add(first, end): adds [first, end); returns how many were new." },
	{ "remove", take_out, METH_VARARGS,
	  "remove(first, end): removes [first, end)." },
	{ "update", update, METH_O, "update(other): adds all of another set." },
	{ "gaps", gaps, METH_VARARGS,
	  "gaps(first, end): what is missing of [first, end)." },
	{ "items", items, METH_NOARGS,
	  "items(): the ranges as a list of pairs." },
	{ "encode", encode, METH_NOARGS,
	  "encode(): bytes with a checksum; equal sets give equal bytes." },
	{ "decode", decode, METH_VARARGS | METH_CLASS,
	  "decode(bytes): the set that encode() wrote." },
	{ 0 },
};

static PyGetSetDef fields[] = {
	{ .name = "count", .get = get_count, .doc = "positions in all ranges" },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Ranges(ranges=()): a set of positions, kept as ranges "
		     "[first, end)." },
	{ Py_tp_new, new },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, fields },
	{ Py_tp_richcompare, compare },
	{ Py_tp_hash, PyObject_HashNotImplemented },
	{ Py_tp_iter, iterate },
	{ Py_tp_repr, repr },
	{ Py_sq_contains, contains },
	{ Py_sq_length, length },
	{ 0, NULL },
};

PyType_Spec ranges_type_spec = {
	.name = "_roar_shard.Ranges",
	.basicsize = sizeof(struct ranges),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
