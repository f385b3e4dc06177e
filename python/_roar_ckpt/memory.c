/* memory.c - see memory.h */
#include "memory.h"

#include <string.h>

#include "ckpt/ckpt_dtype.h"

int memory_take(PyObject *given, size_t len, bool writable, struct memory *ret)
{
	struct memory m = { 0 };

	if (PyLong_Check(given)) {
		m.data = PyLong_AsVoidPtr(given);
		if (!m.data && PyErr_Occurred())
			return -1;
	} else {
		if (PyObject_GetBuffer(given, &m.view,
				       writable ? PyBUF_WRITABLE :
						  PyBUF_SIMPLE) < 0)
			return -1;
		m.data = m.view.buf;
		if ((size_t)m.view.len < len) {
			PyErr_Format(PyExc_ValueError,
				     "the memory of a tensor has %zd bytes and "
				     "needs %zu",
				     m.view.len, len);
			PyBuffer_Release(&m.view);
			return -1;
		}
	}
	*ret = m;
	return 0;
}

void memory_release(struct memory *m)
{
	if (m->view.obj)
		PyBuffer_Release(&m->view);
}

int memory_numbers(PyObject *tuple, struct pool *pool, unsigned *ret_n,
		   const uint64_t **ret)
{
	Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
	uint64_t *numbers;

	if (n < 0 || n > CKPT_MAX_DIMS) {
		PyErr_Format(PyExc_ValueError,
			     "a tensor has a tuple of at most %d dimensions",
			     CKPT_MAX_DIMS);
		return -1;
	}
	numbers = pool_alloc(pool, (size_t)(n + 1) * sizeof(*numbers));
	if (!numbers) {
		(void)PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		numbers[i] = PyLong_AsUnsignedLongLong(
			PyTuple_GetItem(tuple, i));
		if (numbers[i] == (uint64_t)-1 && PyErr_Occurred())
			return -1;
	}
	*ret_n = (unsigned)n;
	*ret = numbers;
	return 0;
}

int memory_size(const char *dtype, const uint64_t *shape, unsigned n_dims,
		uint64_t *ret)
{
	enum ckpt_dtype type;

	if (ckpt_dtype_parse(dtype, &type) < 0) {
		PyErr_Format(PyExc_ValueError,
			     "'%s' is not a type of safetensors", dtype);
		return -1;
	}
	if (ckpt_dtype_size(type, shape, n_dims, ret) < 0) {
		PyErr_SetString(PyExc_ValueError,
				"a tensor is larger than 2^60 bytes");
		return -1;
	}
	return 0;
}

int memory_text(PyObject *given, struct pool *pool, bool may_be_none,
		const char **ret)
{
	Py_ssize_t len;
	const char *text;

	if (may_be_none && given == Py_None) {
		*ret = NULL;
		return 0;
	}
	text = PyUnicode_AsUTF8AndSize(given, &len);
	if (!text)
		return -1;
	if (strlen(text) != (size_t)len) {
		PyErr_Format(PyExc_ValueError,
			     "%R contains a NUL, which names cannot", given);
		return -1;
	}
	*ret = pool_dup(pool, text, (size_t)len);
	if (*ret)
		return 0;
	(void)PyErr_NoMemory();
	return -1;
}
