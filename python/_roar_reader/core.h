/* core.h - what the files of the extension _roar_reader share.
 *
 *	shard		Reader: one shard, samples by number
 *	stream		Stream: samples in a given order, with read-ahead
 *	fill		samples of equal size into one buffer
 *	wanted		arguments that select samples
 *	sample		a sample as a Python object
 *	direct		a large sample as a Python object, without a copy
 *	buffer		memory of a block as a Python buffer
 *	objects		object storage: what lies there
 *
 * Opening and reading files release the GIL. */
#ifndef ROAR_PYTHON_READER_CORE_H
#define ROAR_PYTHON_READER_CORE_H

#include "common/module.h"

#include "reader/reader.h"

struct state {
	PyObject *error; /* roar.readers.ShardError */
	PyObject *changed; /* roar.readers.ShardChanged */
	PyObject *reader_type;
	PyObject *stream_type;
	PyObject *buffer_type;
	PyObject *key_name; /* "__key__" */
};

/* Sets the exception for a negative errno and its sentence; returns NULL. */
PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err);

/* Lets other threads run, until PyEval_RestoreThread().  Waits for object storage end with
 * -EINTR when a signal handler raises something. */
PyThreadState *core_release(void);

#endif
