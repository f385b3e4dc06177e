/* reducers.h - multiprocessing's ways to pickle, as a pickler's dispatch table.
 *
 * What does not leave the pickle as a leaf is pickled as multiprocessing would: with
 * the reducers that are registered there (connections, CUDA tensors, locks while a process
 * starts), then with those of copyreg.  multiprocessing looks through a ChainMap, which is Python code
 * for every object; this looks in both dictionaries from C, and sees what is
 * registered later. */
#ifndef ROAR_PYTHON_REDUCERS_H
#define ROAR_PYTHON_REDUCERS_H

#include "core.h"

extern PyType_Spec reducers_spec;

/* The table, made at the first call and kept with the module; a borrowed reference. */
PyObject *reducers_get(struct state *state);

#endif
