/* buffer.h - bytes of a block as a Python buffer, which keeps the block alive.
 *
 * The buffer is writable, because the bytes are private to it. */
#ifndef ROAR_PYTHON_READER_BUFFER_H
#define ROAR_PYTHON_READER_BUFFER_H

#include "core.h"

extern PyType_Spec buffer_spec;

/* A memoryview of those bytes; NULL with an exception. */
PyObject *buffer_view(const struct state *state, struct reader_block *block,
		      const uint8_t *data, size_t len);

#endif
