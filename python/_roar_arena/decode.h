/* decode.h - from a unit to the object that was sent.
 *
 * In copy mode every leaf is a private copy of its exact type, and the unit can be released
 * after decoding.  In view mode leaves are views of the unit and keep it alive (view.h). */
#ifndef ROAR_PYTHON_DECODE_H
#define ROAR_PYTHON_DECODE_H

#include "core.h"
#include "wire.h"

struct handle;
struct roar_arena_unit;

struct decoder {
	PyObject_HEAD struct state *state;
	PyObject *type; /* a subclass of pickle.Unpickler that calls the decoder */
	PyObject *leaves; /* {number: leaf} of the current item */
	struct roar_arena_unit *unit; /* the current unit, borrowed; NULL: none */
	uint32_t n_parts;
	bool copy;
};

extern PyType_Spec decoder_spec;

/* The object in `unit`; the caller keeps the unit. */
PyObject *decoder_run(struct handle *h, struct roar_arena_unit *unit);

/* Frees a cached decoder; `decoder` may be NULL. */
void decoder_forget(PyObject *decoder);

/* ---- for leaf_*.c, which build the leaves ---- */

struct memory {
	void *data;
	size_t len;
	bool private; /* not in the unit: must be copied, also in view mode */
};

/* The memory that `part` of a persistent id refers to; -1 with an exception if it does
 * not exist. */
int decoder_part(struct decoder *d, PyObject *part, struct memory *ret);

/* That memory as a view of the unit. */
PyObject *decoder_view(struct decoder *d, const struct memory *m);

/* That memory as a memoryview; of a private copy in copy mode. */
PyObject *decoder_buffer(struct decoder *d, const struct memory *m);

/* Copies the memory to `to`, which takes `len` bytes; -1 with an exception if the sizes
 * differ.  Releases the GIL for large copies. */
int decoder_copy(const struct memory *m, void *to, size_t len);

#endif
