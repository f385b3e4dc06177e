/* buffer.c - see buffer.h */
#include "buffer.h"

struct buffer {
	PyObject_HEAD struct reader_block *block; /* one hold of ours */
	void *data;
	Py_ssize_t len;
};

static void buffer_dealloc(PyObject *self)
{
	reader_block_drop(((struct buffer *)self)->block);
	object_free(self);
}

static int buffer_get(PyObject *self, Py_buffer *view, int flags)
{
	struct buffer *b = (struct buffer *)self;

	return PyBuffer_FillInfo(view, self, b->data, b->len, 0, flags);
}

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Bytes of a shard that were read into memory." },
	{ Py_tp_dealloc, buffer_dealloc },
	{ Py_bf_getbuffer, buffer_get },
	{ 0 },
};

PyType_Spec buffer_spec = {
	.name = "_roar_reader.Buffer",
	.basicsize = sizeof(struct buffer),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};

PyObject *buffer_view(const struct state *state, struct reader_block *block,
		      const uint8_t *data, size_t len)
{
	struct buffer *b = object_new(state->buffer_type);
	PyObject *view;

	if (!b)
		return NULL;
	b->block = reader_block_hold(block);
	b->data = (void *)data;
	b->len = (Py_ssize_t)len;
	view = PyMemoryView_FromObject((PyObject *)b);
	Py_DECREF((PyObject *)b);
	return view;
}
