/* decode.c - from a unit to the object that was sent */
#include "decode.h"

#include <string.h>
#include <sys/mman.h>

#include <roar/arena.h>

#include "errors.h"
#include "handle.h"
#include "leaf.h"
#include "view.h"

enum {
	FEW = 64 * 1024, /* bytes that are copied faster than the GIL moves */
	HUGE_PAGE = 2 << 20,
};

int decoder_part(struct decoder *d, PyObject *part, struct memory *ret)
{
	size_t i;

	if (PyBytes_CheckExact(part)) {
		*ret = (struct memory){ .data = PyBytes_AsString(part),
					.len = (size_t)PyBytes_Size(part),
					.private = true };
		return 0;
	}
	i = PyLong_AsSize_t(part);
	if (i == (size_t)-1 && PyErr_Occurred())
		return -1;
	if (!d->unit || i >= d->n_parts) {
		error_say(d->state, "ArenaInvalid",
			  "an item names a part that it does not have");
		return -1;
	}
	*ret = (struct memory){ .data = d->unit->buffers[i].data,
				.len = d->unit->buffers[i].len };
	return 0;
}

PyObject *decoder_view(struct decoder *d, const struct memory *m)
{
	return (PyObject *)view_new(d->state, d->unit, m->data, m->len);
}

/* Large fresh memory costs more in page faults than in copying: with huge pages there
 * are 512 times fewer.  Best effort. */
