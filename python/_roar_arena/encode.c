/* encode.c - from an object to an envelope and parts */
#include "encode.h"

#include <string.h>

#include "base/macros.h"
#include "handle.h"
#include "leaf.h"
#include "reducers.h"
#include "view.h"

enum { OUT_KEPT = 1 << 20 }; /* larger output is not kept for the next one */

/* ---- parts ---- */

static struct part *parts_push(struct parts *p)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 8;
		struct part *at = PyMem_Realloc(p->at, room * sizeof(*at));

		if (!at) {
			PyErr_NoMemory();
			return NULL;
		}
		p->at = at;
		p->room = room;
	}
	memset(&p->at[p->n], 0, sizeof(*p->at));
	return &p->at[p->n++];
}

static void parts_clear(struct parts *p)
{
	while (p->n > 0) {
		struct part *part = &p->at[--p->n];

		if (part->buffer.obj)
			PyBuffer_Release(&part->buffer);
		Py_CLEAR(part->owner);
	}
}

static struct part *push_memory(struct encoder *e, struct parts *p,
				PyObject *owner, const void *data, size_t len)
{
	struct part *part = parts_push(p);

	if (!part)
		return NULL;
	Py_INCREF(owner);
	part->owner = owner;
	part->data = data;
	part->len = len;
	part->in = view_find(e->handle, data, len);
	return part;
}

static int push_buffer(struct encoder *e, struct parts *p, PyObject *owner)
{
	Py_buffer buffer;
	struct part *part;

	if (PyObject_GetBuffer(owner, &buffer, PyBUF_SIMPLE) < 0)
		return -1;
	part = push_memory(e, p, owner, buffer.buf, (size_t)buffer.len);
	if (!part) {
		PyBuffer_Release(&buffer);
		return -1;
	}
	part->buffer = buffer;
	return 0;
}

Py_ssize_t encoder_add(struct encoder *e, PyObject *owner, const void *data,
		       size_t len)
{
	if (!push_memory(e, &e->leaves, owner, data, len))
		return -1;
	return (Py_ssize_t)e->leaves.n - 1;
}

Py_ssize_t encoder_add_buffer(struct encoder *e, PyObject *owner)
{
	if (push_buffer(e, &e->leaves, owner) < 0)
		return -1;
	return (Py_ssize_t)e->leaves.n - 1;
}

/* ---- what the pickler calls ---- */

Py_ssize_t encoder_number(struct encoder *e, PyObject *leaf)
{
	PyObject *id = PyLong_FromVoidPtr(leaf);
	PyObject *number = PyLong_FromSsize_t(e->n_leaves);
	int r = -1;

	if (id && number && PyList_Append(e->keep, leaf) == 0)
		r = PyDict_SetItem(e->seen, id, number);
	Py_XDECREF(id);
	Py_XDECREF(number);
	return r < 0 ? -1 : e->n_leaves++;
}

/* The number of a leaf that was met before, as a new reference; NULL without an exception
 * when it was not. */
static PyObject *number_of(struct encoder *e, PyObject *leaf)
{
	PyObject *id;
	PyObject *number;

	if (!e->n_leaves)
		return NULL;
	id = PyLong_FromVoidPtr(leaf);
	if (!id)
		return NULL;
	number = PyDict_GetItemWithError(e->seen, id);
	Py_DECREF(id);
	Py_XINCREF(number);
	return number;
}

typedef PyObject *(*claim_fn)(struct encoder *e, PyObject *obj);

static claim_fn claim_of(const struct state *state, const PyTypeObject *type)
{
	const struct {
		const void *type;
		claim_fn claim;
	} table[] = {
		{ &PyBytes_Type, bytes_claim },
		{ &PyByteArray_Type, bytearray_claim },
		{ &PyMemoryView_Type, memoryview_claim },
		{ state->ref[REF_NDARRAY], numpy_claim },
		{ state->ref[REF_TENSOR], tensor_claim },
		{ state->ref[REF_PARAMETER], parameter_claim },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].type == type)
			return table[i].claim;
	return NULL;
}

static bool is_common(const PyTypeObject *type)
{
	return type == &PyUnicode_Type || type == &PyLong_Type ||
	       type == &PyTuple_Type || type == &PyDict_Type ||
	       type == &PyFloat_Type || type == &PyList_Type ||
	       type == &PyBool_Type;
}

