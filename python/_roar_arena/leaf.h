/* leaf.h - the types whose memory goes beside the pickle, one file for each kind.
 *
 * Types are recognised by their exact type object.  A claim looks at an object of its type and
 * returns the persistent id (a new tuple, see wire.h), None to leave it to pickle, or NULL with
 * an exception.  A build makes the object of the tuple again, from the decoder's memory. */
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

/* Looks whether the process has the package by now.  Before it has, nothing can be of its
 * types.  -1 with an exception. */
int numpy_look(struct state *state);
int torch_look(struct state *state);

#endif