static void expect_writes(void *to, size_t len)
{
	uintptr_t begin = ((uintptr_t)to + HUGE_PAGE - 1) &
			  -(uintptr_t)HUGE_PAGE;
	uintptr_t end = ((uintptr_t)to + len) & -(uintptr_t)HUGE_PAGE;

	if (end > begin)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

int decoder_copy(const struct memory *m, void *to, size_t len)
{
	if (m->len != len) {
		PyErr_Format(PyExc_ValueError,
			     "a leaf of %zu bytes came as %zu", len, m->len);
		return -1;
	}
	if (len < FEW) {
		if (len)
			memcpy(to, m->data, len);
		return 0;
	}
	/* Not past the caches: the kernel has just zeroed these pages, so that they are
	 * there, and whoever wanted a copy is going to read it.  32 MiB take 4.8 ms
	 * like this and 7.4 ms with roar_arena_copy(). */
	Py_BEGIN_ALLOW_THREADS;
	if (len >= 2 * HUGE_PAGE)
		expect_writes(to, len);
	memcpy(to, m->data, len);
	Py_END_ALLOW_THREADS;
	return 0;
}

typedef PyObject *(*build_fn)(struct decoder *d, PyObject *id);

static const build_fn builders[WIRE_KIND_END] = {
	[WIRE_BYTES] = bytes_build,
	[WIRE_BYTEARRAY] = bytearray_build,
	[WIRE_EXACT_BYTES] = exact_bytes_build,
	[WIRE_EXACT_BYTEARRAY] = exact_bytearray_build,
	[WIRE_MEMORYVIEW] = memoryview_build,
	[WIRE_NDARRAY] = numpy_build,
	[WIRE_TENSOR] = tensor_build,
	[WIRE_PARAMETER] = parameter_build,
	[WIRE_REDUCED] = reduced_build,
	[WIRE_REGISTERED] = registered_build,
};

/* The first mention of a leaf: makes it and keeps it for the others. */
static PyObject *build(struct decoder *d, PyObject *id)
{
	PyObject *leaf;
	long kind;

	if (PyTuple_Size(id) < 3)
		return error_say(d->state, "ArenaInvalid",
				 "an item has an empty leaf");
	kind = PyLong_AsLong(PyTuple_GetItem(id, 1));
	if (kind < 0 || kind >= WIRE_KIND_END) {
		if (PyErr_Occurred())
			return NULL;
		return error_say(d->state, "ArenaInvalid",
				 "an item has a leaf of an unknown kind");
	}
	leaf = builders[kind](d, id);
	if (leaf && PyDict_SetItem(d->leaves, PyTuple_GetItem(id, 0), leaf) < 0)
		Py_CLEAR(leaf);
	return leaf;
}

static PyObject *persistent_load(PyObject *self, PyObject *id)
{
	struct decoder *d = (struct decoder *)self;
	PyObject *leaf;

	if (PyTuple_CheckExact(id))
		return build(d, id);
	leaf = PyDict_GetItemWithError(d->leaves, id);
	if (!leaf && !PyErr_Occurred())
		return error_say(d->state, "ArenaInvalid",
				 "an item names a leaf that it does not have");
	Py_XINCREF(leaf);
	return leaf;
}

static PyMethodDef persistent_load_method = { "persistent_load",
					      persistent_load, METH_O, NULL };

/* ---- the item ---- */

static PyObject *private_buffer(const struct memory *m)
{
	PyObject *bytes = PyByteArray_FromStringAndSize(NULL,
							(Py_ssize_t)m->len);

	if (bytes && decoder_copy(m, PyByteArray_AsString(bytes), m->len) < 0)
		Py_CLEAR(bytes);
	return bytes;
}

PyObject *decoder_buffer(struct decoder *d, const struct memory *m)
{
	PyObject *memory = d->copy ? private_buffer(m) : decoder_view(d, m);
	PyObject *view = memory ? PyMemoryView_FromObject(memory) : NULL;

	Py_XDECREF(memory);
	return view;
}

/* A list of the buffers of pickle's own protocol; None when there is none. */
static PyObject *other_buffers(struct decoder *d)
{
	size_t first = d->n_parts;
	PyObject *list;

	if (first >= d->unit->n_buffers) {
		Py_INCREF(Py_None);
		return Py_None;
	}
	list = PyList_New(0);
	for (size_t i = first; list && i < d->unit->n_buffers; i++) {
		const struct memory m = { .data = d->unit->buffers[i].data,
					  .len = d->unit->buffers[i].len };
		PyObject *buffer = decoder_buffer(d, &m);

		if (!buffer || PyList_Append(list, buffer) < 0)
			Py_CLEAR(list);
		Py_XDECREF(buffer);
	}
	return list;
}

/* callable(first, buffers=buffers) */
static PyObject *call_with_buffers(PyObject *callable, PyObject *first,
				   PyObject *buffers)
{
	PyObject *args = PyTuple_Pack(1, first);
	PyObject *kwargs = Py_BuildValue("{sO}", "buffers", buffers);
	PyObject *result = NULL;

	if (args && kwargs)
		result = PyObject_Call(callable, args, kwargs);
	Py_XDECREF(args);
	Py_XDECREF(kwargs);
	return result;
}

static PyObject *load_leaves(struct decoder *d, const char *pickle, size_t len,
			     PyObject *buffers)
{
	PyObject *file = PyObject_CallFunction(d->state->ref[REF_BYTES_IO],
					       "y#", pickle, (Py_ssize_t)len);
	PyObject *unpickler = NULL;
	PyObject *obj = NULL;

	if (file)
		unpickler = call_with_buffers(d->type, file, buffers);
	if (unpickler)
		obj = PyObject_CallMethod(unpickler, "load", NULL);
	Py_XDECREF(unpickler);
	Py_XDECREF(file);
	return obj;
}

static PyObject *load_plain(struct decoder *d, char *pickle, size_t len,
			    PyObject *buffers)
{
	PyObject *loads = d->state->ref[REF_LOADS];
	PyObject *memory = PyMemoryView_FromMemory(pickle, (Py_ssize_t)len,
						   PyBUF_READ);
	PyObject *obj;

	if (!memory)
		return NULL;
	if (buffers == Py_None)
		obj = PyObject_CallFunctionObjArgs(loads, memory, NULL);
	else
		obj = call_with_buffers(loads, memory, buffers);
	Py_DECREF(memory);
	return obj;
}

/* Is the envelope one of ours? */
static bool read_header(struct decoder *d, struct wire_header *ret)
{
	const struct roar_arena_unit *u = d->unit;

	if (u->envelope_len < sizeof(*ret))
		return false;
	memcpy(ret, u->envelope, sizeof(*ret));
	d->n_parts = ret->n_parts;
	return ret->version == WIRE_VERSION && ret->n_parts <= u->n_buffers &&
	       ret->pickle_len <= u->envelope_len - sizeof(*ret);
}

static PyObject *decode(struct decoder *d)
{
	struct wire_header header;
	char *pickle = (char *)d->unit->envelope + sizeof(header);
	PyObject *buffers;
	PyObject *obj;

	if (!read_header(d, &header))
		return error_say(d->state, "ArenaInvalid",
				 "an item was not sent by this version of "
				 "roar's Python package; receive it with the "
				 "C API");
	buffers = other_buffers(d);
	if (!buffers)
		return NULL;
	obj = header.flags & WIRE_LEAVES ?
		      load_leaves(d, pickle, header.pickle_len, buffers) :
		      load_plain(d, pickle, header.pickle_len, buffers);
	Py_DECREF(buffers);
	return obj;
}

/* ---- life cycle ---- */

/* See encode.c's make_class(). */
static int fill(struct decoder *d)
{
	PyObject *load = PyCFunction_New(&persistent_load_method,
					 (PyObject *)d);

	if (load)
		d->type = PyObject_CallFunction((PyObject *)&PyType_Type,
						"s(O){sO}", "Unpickler",
						d->state->ref[REF_UNPICKLER],
						"persistent_load", load);
	Py_XDECREF(load);
	d->leaves = PyDict_New();
	return d->type && d->leaves ? 0 : -1;
}

static struct decoder *take(struct handle *h)
{
	struct decoder *d = (struct decoder *)h->decoder;

	h->decoder = NULL;
	if (d)
		return d;
	d = object_new(h->state->ref[REF_DECODER_TYPE]);
	if (!d)
		return NULL;
	d->state = h->state;
	if (fill(d) < 0) {
		decoder_forget((PyObject *)d);
		return NULL;
	}
	return d;
}

static void give(struct handle *h, struct decoder *d)
{
	PyObject *type;
	PyObject *value;
	PyObject *traceback;

	/* Leaves may die here; an exception on its way is none of theirs. */
	PyErr_Fetch(&type, &value, &traceback);
	d->unit = NULL;
	PyDict_Clear(d->leaves);
	if (h->decoder)
		decoder_forget((PyObject *)d);
	else
		h->decoder = (PyObject *)d;
	PyErr_Restore(type, value, traceback);
}

PyObject *decoder_run(struct handle *h, struct roar_arena_unit *unit)
{
	struct decoder *d = take(h);
	PyObject *obj;

	if (!d)
		return NULL;
	d->unit = unit;
	d->copy = h->copy;
	obj = decode(d);
	give(h, d);
	return obj;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	struct decoder *d = (struct decoder *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(d->type);
	Py_VISIT(d->leaves);
	return 0;
}

static int clear(PyObject *self)
{
	struct decoder *d = (struct decoder *)self;

	Py_CLEAR(d->type);
	Py_CLEAR(d->leaves);
	return 0;
}

static void dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	(void)clear(self);
	object_free(self);
}

void decoder_forget(PyObject *decoder)
{
	if (decoder)
		(void)clear(decoder);
	Py_XDECREF(decoder);
}

static PyType_Slot slots[] = {
	{ Py_tp_traverse, traverse },
	{ Py_tp_clear, clear },
	{ Py_tp_dealloc, dealloc },
	{ 0 },
};

PyType_Spec decoder_spec = {
	.name = "_roar_arena.Decoder",
	.basicsize = sizeof(struct decoder),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
