/* direct.c - see direct.h */
#include "direct.h"

#include "sample.h"

/* Bytes for each part, still without content; -1 with an exception. */
static int make_all(const struct reader_sample *sample, PyObject **made,
		    void **to)
{
	for (size_t i = 0; i < sample->n_parts; i++) {
		made[i] = PyBytes_FromStringAndSize(
			NULL, (Py_ssize_t)sample->parts[i].len);
		if (!made[i])
			return -1;
		to[i] = PyBytes_AsString(made[i]);
	}
	return 0;
}

static int read_all(const struct state *state, const struct reader *reader,
		    uint64_t number, void *const *to)
{
	struct roar_error err = { "" };
	PyThreadState *others = core_release();
	int r = reader_read_parts(reader, number, to, &err);

	PyEval_RestoreThread(others);
	if (r < 0)
		(void)core_fail(state, r, &err);
	return r;
}

PyObject *direct_object(const struct state *state, const struct reader *reader,
			uint64_t number)
{
	struct reader_part parts[READER_PARTS_MAX];
	PyObject *made[READER_PARTS_MAX] = { 0 };
	void *to[READER_PARTS_MAX];
	struct reader_sample sample;
	PyObject *object = NULL;

	reader_outline(reader, number, &sample, parts);
	if (make_all(&sample, made, to) == 0 &&
	    read_all(state, reader, number, to) == 0)
		object = sample_of(state, reader_kind_of(reader), &sample,
				   made);
	for (size_t i = 0; i < sample.n_parts; i++)
		Py_XDECREF(made[i]);
	return object;
}
