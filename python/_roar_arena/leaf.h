/* leaf.h - types whose memory is sent outside the pickle, one file per kind.
 *
 * Types are recognised by their exact type object.  A claim function examines an object of its
 * type.  It returns the persistent id (a new tuple, see wire.h), None to leave the object to
 * pickle, or NULL with an exception.  A build function makes the object from that tuple. */
#ifndef ROAR_PYTHON_LEAF_H
#define ROAR_PYTHON_LEAF_H

#include "core.h"

struct decoder;
struct encoder;

PyObject *bytes_claim(struct encoder *e, PyObject *obj);
PyObject *bytearray_claim(struct encoder *e, PyObject *obj);
PyObject *memoryview_claim(struct encoder *e, PyObject *obj);
PyObject *numpy_claim(struct encoder *e, PyObject *obj);
PyObject *tensor_claim(struct encoder *e, PyObject *obj);
PyObject *parameter_claim(struct encoder *e, PyObject *obj);
PyObject *registered_claim(struct encoder *e, PyObject *obj, PyObject *pair);

PyObject *bytes_build(struct decoder *d, PyObject *id);
PyObject *bytearray_build(struct decoder *d, PyObject *id);
PyObject *exact_bytes_build(struct decoder *d, PyObject *id);
PyObject *exact_bytearray_build(struct decoder *d, PyObject *id);
PyObject *memoryview_build(struct decoder *d, PyObject *id);
PyObject *numpy_build(struct decoder *d, PyObject *id);
PyObject *tensor_build(struct decoder *d, PyObject *id);
PyObject *parameter_build(struct decoder *d, PyObject *id);
PyObject *reduced_build(struct decoder *d, PyObject *id);
PyObject *registered_build(struct decoder *d, PyObject *id);

/* Checks whether the process has imported the package; before that, no object has its types.
 * -1 with an exception. */
int numpy_look(struct state *state);
int torch_look(struct state *state);

#endif
