/* buffer.h - the digests of bytes in memory. */
#ifndef ROAR_PYTHON_HASH_BUFFER_H
#define ROAR_PYTHON_HASH_BUFFER_H

#include "core.h"

extern const char buffer_hash_doc[];

PyObject *buffer_hash(PyObject *module, PyObject *args);

#endif
