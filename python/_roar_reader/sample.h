/* sample.h - a sample as a Python object.
 *
 *	tar	{"__key__": key, name: bytes, ...}
 *	files	(path, bytes)
 *	others	bytes
 *
 * With views, memoryviews take the place of bytes. */
#ifndef ROAR_PYTHON_READER_SAMPLE_H
#define ROAR_PYTHON_READER_SAMPLE_H

#include "core.h"

/* Of parts that are made, which stay the caller's; NULL with an exception. */
PyObject *sample_of(const struct state *state, enum reader_kind kind,
		    const struct reader_sample *sample, PyObject *const *made);

/* Of parts that lie in a block. */
PyObject *sample_object(const struct state *state, enum reader_kind kind,
			const struct reader_sample *sample,
			struct reader_block *block, bool views);

#endif
