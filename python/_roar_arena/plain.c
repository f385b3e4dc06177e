/* plain.c - which bytes the user sees */
#include "plain.h"

#include "base/macros.h"
#include "reducers.h"

struct walk {
	struct state *state;
	size_t threshold;
	PyObject *found; /* ids of bytes */
	PyObject *barred; /* ids of bytes that are keys: they must be hashable */
	PyObject *visited; /* ids of containers */
	PyObject *types; /* {type: whether its objects are plain} */
};

static int add_id(PyObject *set, PyObject *obj)
{
	PyObject *id = PyLong_FromVoidPtr(obj);
	int r = id ? PySet_Add(set, id) : -1;

	Py_XDECREF(id);
	return r;
}

/* 1 when the container was there before. */
static int visit_once(struct walk *w, PyObject *obj)
{
	Py_ssize_t before = PySet_Size(w->visited);

	if (add_id(w->visited, obj) < 0)
		return -1;
	return PySet_Size(w->visited) == before;
}

static int walk(struct walk *w, PyObject *obj);

static bool is_large_bytes(const struct walk *w, PyObject *obj)
{
	if (PyBytes_CheckExact(obj))
		return (size_t)PyBytes_Size(obj) >= w->threshold;
	if (PyByteArray_CheckExact(obj))
		return (size_t)PyByteArray_Size(obj) >= w->threshold;
	return false;
}

static int walk_list(struct walk *w, PyObject *list)
{
	for (Py_ssize_t i = 0; i < PyList_Size(list); i++)
		if (walk(w, PyList_GetItem(list, i)) < 0)
			return -1;
	return 0;
}

static int walk_tuple(struct walk *w, PyObject *tuple)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++)
		if (walk(w, PyTuple_GetItem(tuple, i)) < 0)
			return -1;
	return 0;
}

static int walk_dict(struct walk *w, PyObject *dict)
{
	PyObject *key;
	PyObject *value;
	Py_ssize_t at = 0;

	while (PyDict_Next(dict, &at, &key, &value)) {
		if (is_large_bytes(w, key) && add_id(w->barred, key) < 0)
			return -1;
		if (walk(w, value) < 0)
			return -1;
	}
	return 0;
}

/* Has the type the method `name`, and not object's own? */
static int has_own(PyTypeObject *type, const char *name, const PyObject *common)
{
	PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
	bool own = found && found != common;

	if (!found) {
		if (!PyErr_ExceptionMatches(PyExc_AttributeError))
			return -1;
		PyErr_Clear();
	}
	Py_XDECREF(found);
	return own;
}

/* Is there a reducer for the type, of multiprocessing's or copyreg's? */
static int has_reducer(struct walk *w, PyTypeObject *type)
{
	PyObject *table = reducers_get(w->state);
	PyObject *found = table ? PyObject_GetItem(table, (PyObject *)type) :
				  NULL;

	if (!found) {
		if (!PyErr_ExceptionMatches(PyExc_KeyError))
			return -1;
		PyErr_Clear();
	}
	Py_XDECREF(found);
	return found != NULL;
}

/* Are its objects no more than their __dict__, as pickle sees it? */
static int type_is_plain(struct walk *w, PyTypeObject *type)
{
	const struct {
		const char *name;
		const PyObject *common;
	} own[] = {
		{ "__reduce_ex__", w->state->ref[REF_OBJECT_REDUCE_EX] },
		{ "__reduce__", w->state->ref[REF_OBJECT_REDUCE] },
		{ "__getstate__", w->state->ref[REF_OBJECT_GETSTATE] },
		{ "__setstate__", NULL },
		{ "__getnewargs__", NULL },
		{ "__getnewargs_ex__", NULL },
	};
	int r = has_reducer(w, type);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++)
		r = has_own(type, own[i].name, own[i].common);
	return r < 0 ? r : !r;
}

static int type_is_plain_known(struct walk *w, PyTypeObject *type)
{
	PyObject *known = PyDict_GetItemWithError(w->types, (PyObject *)type);
	int r;

	if (known || PyErr_Occurred())
		return known ? known == Py_True : -1;
	r = type_is_plain(w, type);
	if (r < 0 || PyDict_SetItem(w->types, (PyObject *)type,
				    r ? Py_True : Py_False) < 0)
		return -1;
	return r;
}

static int walk_object(struct walk *w, PyObject *obj)
{
	int r = type_is_plain_known(w, Py_TYPE(obj));
	PyObject *dict;

	if (r <= 0)
		return r;
	dict = PyObject_GenericGetDict(obj, NULL);
	if (!dict) {
		PyErr_Clear(); /* it has none */
		return 0;
	}
	r = visit_once(w, obj);
	if (r == 0)
		r = walk_dict(w, dict);
	Py_DECREF(dict);
	return r < 0 ? r : 0;
}

/* A tuple, or one with names: both are made of their elements alone. */
static int is_tuple(PyObject *obj)
{
	if (PyTuple_CheckExact(obj))
		return 1;
	return PyTuple_Check(obj) ? has_own(Py_TYPE(obj), "_fields", NULL) : 0;
}

static int walk_container(struct walk *w, PyObject *obj)
{
	int (*into)(struct walk * w, PyObject * obj) = NULL;
	int r = is_tuple(obj);

	if (r < 0)
		return r;
	if (r)
		into = walk_tuple;
	else if (PyList_CheckExact(obj))
		into = walk_list;
	else if (PyDict_CheckExact(obj))
		into = walk_dict;
	if (!into)
		return walk_object(w, obj);
	r = visit_once(w, obj);
	return r < 0 ? r : r ? 0 : into(w, obj);
}

static int walk(struct walk *w, PyObject *obj)
{
	int r;

	if (is_large_bytes(w, obj))
		return add_id(w->found, obj);
	if (obj == Py_None || PyUnicode_CheckExact(obj) ||
	    PyLong_CheckExact(obj) || PyFloat_CheckExact(obj) ||
	    PyBytes_CheckExact(obj))
		return 0;
	if (Py_EnterRecursiveCall(" while looking for large bytes"))
		return -1;
	Py_INCREF(obj);
	r = walk_container(w, obj);
	Py_DECREF(obj);
	Py_LeaveRecursiveCall();
	return r;
}

static int run(struct walk *w, PyObject *root)
{
	PyObject *left;

	if (walk(w, root) < 0)
		return -1;
	left = PyNumber_InPlaceSubtract(w->found, w->barred);
	Py_XDECREF(left);
	return left ? 0 : -1;
}

PyObject *plain_find(struct state *state, PyObject *root, size_t threshold)
{
	struct walk w = {
		.state = state,
		.threshold = threshold,
		.found = PySet_New(NULL),
		.barred = PySet_New(NULL),
		.visited = PySet_New(NULL),
		.types = PyDict_New(),
	};

	if (!w.found || !w.barred || !w.visited || !w.types ||
	    run(&w, root) < 0)
		Py_CLEAR(w.found);
	Py_XDECREF(w.barred);
	Py_XDECREF(w.visited);
	Py_XDECREF(w.types);
	return w.found;
}
