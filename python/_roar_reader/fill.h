/* fill.h - samples of one size side by side, read to where they are wanted. */
#ifndef ROAR_PYTHON_READER_FILL_H
#define ROAR_PYTHON_READER_FILL_H

#include "core.h"

extern const char fill_doc[];

PyObject *fill(PyObject *module, PyObject *args);

#endif
