/* direct.h - a large sample, read directly into the bytes object it returns. */
#ifndef ROAR_PYTHON_READER_DIRECT_H
#define ROAR_PYTHON_READER_DIRECT_H

#include "core.h"

/* NULL with an exception. */
PyObject *direct_object(const struct state *state, const struct reader *reader,
			uint64_t number);

#endif
