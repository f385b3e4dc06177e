/* core.h - what the files of the extension _roar_ckpt share.
 *
 *	memory		memory of a tensor, numbers of a shape
 *	request		Request: all that a save needs, and the save itself
 *	part		Part: what one rank of a sharded save has written
 *	load		Reader: an open checkpoint; Map: a tensor in its file
 *	listing		the checkpoints of a directory; removing old ones
 *
 * Everything that reads or writes releases the GIL. */
#ifndef ROAR_PYTHON_CKPT_CORE_H
#define ROAR_PYTHON_CKPT_CORE_H

#include "common/module.h"

struct state {
	PyObject *reader_type;
	PyObject *map_type;
	PyObject *part_type;
	PyObject *request_type;
};

/* Sets the exception for a negative errno and its sentence: one of roar.checkpoint, or an
 * OSError.  Returns NULL. */
PyObject *core_fail(int r, const char *sentence);

#endif
