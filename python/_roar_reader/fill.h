/* fill.h - reads samples of equal size into one contiguous buffer. */
#ifndef ROAR_PYTHON_READER_FILL_H
#define ROAR_PYTHON_READER_FILL_H

#include "core.h"

extern const char fill_doc[];

PyObject *fill(PyObject *module, PyObject *args);

#endif
