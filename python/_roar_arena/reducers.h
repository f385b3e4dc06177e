/* reducers.h - multiprocessing's reducers as a pickler's dispatch table.
 *
 * Objects that are not leaves are pickled as multiprocessing does it: with its registered
 * reducers (connections, CUDA tensors, locks while a process starts), then with those of copyreg.
 * multiprocessing uses a ChainMap, which runs Python code for every object.  This table searches
 * both dictionaries from C, and includes reducers that are registered later. */
#ifndef ROAR_PYTHON_REDUCERS_H
#define ROAR_PYTHON_REDUCERS_H

#include "core.h"

extern PyType_Spec reducers_spec;

/* The table, made at the first call and kept with the module; a borrowed reference. */
PyObject *reducers_get(struct state *state);

#endif
