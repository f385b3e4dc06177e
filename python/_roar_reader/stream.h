/* stream.h - Stream: an iterator over samples of Readers, which it keeps alive. */
#ifndef ROAR_PYTHON_READER_STREAM_H
#define ROAR_PYTHON_READER_STREAM_H

#include "core.h"

extern PyType_Spec stream_spec;

extern const char stream_begin_doc[];

PyObject *stream_begin(PyObject *module, PyObject *args);

#endif
