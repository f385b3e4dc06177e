/* core.c - see core.h */
#include "core.h"

#include <errno.h>
#include <string.h>

struct state *core_state(PyTypeObject *type)
{
	return PyType_GetModuleState(type);
}

void *core_new(PyTypeObject *type)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);

	return alloc(type, 0);
}

void core_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

/* What these mean here; others are the system's. */
static const struct {
	int r;
	const char *sentence;
} meanings[] = {
	{ -EINVAL, "these numbers are no part of the epoch: see the manual" },
	{ -ENOBUFS, "the set would have more than 1,048,576 ranges: let workers "
		    "take positions in order" },
	{ -EBADMSG, "these bytes are no set of positions, or are damaged" },
	{ -ERANGE, "a position is beyond the last one" },
};

void *core_raise(int r, const struct roar_error *err)
{
	bool told = err && err->text[0];

	if (r == -ENOMEM)
		return PyErr_NoMemory();
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (meanings[i].r == r) {
			PyErr_SetString(PyExc_ValueError,
					told ? err->text :
					       meanings[i].sentence);
			return NULL;
		}
	if (told) {
		PyObject *error = PyObject_CallFunction(PyExc_OSError, "is", -r,
							err->text);

		if (!error)
			return NULL;
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
		return NULL;
	}
	errno = -r;
	return PyErr_SetFromErrno(PyExc_OSError);
}

int core_u64(PyObject *object, void *ret)
{
	PyObject *number = PyNumber_Index(object);
	unsigned long long value;

	if (!number)
		return 0;
	value = PyLong_AsUnsignedLongLong(number);
	Py_DECREF(number);
	if (PyErr_Occurred()) {
		PyErr_Clear();
		PyErr_Format(PyExc_ValueError,
			     "a number from 0 to 2^64 - 1 is needed, not %S",
			     object);
		return 0;
	}
	*(uint64_t *)ret = value;
	return 1;
}

PyObject *core_numbers(size_t n, uint64_t **ret)
{
	PyObject *bytes;
	PyObject *view;
	PyObject *numbers = NULL;

	if (n > PY_SSIZE_T_MAX / sizeof(uint64_t))
		return PyErr_NoMemory();
	bytes = PyByteArray_FromStringAndSize(
		NULL, (Py_ssize_t)(n * sizeof(uint64_t)));
	if (!bytes)
		return NULL;
	*ret = (uint64_t *)(void *)PyByteArray_AsString(bytes);
	view = PyMemoryView_FromObject(bytes);
	Py_DECREF(bytes);
	if (view)
		numbers = PyObject_CallMethod(view, "cast", "s", "Q");
	Py_XDECREF(view);
	return numbers;
}
