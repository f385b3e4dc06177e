/* plain.h - which bytes the user sees.
 *
 * A view of the arena comes to the user in place of bytes that he put into lists, tuples,
 * dictionaries and plain objects.  Bytes that are the pickled state of some type (an
 * array.array, a masked array, an image) must arrive as they are: its __setstate__ would
 * not take a memoryview.  Pickle does not say which is which, so the item is walked, once,
 * when the first large bytes are met. */
#ifndef ROAR_PYTHON_PLAIN_H
#define ROAR_PYTHON_PLAIN_H

#include "core.h"

/* A new set of the ids of all bytes and bytearrays of at least `threshold` bytes that are
 * reached from `root` through plain containers. */
PyObject *plain_find(struct state *state, PyObject *root, size_t threshold);

#endif
