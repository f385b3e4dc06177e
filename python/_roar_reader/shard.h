/* shard.h - Reader: one shard. */
#ifndef ROAR_PYTHON_READER_SHARD_H
#define ROAR_PYTHON_READER_SHARD_H

#include "core.h"

struct shard {
	PyObject_HEAD struct reader *reader;
};

extern PyType_Spec shard_spec;
extern const char shard_open_doc[];

PyObject *shard_open(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
