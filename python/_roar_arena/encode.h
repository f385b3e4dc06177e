/* encode.h - from an object to an envelope and parts.
 *
 * An encoder is a pickler of protocol 5 whose persistent_id is a C function, so no Python code
 * runs per object.  Large objects leave the pickle and become parts: memory that is copied into
 * the unit, or that is in the arena already.  A part keeps its memory alive and its size fixed,
 * so it can be copied without the GIL.
 *
 * A handle caches one encoder.  A call that finds it in use (by another thread, or because a
 * __reduce__ calls send()) makes its own. */
#ifndef ROAR_PYTHON_ENCODE_H
#define ROAR_PYTHON_ENCODE_H

#include "core.h"
#include "wire.h"

struct handle;
struct view;

struct part {
	const void *data;
	size_t len;
	struct view *in; /* the reserved view that contains it, or NULL */
	PyObject *owner; /* keeps `data` alive */
	Py_buffer buffer; /* also keeps it, if buffer.obj is set */
};

struct parts {
	struct part *at;
	size_t n, room;
};

struct encoder {
	PyObject_HEAD struct state *state;
	struct handle *handle; /* borrowed, while it encodes */
	PyObject *root; /* borrowed, while it encodes */
	PyObject *dump; /* methods of the pickler */
	PyObject *clear_memo;
	PyObject *seen; /* {id of a leaf: its number} */
	PyObject *keep; /* list of the leaves: keeps their ids unique */
	PyObject *plain; /* set of ids (plain.h); NULL: not computed yet */
	size_t threshold;
	bool copy;
	Py_ssize_t n_leaves;
	struct parts leaves; /* parts referenced by persistent ids */
	struct parts buffers; /* out-of-band buffers of pickle */
	char *out; /* space for a header, then the pickle */
	size_t out_len, out_room;
};

extern PyType_Spec encoder_spec;

/* Takes an encoder for one object; each take needs a give, also after a failure. */
struct encoder *encoder_take(struct handle *h);
void encoder_give(struct handle *h, struct encoder *e);

/* Frees a cached encoder; `encoder` may be NULL. */
void encoder_forget(PyObject *encoder);

/* Pickles `obj` into e->out, leaves and buffers, and fills in the header.  -1 with an
 * exception: then only encoder_give() may follow. */
int encoder_run(struct encoder *e, PyObject *obj);

/* ---- for leaf_*.c, which decide what leaves the pickle ---- */

/* Registers a new leaf; returns its number. */
Py_ssize_t encoder_number(struct encoder *e, PyObject *leaf);

/* Adds a part: memory of `owner`, or its buffer in C order.  Returns the part's number, or -1
 * with an exception. */
Py_ssize_t encoder_add(struct encoder *e, PyObject *owner, const void *data,
		       size_t len);
Py_ssize_t encoder_add_buffer(struct encoder *e, PyObject *owner);

#endif
