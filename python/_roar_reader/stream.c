/* stream.c - see stream.h */
#include "stream.h"

#include <stdbool.h>

#include "sample.h"
#include "shard.h"

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

	reader_stream_close(s->stream);
	Py_XDECREF(s->shards);
	core_free(self);
}

/* ---- beginning ---- */

/* The readers of a tuple; NULL with an exception. */
static const struct reader **readers_of(const struct state *state,
					PyObject *shards, size_t *ret_n)
{
	size_t n = (size_t)PyTuple_Size(shards);
	const struct reader **readers = PyMem_Calloc(n + 1, sizeof(*readers));

	if (!readers) {
		(void)PyErr_NoMemory();
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		PyObject *one = PyTuple_GetItem(shards, (Py_ssize_t)i);

		if ((PyObject *)Py_TYPE(one) != state->reader_type) {
			PyErr_SetString(PyExc_TypeError,
					"a tuple of Readers is needed");
			PyMem_Free(readers);
			return NULL;
		}
		readers[i] = ((struct shard *)one)->reader;
	}
	*ret_n = n;
	return readers;
}

static PyObject *begin(const struct state *state, PyObject *shards,
		       struct reader_plan *plan, bool views)
{
	struct stream *self = core_new(state->stream_type);
	const struct reader **readers;
	struct roar_error err = { "" };
	int r;

	if (!self)
		return NULL;
	readers = readers_of(state, shards, &plan->n_readers);
	if (!readers) {
		Py_DECREF((PyObject *)self);
		return NULL;
	}
	self->shards = Py_NewRef(shards);
	self->views = views;
	plan->readers = readers;
	r = reader_stream_open(plan, &self->stream, &err);
	PyMem_Free(readers);
	if (r == 0)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return core_fail(state, r, &err);
}

/* A buffer of numbers, or nothing for None. */
static int take_array(PyObject *given, Py_buffer *ret)
{
	*ret = (Py_buffer){ 0 };
	return given == Py_None ? 0 :
				  PyObject_GetBuffer(given, ret, PyBUF_SIMPLE);
}

static PyObject *begin_with(const struct state *state, PyObject *shards,
			    PyObject *given_which, PyObject *given_numbers,
			    struct reader_plan *plan, bool views)
{
	PyObject *self = NULL;
	Py_buffer numbers;
	Py_buffer which;

	if (take_array(given_numbers, &numbers) < 0)
		return NULL;
	if (take_array(given_which, &which) == 0) {
		plan->numbers = numbers.buf;
		plan->which = which.buf;
		if (numbers.obj)
			plan->n = (uint64_t)numbers.len / sizeof(uint64_t);
		if (which.obj &&
		    (uint64_t)which.len / sizeof(uint32_t) != plan->n)
			PyErr_SetString(PyExc_ValueError,
					"which and numbers are of one length");
		else
			self = begin(state, shards, plan, views);
		if (which.obj)
			PyBuffer_Release(&which);
	}
	if (numbers.obj)
		PyBuffer_Release(&numbers);
	return self;
}

PyObject *stream_begin(PyObject *module, PyObject *args)
{
	struct reader_plan plan = { 0 };
	unsigned long long prefetch;
	unsigned long long first;
	unsigned long long n;
	PyObject *numbers;
	PyObject *shards;
	PyObject *which;
	int views;

	if (!PyArg_ParseTuple(args, "O!OOKKKIp:stream", &PyTuple_Type, &shards,
			      &which, &numbers, &first, &n, &prefetch,
			      &plan.n_threads, &views))
		return NULL;
	plan.first = first;
	plan.n = n;
	plan.prefetch = prefetch;
	return begin_with(core_state(module), shards, which, numbers, &plan,
			  views);
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
	others = PyEval_SaveThread();
	r = reader_stream_next(s->stream, ret, err);
	PyEval_RestoreThread(others);
	s->busy = false;
	return r;
}

static PyObject *stream_next(PyObject *self)
{
	struct stream *s = (struct stream *)self;
	const struct reader_sample *sample = NULL;
	struct roar_error err = { "" };
	int r;

	if (s->busy) {
		PyErr_SetString(PyExc_RuntimeError,
				"another thread waits for the next sample of "
				"this stream; give each thread its own");
		return NULL;
	}
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
