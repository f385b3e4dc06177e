/* objects.h - object storage, where roar was built with it. */
#ifndef ROAR_PYTHON_READER_OBJECTS_H
#define ROAR_PYTHON_READER_OBJECTS_H

#include "core.h"

extern const char objects_list_doc[];

/* Lets readers open s3:// and gs://. */
void objects_register(void);
PyObject *objects_list(PyObject *module, PyObject *args);

#endif
