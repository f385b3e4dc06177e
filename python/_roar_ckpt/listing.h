/* listing.h - the checkpoints of a directory, and removing old ones. */
#ifndef ROAR_PYTHON_CKPT_LISTING_H
#define ROAR_PYTHON_CKPT_LISTING_H

#include "core.h"

extern const char listing_list_doc[];
extern const char listing_gc_doc[];

PyObject *listing_list(PyObject *module, PyObject *args);
PyObject *listing_gc(PyObject *module, PyObject *args);

#endif
