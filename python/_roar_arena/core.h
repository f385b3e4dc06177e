/* core.h - what all files of the extension share.
 *
 *	handle		the handle of an arena: send, receive, reserve
 *	encode		object -> envelope (a pickle) and parts (the large leaves)
 *	decode		envelope and buffers -> object
 *	leaf_*		which leaves leave the pickle, one file for each kind of type
 *	plain		which bytes may arrive as views, and which are a type's state
 *	view		memory of a unit as a Python object, which keeps the unit alive
 *	reducers	multiprocessing's reducers as a pickler's dispatch table
 *	errors		errno -> exception */
#ifndef ROAR_PYTHON_CORE_H
#define ROAR_PYTHON_CORE_H

#include "common/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Objects that are looked up once and kept with the module. */
enum ref {
	REF_PICKLER, /* pickle.Pickler */
	REF_UNPICKLER,
	REF_LOADS,
	REF_BYTES_IO,
	REF_REDUCERS, /* dispatch table of picklers; NULL until the first one */
	REF_REGISTRY, /* {type: (to_buffers, from_buffers)} */
	REF_ERRORS, /* roar._errors; NULL until the first failure */
	REF_OBJECT_REDUCE_EX, /* object's own methods: see plain.c */
	REF_OBJECT_REDUCE,
	REF_OBJECT_GETSTATE,
	/* NULL until the program imports the package. */
	REF_NDARRAY,
	REF_NUMPY_EMPTY,
	REF_TENSOR,
	REF_PARAMETER,
	REF_TORCH_STRIDED,
	REF_TORCH_FROMBUFFER,
	REF_TORCH_EMPTY_STRIDED,
	REF_HANDLE_TYPE,
	REF_VIEW_TYPE,
	REF_ENCODER_TYPE,
	REF_DECODER_TYPE,
	REF_REDUCERS_TYPE,
	REF_COUNT,
};

struct state {
	PyObject *ref[REF_COUNT];
};

/* The attribute `name` of the module `module`, imported if necessary; NULL with an
 * exception. */
PyObject *core_import(const char *module, const char *name);

#endif
