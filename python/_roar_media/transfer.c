/* transfer.c - see transfer.h
 *
 * Restored packets point into memory that Python objects own.  A `struct keeper` has
 * those objects' buffers and is given back by whoever drops the last packet: a
 * thread with the GIL, one without, or one of a decoder that Python never saw.
 * PyGILState_Ensure() is right for all three. */
#include "transfer.h"

#include <stdlib.h>

#include "base/error.h"
#include "buffer.h"
#include "media/packet_layout.h"
#include "packets.h"

const char transfer_to_doc[] =
	"to_buffers(packets): (meta, buffers), all of the packets in parts.\n\n"
	"meta is a small bytes object, buffers a list of read-only buffers.  Large\n"
	"packets are not copied.  Together they are what from_buffers() needs, in this\n"
	"process or in another one; padding that decoders need is included.";

const char transfer_from_doc[] =
	"from_buffers(meta, buffers): the packets again, without a copy.\n\n"
	"They point into the given buffers, whose memory must not change, and keep\n"
	"them until the last packet is gone.  Raises MediaError for parts that are\n"
	"damaged or do not belong together.";

/* ---- out ---- */

static PyObject *list_of(const struct state *state,
			 const struct media_layout *l)
{
	PyObject *list = PyList_New((Py_ssize_t)l->n_buffers);

	for (size_t i = 0; list && i < l->n_buffers; i++) {
		const struct media_buffer *b = &l->buffers[i];
		PyObject *buffer = buffer_refer(state, b->ref, b->data, b->len);

		if (!buffer || PyList_SetItem(list, (Py_ssize_t)i, buffer) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *to_buffers(const struct state *state,
			    const struct media_packets *p)
{
	CLEANUP(media_layout_release) struct media_layout l = { 0 };
	PyObject *list;
	int r;

	PyThreadState *others = PyEval_SaveThread();
	r = media_layout_make(p, &l);
	PyEval_RestoreThread(others);
	if (r < 0)
		return PyErr_NoMemory();
	list = list_of(state, &l);
	return list ? Py_BuildValue("y#N", l.meta.data, (Py_ssize_t)l.meta.len,
				    list) :
		      NULL;
}

PyObject *transfer_to_buffers(PyObject *module, PyObject *packets)
{
	const struct state *state = PyModule_GetState(module);
	const struct media_packets *p = packets_of(state, packets);

	return p ? to_buffers(state, p) : NULL;
}

/* ---- in ---- */

struct keeper {
	size_t n;
	struct media_span *spans;
	Py_buffer *views;
};

static void keeper_free(struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++)
		PyBuffer_Release(&k->views[i]);
	free(k->spans);
	free(k->views);
	free(k);
}

static void give_back(void *opaque)
{
	PyGILState_STATE gil;

	/* After the interpreter's end its objects are gone anyway. */
	if (!Py_IsInitialized())
		return;
	gil = PyGILState_Ensure();
	keeper_free(opaque);
	PyGILState_Release(gil);
}

/* Takes the buffers of a sequence; NULL with an exception. */
static struct keeper *keep(PyObject *buffers)
{
	Py_ssize_t n = PySequence_Size(buffers);
	struct keeper *k = n < 0 ? NULL : calloc(1, sizeof(*k));

	if (!k)
		return n < 0 ? NULL : (void *)PyErr_NoMemory();
	k->spans = calloc((size_t)n + 1, sizeof(*k->spans));
	k->views = calloc((size_t)n + 1, sizeof(*k->views));
	if (!k->spans || !k->views)
		(void)PyErr_NoMemory();
	while (!PyErr_Occurred() && k->n < (size_t)n) {
		Py_buffer *view = &k->views[k->n];
		PyObject *b = PySequence_GetItem(buffers, (Py_ssize_t)k->n);

		if (b && PyObject_GetBuffer(b, view, PyBUF_SIMPLE) == 0)
			k->spans[k->n++] = (struct media_span){
				view->buf, (size_t)view->len
			};
		Py_XDECREF(b);
	}
	if (!PyErr_Occurred())
		return k;
	keeper_free(k);
	return NULL;
}

static PyObject *restore(const struct state *state, const Py_buffer *meta,
			 PyObject *buffers)
{
	struct media_packets *p = NULL;
	struct roar_error err = { "" };
	struct keeper *k = keep(buffers);
	int r;

	if (!k)
		return NULL;
	r = media_layout_restore(meta->buf, (size_t)meta->len, k->spans, k->n,
				 (struct media_owner){ give_back, k }, &p,
				 &err);
	return r < 0 ? core_fail(state, r, &err) : packets_wrap(state, p);
}

PyObject *transfer_from_buffers(PyObject *module, PyObject *args)
{
	PyObject *buffers;
	PyObject *result;
	Py_buffer meta;

	if (!PyArg_ParseTuple(args, "y*O:from_buffers", &meta, &buffers))
		return NULL;
	result = restore(PyModule_GetState(module), &meta, buffers);
	PyBuffer_Release(&meta);
	return result;
}

/* ---- pickle ---- */

/* Each buffer as pickle takes it: from protocol 5 on it may go out of band. */
static int wrap_buffers(PyObject *list, long protocol)
{
	PyObject *pickle = PyImport_ImportModule("pickle");
	Py_ssize_t n = PyList_Size(list);
	int r = pickle ? 0 : -1;

	for (Py_ssize_t i = 0; r == 0 && i < n; i++) {
		PyObject *b = PyList_GetItem(list, i);
		PyObject *wrapped = protocol >= 5 ?
					    PyObject_CallMethod(pickle,
								"PickleBuffer",
								"O", b) :
					    PyBytes_FromObject(b);

		r = wrapped ? PyList_SetItem(list, i, wrapped) : -1;
	}
	Py_XDECREF(pickle);
	return r;
}

PyObject *transfer_reduce(const struct state *state,
			  const struct media_packets *p, long protocol)
{
	PyObject *parts = to_buffers(state, p);
	PyObject *module = NULL;
	PyObject *from = NULL;
	PyObject *result = NULL;

	if (parts && wrap_buffers(PyTuple_GetItem(parts, 1), protocol) == 0)
		module = PyImport_ImportModule("_roar_media");
	if (module)
		from = PyObject_GetAttrString(module, "from_buffers");
	if (from)
		result = PyTuple_Pack(2, from, parts);
	Py_XDECREF(from);
	Py_XDECREF(module);
	Py_XDECREF(parts);
	return result;
}

PyObject *transfer_state(const struct state *state,
			 const struct media_packets *p)
{
	PyObject *parts = to_buffers(state, p);
	PyObject *nothing = PyBytes_FromString("");
	PyObject *result = NULL;

	if (parts && nothing &&
	    PyList_Insert(PyTuple_GetItem(parts, 1), 0,
			  PyTuple_GetItem(parts, 0)) == 0)
		result = PyObject_CallMethod(nothing, "join", "O",
					     PyTuple_GetItem(parts, 1));
	Py_XDECREF(nothing);
	Py_XDECREF(parts);
	return result;
}
