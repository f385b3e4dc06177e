/* sample.h - a sample as a Python object.
 *
 *	tar	{"__key__": key, name: bytes, ...}
 *	files	(path, bytes)
 *	others	bytes
 *
 * With views, the sample has memoryviews instead of bytes. */
#ifndef ROAR_PYTHON_READER_SAMPLE_H
#define ROAR_PYTHON_READER_SAMPLE_H

#include "core.h"

/* Makes a sample from the objects of its parts, borrowed; NULL with an exception. */
PyObject *sample_of(const struct state *state, enum reader_kind kind,
		    const struct reader_sample *sample, PyObject *const *made);

/* Makes a sample whose parts are in a block. */
PyObject *sample_object(const struct state *state, enum reader_kind kind,
			const struct reader_sample *sample,
			struct reader_block *block, bool views);

#endif
