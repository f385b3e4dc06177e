/* request.h - Request: all that a save needs, and the save itself.
 *
 *	request = _roar_ckpt.request(...)	refers to the tensors' memory
 *	request.copy()				now it has a copy of its own
 *	request.run()				writes; another thread may ask how far it is
 *
 * There is one copy at a time in a process; its memory is used again by the next one. */
#ifndef ROAR_PYTHON_CKPT_REQUEST_H
#define ROAR_PYTHON_CKPT_REQUEST_H

#include "core.h"

extern const char request_new_doc[];
extern PyType_Spec request_spec;

PyObject *request_new(PyObject *module, PyObject *args);

#endif
