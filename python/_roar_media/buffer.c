/* buffer.c - see buffer.h */
#include "buffer.h"

#include <stdlib.h>

static int buffer_get(PyObject *self, Py_buffer *view, int flags)
{
	struct buffer *b = (struct buffer *)self;

	if (b->ref && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
		view->obj = NULL;
		PyErr_SetString(PyExc_BufferError,
				"data of packets is read-only, copy it first");
		return -1;
	}
	*view = (Py_buffer){
		.buf = b->data,
		.obj = Py_NewRef(self),
		.len = b->len,
		.readonly = b->ref != NULL,
		.itemsize = b->itemsize,
		.format = flags & PyBUF_FORMAT ? b->format : NULL,
		.ndim = b->ndim,
		.shape = flags & PyBUF_ND ? b->shape : NULL,
		.strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ?
				   b->strides :
				   NULL,
	};
	return 0;
}

static void buffer_dealloc(PyObject *self)
{
	struct buffer *b = (struct buffer *)self;

	av_buffer_unref(&b->ref);
	free(b->block);
	object_free(self);
}

static Py_ssize_t buffer_length(PyObject *self)
{
	const struct buffer *b = (struct buffer *)self;

	return b->shape[0];
}

static PyType_Slot buffer_slots[] = {
	{ Py_tp_doc, "Memory of FFmpeg or of a decoder; use memoryview()." },
	{ Py_tp_dealloc, buffer_dealloc },
	{ Py_bf_getbuffer, buffer_get },
	{ Py_sq_length, buffer_length },
	{ 0 },
};

PyType_Spec buffer_spec = {
	.name = "_roar_media.Buffer",
	.basicsize = sizeof(struct buffer),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = buffer_slots,
};

PyObject *buffer_refer(const struct state *state, const AVBufferRef *ref,
		       const uint8_t *data, size_t len)
{
	struct buffer *b = object_new(state->buffer_type);

	if (!b)
		return NULL;
	b->ref = av_buffer_ref(ref);
	b->data = (void *)data;
	b->len = (Py_ssize_t)len;
	b->itemsize = 1;
	b->ndim = 1;
	b->shape[0] = (Py_ssize_t)len;
	b->strides[0] = 1;
	b->format[0] = 'B';
	if (b->ref)
		return (PyObject *)b;
	Py_DECREF(b);
	return PyErr_NoMemory();
}

PyObject *buffer_own(const struct state *state, void *block, char format,
		     size_t itemsize, const size_t *shape, int ndim)
{
	struct buffer *b = object_new(state->buffer_type);
	size_t stride = itemsize;

	if (!b) {
		free(block);
		return NULL;
	}
	b->block = block;
	b->data = block;
	b->itemsize = (Py_ssize_t)itemsize;
	b->ndim = ndim;
	b->format[0] = format;
	for (int i = ndim - 1; i >= 0; i--) {
		b->shape[i] = (Py_ssize_t)shape[i];
		b->strides[i] = (Py_ssize_t)stride;
		stride *= shape[i];
	}
	b->len = (Py_ssize_t)stride;
	return (PyObject *)b;
}
