/* stream.c - see stream.h */
#include "stream.h"

#include <stdbool.h>

#include "direct.h"
#include "sample.h"
#include "wanted.h"

struct stream {
	PyObject_HEAD PyObject *shards; /* a tuple, whose readers it uses */
	struct reader_stream *stream;
	bool views;
	bool busy; /* a thread is inside, without the GIL */
};

const char stream_begin_doc[] =
	"stream(readers, which, numbers, first, n, prefetch, threads, views): a\n"
	"Stream.  readers is a tuple; which (32 bits each) and numbers (64 bits\n"
	"each) are buffers or None.";

static struct state *state_of(PyObject *self)
{
	return PyType_GetModuleState(Py_TYPE(self));
}

static void stream_dealloc(PyObject *self)
{
	struct stream *s = (struct stream *)self;
	PyThreadState *others = PyEval_SaveThread();

	reader_stream_close(s->stream); /* whose threads may be reading */
	PyEval_RestoreThread(others);
	Py_XDECREF(s->shards);
	object_free(self);
}

/* ---- beginning ---- */

static PyObject *begin(const struct state *state, PyObject *shards,
		       const struct reader_plan *plan, bool views)
{
	struct stream *self = object_new(state->stream_type);
	struct roar_error err = { "" };
	int r;

	if (!self)
		return NULL;
	self->shards = Py_NewRef(shards);
	self->views = views;
	r = reader_stream_open(plan, &self->stream, &err);
	if (r == 0)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return core_fail(state, r, &err);
}

PyObject *stream_begin(PyObject *module, PyObject *args)
{
	const struct state *state = PyModule_GetState(module);
	unsigned long long prefetch;
	unsigned long long first;
	unsigned long long n;
	struct wanted wanted;
	unsigned n_threads;
	PyObject *numbers;
	PyObject *shards;
	PyObject *which;
	PyObject *self;
	int views;

	if (!PyArg_ParseTuple(args, "O!OOKKKIp:stream", &PyTuple_Type, &shards,
			      &which, &numbers, &first, &n, &prefetch,
			      &n_threads, &views) ||
	    wanted_take(state, shards, which, numbers, &wanted) < 0)
		return NULL;
	if (!wanted.numbers.obj) {
		wanted.plan.first = first;
		wanted.plan.n = n;
	}
	wanted.plan.prefetch = prefetch;
	wanted.plan.n_threads = n_threads;
	self = begin(state, shards, &wanted.plan, views);
	wanted_release(&wanted);
	return self;
}

/* ---- going on ---- */

/* With the GIL only where nothing has to be waited for. */
static int next(struct stream *s, const struct reader_sample **ret,
		struct roar_error *err)
{
	PyThreadState *others;
	int r;

	if (reader_stream_is_ready(s->stream))
		return reader_stream_next(s->stream, ret, err);
	s->busy = true;
	others = core_release();
	r = reader_stream_next(s->stream, ret, err);
	PyEval_RestoreThread(others);
	s->busy = false;
	return r;
}

static PyObject *stream_next(PyObject *self)
{
	struct stream *s = (struct stream *)self;
	const struct reader_sample *sample = NULL;
	const struct reader *reader;
	struct roar_error err = { "" };
	uint64_t number;
	int r;

	if (s->busy) {
		PyErr_SetString(PyExc_RuntimeError,
				"another thread waits for the next sample of "
				"this stream; give each thread its own");
		return NULL;
	}
	if (!s->views && reader_stream_offer(s->stream, &reader, &number))
		return direct_object(state_of(self), reader, number);
	r = next(s, &sample, &err);
	if (r < 0)
		return core_fail(state_of(self), r, &err);
	if (r == 0)
		return NULL; /* which is the end, without an exception */
	return sample_object(state_of(self),
			     reader_kind_of(reader_stream_reader(s->stream)),
			     sample, reader_stream_block(s->stream), s->views);
}

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Samples in an order, read ahead." },
	{ Py_tp_dealloc, stream_dealloc },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, stream_next },
	{ 0 },
};

PyType_Spec stream_spec = {
	.name = "_roar_reader.Stream",
	.basicsize = sizeof(struct stream),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