/* What the public registry has for this type, borrowed, or NULL. */
static PyObject *registered_pair(const struct encoder *e, PyTypeObject *type)
{
	PyObject *registry = e->state->ref[REF_REGISTRY];

	if (PyDict_Size(registry) == 0)
		return NULL;
	return PyDict_GetItemWithError(registry, (PyObject *)type);
}

static PyObject *persistent_id(PyObject *self, PyObject *obj)
{
	struct encoder *e = (struct encoder *)self;
	PyTypeObject *type = Py_TYPE(obj);
	PyObject *pair = NULL;
	PyObject *number;
	claim_fn claim;

	if (obj == Py_None || is_common(type) || !e->root)
		Py_RETURN_NONE;
	claim = claim_of(e->state, type);
	if (!claim)
		pair = registered_pair(e, type);
	if (PyErr_Occurred())
		return NULL;
	if (!claim && !pair)
		Py_RETURN_NONE;
	number = number_of(e, obj);
	if (number || PyErr_Occurred())
		return number;
	return claim ? claim(e, obj) : registered_claim(e, obj, pair);
}

/* pickle's own protocol: true leaves the bytes in the pickle. */
static PyObject *take_buffer(PyObject *self, PyObject *buffer)
{
	struct encoder *e = (struct encoder *)self;
	const struct part *part;

	if (push_buffer(e, &e->buffers, buffer) < 0)
		return NULL;
	part = &e->buffers.at[e->buffers.n - 1];
	if (part->len >= e->threshold || part->in)
		Py_RETURN_FALSE;
	PyBuffer_Release(&e->buffers.at[e->buffers.n - 1].buffer);
	Py_DECREF(part->owner);
	e->buffers.n--;
	Py_RETURN_TRUE;
}

static int out_append(struct encoder *e, const void *data, size_t len)
{
	if (len > e->out_room - e->out_len) {
		size_t room = e->out_len + len;
		char *out;

		room += room / 2 + 512;
		out = PyMem_Realloc(e->out, room);
		if (!out) {
			PyErr_NoMemory();
			return -1;
		}
		e->out = out;
		e->out_room = room;
	}
	memcpy(e->out + e->out_len, data, len);
	e->out_len += len;
	return 0;
}

static PyObject *write_out(PyObject *self, PyObject *data)
{
	Py_buffer buffer;
	int r;

	if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) < 0)
		return NULL;
	r = out_append((struct encoder *)self, buffer.buf, (size_t)buffer.len);
	PyBuffer_Release(&buffer);
	if (r < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "write", write_out, METH_O, "The file that a pickler writes to." },
	{ 0 },
};

static PyMethodDef persistent_id_method = { "persistent_id", persistent_id,
					    METH_O, NULL };
static PyMethodDef take_buffer_method = { "buffer_callback", take_buffer,
					  METH_O, NULL };

/* ---- life cycle ---- */

/* A subclass of pickle.Pickler for this encoder.  The pickler takes persistent_id
 * from its class in every version of Python; a builtin function is no descriptor, so it is called
 * with the object alone and knows its encoder as `self`. */
static PyObject *make_class(struct encoder *e)
{
	PyObject *reducers = reducers_get(e->state);
	PyObject *id = PyCFunction_New(&persistent_id_method, (PyObject *)e);
	PyObject *type = NULL;

	if (reducers && id)
		type = PyObject_CallFunction((PyObject *)&PyType_Type,
					     "s(O){sOsO}", "Pickler",
					     e->state->ref[REF_PICKLER],
					     "persistent_id", id,
					     "dispatch_table", reducers);
	Py_XDECREF(id);
	return type;
}

static PyObject *make_pickler(struct encoder *e)
{
	PyObject *type = make_class(e);
	PyObject *take = PyCFunction_New(&take_buffer_method, (PyObject *)e);
	PyObject *pickler = NULL;

	/* file, protocol, fix_imports, buffer_callback */
	if (type && take)
		pickler = PyObject_CallFunction(type, "OiOO", e, 5, Py_False,
						take);
	Py_XDECREF(type);
	Py_XDECREF(take);
	return pickler;
}

