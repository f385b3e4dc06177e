/* wanted.c - see wanted.h */
#include "wanted.h"

#include "shard.h"

static int take_readers(const struct state *state, PyObject *readers,
			struct reader_plan *plan)
{
	size_t n = (size_t)PyTuple_Size(readers);
	const struct reader **list = PyMem_Calloc(n + 1, sizeof(*list));

	if (!list) {
		(void)PyErr_NoMemory();
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		PyObject *one = PyTuple_GetItem(readers, (Py_ssize_t)i);

		if ((PyObject *)Py_TYPE(one) != state->reader_type) {
			PyErr_SetString(PyExc_TypeError,
					"a tuple of Readers is needed");
			PyMem_Free(list);
			return -1;
		}
		list[i] = ((struct shard *)one)->reader;
	}
	plan->readers = list;
	plan->n_readers = n;
	return 0;
}

/* A buffer of numbers, or nothing for None. */
static int take_array(PyObject *given, Py_buffer *ret)
{
	return given == Py_None ? 0 :
				  PyObject_GetBuffer(given, ret, PyBUF_SIMPLE);
}

int wanted_take(const struct state *state, PyObject *readers, PyObject *which,
		PyObject *numbers, struct wanted *ret)
{
	struct wanted w = { 0 };

	if (take_array(numbers, &w.numbers) < 0 ||
	    take_array(which, &w.which) < 0 ||
	    take_readers(state, readers, &w.plan) < 0) {
		wanted_release(&w);
		return -1;
	}
	w.plan.numbers = w.numbers.buf;
	w.plan.which = w.which.buf;
	w.plan.n = (uint64_t)w.numbers.len / sizeof(uint64_t);
	if (w.which.obj &&
	    (uint64_t)w.which.len / sizeof(uint32_t) != w.plan.n) {
		PyErr_SetString(PyExc_ValueError,
				"which and numbers must have the same length");
		wanted_release(&w);
		return -1;
	}
	*ret = w;
	return 0;
}

void wanted_release(struct wanted *w)
{
	PyMem_Free((void *)w->plan.readers);
	if (w->numbers.obj)
		PyBuffer_Release(&w->numbers);
	if (w->which.obj)
		PyBuffer_Release(&w->which);
}
