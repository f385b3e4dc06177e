/* fill.c - see fill.h */
#include "fill.h"

#include <errno.h>
#include <inttypes.h>

#include "wanted.h"

const char fill_doc[] =
	"fill(readers, which, numbers, buffer): reads samples into equal parts of\n"
	"the buffer, each of which must be filled.  As for stream().";

static int read_one(const struct reader_plan *plan, uint64_t i, char *to,
		    size_t room, struct roar_error *err)
{
	uint32_t which = plan->which ? plan->which[i] : 0;
	int64_t len;

	if (which >= plan->n_readers)
		return error_set(err, -ERANGE,
				 "there are %zu shards, numbered from 0: there "
				 "is no number %" PRIu32,
				 plan->n_readers, which);
	len = reader_read_into(plan->readers[which], plan->numbers[i], to, room,
			       err);
	if (len < 0)
		return (int)len;
	if ((size_t)len != room)
		return error_set(err, -EINVAL,
				 "sample %" PRIu64 " has %" PRId64 " bytes, "
				 "but its part of the buffer has %zu",
				 plan->numbers[i], len, room);
	return 0;
}

static int read_all(const struct reader_plan *plan, const Py_buffer *to,
		    struct roar_error *err)
{
	size_t room = plan->n ? (size_t)to->len / plan->n : 0;
	int r = 0;

	for (uint64_t i = 0; i < plan->n; i++)
		if (!plan->which || plan->which[i] < plan->n_readers)
			reader_expect(
				plan->readers[plan->which ? plan->which[i] : 0],
				plan->numbers[i]);
	for (uint64_t i = 0; r == 0 && i < plan->n; i++)
		r = read_one(plan, i, (char *)to->buf + i * room, room, err);
	return r;
}

PyObject *fill(PyObject *module, PyObject *args)
{
	struct roar_error err = { "" };
	struct wanted wanted;
	PyThreadState *others;
	PyObject *numbers;
	PyObject *readers;
	PyObject *which;
	Py_buffer to;
	int r;

	if (!PyArg_ParseTuple(args, "O!OOw*:fill", &PyTuple_Type, &readers,
			      &which, &numbers, &to))
		return NULL;
	if (wanted_take(PyModule_GetState(module), readers, which, numbers,
			&wanted) < 0) {
		PyBuffer_Release(&to);
		return NULL;
	}
	others = core_release();
	r = read_all(&wanted.plan, &to, &err);
	PyEval_RestoreThread(others);
	wanted_release(&wanted);
	PyBuffer_Release(&to);
	return r < 0 ? core_fail(PyModule_GetState(module), r, &err) :
		       Py_NewRef(Py_None);
}
