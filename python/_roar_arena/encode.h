/* encode.h - from an object to an envelope and parts.
 *
 * An encoder is a pickler of protocol 5 whose persistent_id is a function in C: no Python runs
 * for each object.  What it takes out of the pickle becomes a part: memory that is
 * copied into the unit, or that lies in the arena already.  Parts keep what they point to alive
 * and unchanged in size, so they can be copied without the GIL.
 *
 * A handle keeps one encoder; a call that finds it in use (another thread, or a send() inside
 * somebody's __reduce__) makes its own. */
#ifndef ROAR_PYTHON_ENCODE_H
#define ROAR_PYTHON_ENCODE_H

#include "core.h"
#include "wire.h"

struct handle;
struct view;

struct part {
	const void *data;
	size_t len;
	struct view *in; /* the reserved memory it lies in, or NULL */
	PyObject *owner; /* keeps `data` */
	Py_buffer buffer; /* so does this, when buffer.obj is set */
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
	PyObject *keep; /* list of the leaves, so that ids stay theirs */
	PyObject *plain; /* set of ids (plain.h), NULL: not looked yet */
	size_t threshold;
	bool copy;
	Py_ssize_t n_leaves;
	struct parts leaves; /* parts that persistent ids speak of */
	struct parts buffers; /* parts of pickle's own protocol */
	char *out; /* room for a header, then the pickle */
	size_t out_len, out_room;
};

extern PyType_Spec encoder_spec;

/* An encoder to be used for one object, and what must follow it in any case. */
struct encoder *encoder_take(struct handle *h);
void encoder_give(struct handle *h, struct encoder *e);

/* Ends a spare encoder; NULL is fine. */
void encoder_forget(PyObject *encoder);

/* Pickles `obj` into e->out, leaves, buffers; the header is filled in.  -1 with an exception:
 * then the encoder is of no more use than to be given back. */
int encoder_run(struct encoder *e, PyObject *obj);

/* ---- for leaf_*.c, which decide what is taken out ---- */

/* The number of a new leaf. */
Py_ssize_t encoder_number(struct encoder *e, PyObject *leaf);

/* A new part: the memory of `owner`, or what its buffer protocol shows in C order.  Returns
 * its number, or -1 with an exception. */
Py_ssize_t encoder_add(struct encoder *e, PyObject *owner, const void *data,
		       size_t len);
Py_ssize_t encoder_add_buffer(struct encoder *e, PyObject *owner);

#endif
