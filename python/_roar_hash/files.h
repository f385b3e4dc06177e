/* files.h - the digests of files. */
#ifndef ROAR_PYTHON_HASH_FILES_H
#define ROAR_PYTHON_HASH_FILES_H

#include "core.h"

extern const char files_hash_doc[];

PyObject *files_hash(PyObject *module, PyObject *args);

#endif