static int fill(struct encoder *e)
{
	PyObject *pickler = make_pickler(e);

	if (!pickler)
		return -1;
	e->dump = PyObject_GetAttrString(pickler, "dump");
	e->clear_memo = PyObject_GetAttrString(pickler, "clear_memo");
	Py_DECREF(pickler);
	e->seen = PyDict_New();
	e->keep = PyList_New(0);
	return e->dump && e->clear_memo && e->seen && e->keep ? 0 : -1;
}

struct encoder *encoder_take(struct handle *h)
{
	struct encoder *e = (struct encoder *)h->encoder;

	h->encoder = NULL;
	if (!e) {
		e = object_new(h->state->ref[REF_ENCODER_TYPE]);
		if (!e)
			return NULL;
		e->state = h->state;
		if (fill(e) < 0) {
			encoder_forget((PyObject *)e);
			return NULL;
		}
	}
	e->handle = h;
	e->threshold = h->threshold;
	e->copy = h->copy;
	return e;
}

/* Lets go of the object and all that was noted of it. */
static int reset(struct encoder *e)
{
	PyObject *done = PyObject_CallNoArgs(e->clear_memo);

	e->handle = NULL;
	e->root = NULL;
	e->out_len = 0;
	parts_clear(&e->leaves);
	parts_clear(&e->buffers);
	Py_CLEAR(e->plain);
	if (e->n_leaves) {
		e->n_leaves = 0;
		PyDict_Clear(e->seen);
		if (PyList_SetSlice(e->keep, 0, PyList_Size(e->keep), NULL) < 0)
			Py_CLEAR(done);
	}
	if (e->out_room > OUT_KEPT) {
		PyMem_Free(e->out);
		e->out = NULL;
		e->out_room = 0;
	}
	Py_XDECREF(done);
	return done ? 0 : -1;
}

void encoder_give(struct handle *h, struct encoder *e)
{
	PyObject *type;
	PyObject *value;
	PyObject *traceback;
	bool usable;

	/* An exception on its way is none of ours. */
	PyErr_Fetch(&type, &value, &traceback);
	usable = !type && reset(e) == 0;
	if (usable && !h->encoder)
		h->encoder = (PyObject *)e;
	else
		encoder_forget((PyObject *)e);
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	struct encoder *e = (struct encoder *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(e->dump);
	Py_VISIT(e->clear_memo);
	Py_VISIT(e->seen);
	Py_VISIT(e->keep);
	Py_VISIT(e->plain);
	return 0;
}

static int clear(PyObject *self)
{
	struct encoder *e = (struct encoder *)self;

	e->root = NULL;
	parts_clear(&e->leaves);
	parts_clear(&e->buffers);
	Py_CLEAR(e->dump);
	Py_CLEAR(e->clear_memo);
	Py_CLEAR(e->seen);
	Py_CLEAR(e->keep);
	Py_CLEAR(e->plain);
	return 0;
}

static void dealloc(PyObject *self)
{
	struct encoder *e = (struct encoder *)self;

	PyObject_GC_UnTrack(self);
	(void)clear(self);
	PyMem_Free(e->leaves.at);
	PyMem_Free(e->buffers.at);
	PyMem_Free(e->out);
	object_free(self);
}

void encoder_forget(PyObject *encoder)
{
	if (encoder)
		(void)clear(encoder);
	Py_XDECREF(encoder);
}

int encoder_run(struct encoder *e, PyObject *obj)
{
	struct wire_header header = { .version = WIRE_VERSION };
	PyObject *done;

	if (numpy_look(e->state) < 0 || torch_look(e->state) < 0 ||
	    out_append(e, &header, sizeof(header)) < 0)
		return -1;
	e->root = obj;
	done = PyObject_CallFunctionObjArgs(e->dump, obj, NULL);
	e->root = NULL;
	if (!done)
		return -1;
	Py_DECREF(done);
	header.flags = e->n_leaves ? WIRE_LEAVES : 0;
	header.n_parts = (uint32_t)e->leaves.n;
	header.pickle_len = e->out_len - sizeof(header);
	memcpy(e->out, &header, sizeof(header));
	return 0;
}

static PyType_Slot slots[] = {
	{ Py_tp_methods, methods },
	{ Py_tp_traverse, traverse },
	{ Py_tp_clear, clear },
	{ Py_tp_dealloc, dealloc },
	{ 0 },
};

PyType_Spec encoder_spec = {
	.name = "_roar_arena.Encoder",
	.basicsize = sizeof(struct encoder),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
