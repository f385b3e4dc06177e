/* core.c - see core.h */
#include "core.h"

#include <string.h>

#include "base/macros.h"

/* What these mean here; others are the system's. */
static const struct {
	int r;
	const char *sentence;
} meanings[] = {
	{ -EINVAL, "these numbers are not in the epoch: see the manual" },
	{ -ENOBUFS, "the set would have more than 1,048,576 ranges: let workers "
		    "take positions in order" },
	{ -EBADMSG, "these bytes are not a set of positions, or are damaged" },
	{ -ERANGE, "a position is beyond the last one" },
};

void *core_raise(int r, const struct roar_error *err)
{
	bool told = err && err->text[0];

	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (meanings[i].r == r)
			return module_fail(PyExc_ValueError, r,
					   told ? err->text :
						  meanings[i].sentence);
	return module_fail(PyExc_OSError, r, told ? err->text : strerror(-r));
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
