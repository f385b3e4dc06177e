/* decode.h - from a unit to the object that was sent.
 *
 * In copy mode every leaf has memory of its own and its type; the unit can go when the object is
 * there.  In view mode leaves lie over the unit and keep it (view.h). */
#ifndef ROAR_PYTHON_DECODE_H
#define ROAR_PYTHON_DECODE_H

#include "core.h"
#include "wire.h"

struct handle;
struct roar_arena_unit;

struct decoder {
	PyObject_HEAD struct state *state;
	PyObject *type; /* a subclass of pickle.Unpickler that calls us */
	PyObject *leaves; /* {number: leaf} of the item at hand */
	struct roar_arena_unit *unit; /* at hand, borrowed; NULL: none */
	uint32_t n_parts;
	bool copy;
};

extern PyType_Spec decoder_spec;

/* The object in `unit`, which stays the caller's. */
PyObject *decoder_run(struct handle *h, struct roar_arena_unit *unit);

/* Ends a spare decoder; NULL is fine. */
void decoder_forget(PyObject *decoder);

/* ---- for leaf_*.c, which build the leaves ---- */

struct memory {
	void *data;
	size_t len;
	bool private; /* not in the unit: must be copied in any case */
};

/* The memory that `part` of a persistent id speaks of; -1 with an exception when there
 * is none. */
int decoder_part(struct decoder *d, PyObject *part, struct memory *ret);

/* That memory as an object over the unit. */
PyObject *decoder_view(struct decoder *d, const struct memory *m);

/* The same as a memoryview, of a private copy in copy mode. */
PyObject *decoder_buffer(struct decoder *d, const struct memory *m);

/* Copies it to where `len` bytes are wanted.  -1 with an exception when it is not as
 * many.  The GIL is given up while much is copied. */
int decoder_copy(const struct memory *m, void *to, size_t len);

#endif
