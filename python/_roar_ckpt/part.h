/* part.h - Part: what one rank of a sharded save has written. */
#ifndef ROAR_PYTHON_CKPT_PART_H
#define ROAR_PYTHON_CKPT_PART_H

#include "core.h"

struct ckpt_pending;

extern PyType_Spec part_spec;

/* A Part, which owns `pending` from now on; NULL with an exception. */
PyObject *part_new(const struct state *state, struct ckpt_pending *pending);

#endif
