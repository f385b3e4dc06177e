/* load.h - an open checkpoint, and tensors in the memory of its files. */
#ifndef ROAR_PYTHON_CKPT_LOAD_H
#define ROAR_PYTHON_CKPT_LOAD_H

#include "core.h"

extern const char load_open_doc[];
extern PyType_Spec load_reader_spec;
extern PyType_Spec load_map_spec;

PyObject *load_open(PyObject *module, PyObject *args);

#endif
