/* plain.h - which bytes may arrive as views.
 *
 * The receiver gets views of the arena instead of bytes that the sender put into lists, tuples,
 * dictionaries and plain objects.  Bytes in the pickled state of other types (an array.array, a
 * masked array, an image) must arrive as bytes: their __setstate__ does not accept a
 * memoryview.  Pickle does not distinguish the two, so the item is traversed once, when the
 * pickler reaches the first large bytes. */
#ifndef ROAR_PYTHON_PLAIN_H
#define ROAR_PYTHON_PLAIN_H

#include "core.h"

/* A new set of the ids of all bytes and bytearrays of at least `threshold` bytes that are
 * reached from `root` through plain containers. */
PyObject *plain_find(struct state *state, PyObject *root, size_t threshold);

#endif
