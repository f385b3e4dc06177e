/* handle_receive.c - an object on its way out of the arena */
#include "handle.h"

#include <errno.h>

#include "decode.h"
#include "errors.h"

static int receive(struct handle *h, uint32_t from, long long timeout_ns,
		   struct roar_arena_unit **ret)
{
	struct wait w = wait_begin(timeout_ns);
	int r;

	do {
		wait_unlock(&w);
		r = roar_arena_receive(h->a, from, w.slice_ns, ret);
		wait_lock(&w);
	} while (wait_more(h, &w, &r));
	if (r < 0 && !PyErr_Occurred())
		error_raise(h->state, h->a, r, ERROR_RECEIVING);
	return r;
}

static PyObject *open_unit(struct handle *h, struct roar_arena_unit *unit)
{
	PyObject *obj = decoder_run(h, unit);

	return obj ? Py_BuildValue("NKIK", obj, (unsigned long long)unit->tag,
				   (unsigned int)unit->producer,
				   (unsigned long long)unit->sequence) :
		     NULL;
}

PyObject *handle_receive(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	struct handle *h = (struct handle *)self;
	struct roar_arena_unit *unit = NULL;
	PyObject *result = NULL;
	unsigned long from;
	long long timeout_ns;

	if (n != 2) {
		PyErr_SetString(PyExc_TypeError, "receive(source, timeout_ns)");
		return NULL;
	}
	from = PyLong_AsUnsignedLong(args[0]);
	timeout_ns = PyLong_AsLongLong(args[1]);
	if (PyErr_Occurred() || handle_enter(h) < 0)
		return NULL;
	if (receive(h, (uint32_t)from, timeout_ns, &unit) == 0) {
		result = open_unit(h, unit);
		roar_arena_release(unit);
	}
	handle_leave(h);
	return result;
}
